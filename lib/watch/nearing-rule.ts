import { Duration } from 'aws-cdk-lib'
import { EventBus, type IEventBus, type IRuleTarget, Rule } from 'aws-cdk-lib/aws-events'
import { Architecture, Code, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { FilterPattern, type ILogGroup, SubscriptionFilter } from 'aws-cdk-lib/aws-logs'
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations'
import { Construct } from 'constructs'
import type { LogEvent } from '../../lambda/telemetry/events'
import { ConfigError, Mistake, printed } from '../../limiter/errors'
import { DEFAULT_RUNTIME, logGroupFor, roleFor } from '../function-parts'
import { FORWARDER, NEARING_EVENT } from './nearing-forwarder'

/** Options of `addNearingRule`. */
export interface NearingRuleOptions {
  /**
   * The targets of the events, such as `new SnsTopic(topic)`: at least one. The `detail` of an event has `id`, `tier`,
   * `policy`, `subject`, `limit` and `used`, as docs/observability.md explains them.
   */
  readonly targets: readonly IRuleTarget[]
  /**
   * Only callers of these tiers, by name.
   *
   * @default all tiers
   */
  readonly tiers?: readonly string[] | undefined
  /**
   * The bus for the events. Your own rules may match them there, too: their `source` is `sluice`.
   *
   * @default the account's default bus
   */
  readonly eventBus?: IEventBus | undefined
}

const NEARING: LogEvent = 'limit_nearing'

/** Sends an event for each caller that nears a limit, see `addNearingRule`. */
export class NearingRule extends Construct {
  /** Sends the lines of the log to the bus. */
  readonly handler: LambdaFunction
  readonly rule: Rule

  /** @throws ConfigError with every mistake in the options. */
  constructor(scope: Construct, id: string, logGroup: ILogGroup, options: NearingRuleOptions) {
    super(scope, id)
    check(options)
    const { targets, tiers, eventBus = EventBus.fromEventBusName(this, 'Bus', 'default') } = options
    const ownLog = logGroupFor(this, {})
    this.handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: sends an event for each caller that nears a limit',
      runtime: DEFAULT_RUNTIME,
      architecture: Architecture.ARM_64,
      code: Code.fromInline(FORWARDER),
      handler: 'index.handler',
      role: roleFor(this, ownLog),
      timeout: Duration.seconds(30),
      logGroup: ownLog,
      environment: { EVENT_BUS: eventBus.eventBusName },
    })
    eventBus.grantPutEventsTo(this.handler)
    this.rule = new Rule(this, 'Rule', {
      description: 'Callers that near a limit',
      eventBus,
      eventPattern: {
        source: [NEARING_EVENT.source],
        detailType: [NEARING_EVENT.detailType],
        detail: { logGroup: [logGroup.logGroupName], ...(tiers && { tier: [...tiers] }) },
      },
      targets: [...targets],
    })
    const filter = new SubscriptionFilter(this, 'Lines', {
      logGroup,
      destination: new LambdaDestination(this.handler),
      filterPattern: FilterPattern.stringValue('$.event', '=', NEARING),
    })
    filter.node.addDependency(this.rule) // no event comes before the rule exists
  }
}

function check({ targets, tiers }: NearingRuleOptions): void {
  const issues: Mistake[] = []
  if (!Array.isArray(targets) || targets.length === 0)
    issues.push(new Mistake('missing_field', `targets must be a list of at least one target, got ${printed(targets)}`))
  if (tiers !== undefined && (!Array.isArray(tiers) || tiers.length === 0 || !tiers.every(isName)))
    issues.push(new Mistake('invalid_value', `tiers must be a list of names of tiers, got ${printed(tiers)}`))
  if (issues.length > 0) throw new ConfigError(issues)
}

const isName = (tier: unknown): boolean => typeof tier === 'string' && tier !== ''
