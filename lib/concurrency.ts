import { Annotations, Duration, Token } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, type IAlarmAction, type Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'

/**
 * By this id the warning can be acknowledged:
 * `Annotations.of(limiter).acknowledgeWarning('sluice:reservedConcurrency')`.
 */
const WARNING = 'sluice:reservedConcurrency'

/** What a decision may take where nothing is said, in milliseconds. */
const DEADLINE_MS = 300

/** Fewer instances are busy with a burst that is nobody's attack. */
const FEWEST = 20

/** From this share of its instances on, a function is about to turn requests away. */
const ALARM_SHARE = 0.8

/**
 * Warns that everything else in the account can take the instances of this function, each of whose missing ones is a
 * 500.
 */
export function warnOfSharedConcurrency(scope: Construct, decisionDeadline: Duration | undefined): void {
  const seconds = (decisionDeadline?.toMilliseconds() ?? DEADLINE_MS) / 1000
  Annotations.of(scope).addWarningV2(
    WARNING,
    'no concurrency is reserved for the authorizer: if a flood or another function uses up the account’s concurrency, every request to every API of this ' +
      `limiter gets a 500. Set reservedConcurrentExecutions to peak requests per second × ${Math.max(0.1, seconds)} s, at least ${FEWEST}; see "Concurrency" in docs/deploy.md`,
  )
}

/** How `addConcurrencyAlarms` makes its alarms. */
export interface ConcurrencyAlarmsOptions {
  /**
   * What is done when one of them goes off, such as `new SnsAction(topic)`.
   * @default nothing
   */
  readonly actions?: readonly IAlarmAction[]
}

/** Alarms of a function that runs out of instances. */
export class ConcurrencyAlarms extends Construct {
  /** Requests found no instance, each a 500, within a minute. */
  readonly throttles: Alarm
  /**
   * Four fifths of the reserved instances are busy; `undefined` where none are reserved, or where their number is not
   * known at the synth.
   */
  readonly concurrency: Alarm | undefined

  constructor(
    scope: Construct,
    id: string,
    { throttles, concurrency }: Readonly<Record<'throttles' | 'concurrency', Metric>>,
    reserved: number | undefined,
    { actions = [] }: ConcurrencyAlarmsOptions,
  ) {
    super(scope, id)
    const common = {
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    }
    this.throttles = new Alarm(this, 'Throttles', {
      ...common,
      metric: throttles.with({ period: Duration.minutes(1), statistic: 'sum' }),
      threshold: 1,
      alarmDescription:
        'the authorizer is throttled, and each such request gets a 500: raise reservedConcurrentExecutions, or block the flood with AWS WAF',
    })
    this.concurrency =
      reserved === undefined || Token.isUnresolved(reserved)
        ? undefined
        : new Alarm(this, 'Concurrency', {
            ...common,
            metric: concurrency.with({ period: Duration.minutes(1), statistic: 'max' }),
            threshold: Math.max(1, Math.floor(reserved * ALARM_SHARE)),
            alarmDescription: `nearly all of the ${reserved} reserved authorizer instances are busy: requests beyond them get a 500`,
          })
    for (const alarm of [this.throttles, ...(this.concurrency ? [this.concurrency] : [])])
      alarm.addAlarmAction(...actions)
  }
}
