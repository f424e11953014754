import type { CfnResource } from 'aws-cdk-lib'
import type { IRestApi, RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { MetricName } from '../lambda/telemetry/emf'
import { printed } from '../limiter/errors'
import { AuthorizerFunction, type AuthorizerFunctionOptions } from './authorizer-function'
import { ConcurrencyAlarms, type ConcurrencyAlarmsOptions, warnOfSharedConcurrency } from './concurrency'
import type { IdentitySource } from './identity'
import { LimiterTables, type LimiterTablesOptions } from './limiter-tables'
import type { ProtectingLimiter } from './protect/call-permission'
import { HttpApiProtection, type ProtectHttpApiOptions } from './protect/http-api'
import { type AttachToOptions, ImportedRestApiProtection } from './protect/imported-rest-api'
import { cachingAuthorizers } from './protect/never-cached'
import { type ProtectRestApiOptions, RestApiProtection } from './protect/rest-api'
import { type ProtectWebSocketApiOptions, WebSocketApiProtection } from './protect/websocket-api'
import { checkLabel, labelApi } from './seed/label-resource'
import { SeedFunction } from './seed/seed-function'
import { seedTiers } from './seed/tiers-seed'

/** What a `RateLimiter` is made with; every prop has a default. */
export interface RateLimiterProps extends LimiterTablesOptions, AuthorizerFunctionOptions {
  /**
   * A YAML file with initial tiers and routes, relative to the working directory of the synth. An error in it fails the
   * synth. Later edits of operators in the table are kept.
   *
   * @default none: nothing is limited until the config table has tiers
   */
  readonly tiersFile?: string
  /**
   * The sources of identity, in order, such as `jwt({ issuer, audience })`, whose tokens Sluice verifies. An error
   * fails the synth. They are seeded into the item `settings`, together with the settings of the tiers file, which then
   * must not have `identity`.
   *
   * @default the tiers file's identity; without it API keys, then addresses
   */
  readonly identity?: IdentitySource | readonly IdentitySource[]
}

/** What stands in front of an API. */
type Protection = Construct & { readonly authorizer: Construct }

/** The dimensions of a metric. */
export interface DecisionMetricOptions extends MetricOptions {
  /**
   * Only requests of this tier that this policy decided: for an allowed request, the policy with the least remaining.
   *
   * @default all
   */
  readonly tier?: string
  /** Needs `tier`. @default all */
  readonly policy?: string
  /**
   * Only requests to this API, by its label, or by its id where it has none; not with `tier`, and only where
   * `metricsByApi` is true. @default all
   */
  readonly api?: string
}

/**
 * A rate limiter for any number of APIs: a function that decides, a table for its state and one for tiers and clients.
 *
 * ```ts
 * const limiter = new RateLimiter(this, 'Limiter', { tiersFile: 'tiers.yaml' })
 * limiter.protect(api)
 * ```
 */
export class RateLimiter extends Construct {
  /** The authorizer function. Settings without a prop: `handler.node.defaultChild`, or `functionOptions`. */
  readonly handler: LambdaFunction
  readonly logGroup: ILogGroup
  readonly stateTable: ITableV2
  readonly configTable: ITableV2
  private readonly deniesInBackend: boolean
  private readonly metricsNamespace: string
  private readonly reserved: number | undefined
  private readonly metricsByApi: boolean
  private readonly seeds: Construct[] = []

  constructor(
    scope: Construct,
    id: string,
    private readonly props: RateLimiterProps = {},
  ) {
    super(scope, id)
    const { state, config } = new LimiterTables(this, 'Tables', props)
    this.stateTable = state
    this.configTable = config
    const { handler, logGroup } = new AuthorizerFunction(this, 'Authorizer', {
      ...props,
      stateTable: state,
      configTable: config,
    })
    this.handler = handler
    this.logGroup = logGroup
    this.metricsNamespace =
      props.functionOptions?.environment?.SLUICE_METRICS_NAMESPACE ?? props.metricsNamespace ?? 'Sluice'
    this.metricsByApi =
      (props.functionOptions?.environment?.SLUICE_METRICS_BY_API ?? String(props.metricsByApi)) === 'true'
    this.deniesInBackend = props.denials === 'backend-429'
    this.reserved = props.functionOptions?.reservedConcurrentExecutions ?? props.reservedConcurrentExecutions
    if (this.reserved === undefined) warnOfSharedConcurrency(this, props.decisionDeadline)
    if (props.tiersFile !== undefined || props.identity !== undefined)
      this.seeds.push(seedTiers(this.seedFunction(), props))
    this.node.addValidation({ validate: () => cachingAuthorizers(handler) })
  }

  /**
   * Limits every request to an API, or to some of its methods or routes; for a WebSocket API, every connection. A
   * method that already has an authorizer is an error, because its check would be lost.
   *
   * @returns the resources that were created for it, in the API's stack.
   */
  protect(api: RestApi, options?: ProtectRestApiOptions): RestApiProtection
  protect(api: HttpApi, options?: ProtectHttpApiOptions): HttpApiProtection
  protect(api: WebSocketApi, options?: ProtectWebSocketApiOptions): WebSocketApiProtection
  protect(
    api: RestApi | HttpApi | WebSocketApi,
    options: ProtectRestApiOptions & ProtectHttpApiOptions = {},
  ): RestApiProtection | HttpApiProtection | WebSocketApiProtection {
    if (api.node.tryFindChild('Sluice'))
      throw new Error(`protect() must be called once per API, got ${api.node.path} again: name all methods in one call`)
    const kind = kindOf(api)
    const apiId = 'restApiId' in api ? api.restApiId : api.apiId
    if (options.as !== undefined) checkLabel(api, apiId, this.configTable, options.as)
    const called = <T extends Protection>(name: string | undefined, protection: T) =>
      this.called(options.as, apiId, name, protection)
    switch (kind) {
      case 'REST':
        return called((api as RestApi).restApiName, new RestApiProtection(api as RestApi, this.access(), options))
      case 'HTTP':
        return called(
          (api as HttpApi).httpApiName,
          new HttpApiProtection(api as HttpApi, this.access(), { mapHeaders: !this.deniesInBackend, ...options }),
        )
      case 'WEBSOCKET':
        return called(
          (api as WebSocketApi).webSocketApiName,
          new WebSocketApiProtection(api as WebSocketApi, this.access()),
        )
    }
  }

  /** Gives an API a label before its first request reaches the limiter. */
  private called<T extends Protection>(
    label: string | undefined,
    id: string,
    name: string | undefined,
    protection: T,
  ): T {
    if (label === undefined) return protection
    protection.authorizer.node.addDependency(labelApi(protection, this.seedFunction(), { id, name, label }))
    return protection
  }

  /** What stands behind the authorizer of an API. */
  private access(): ProtectingLimiter {
    return { handler: this.handler, seeds: this.seeds }
  }

  /** The function for everything that is written at deployment, created on first use. */
  private seedFunction(): SeedFunction {
    const made = this.node.tryFindChild('Tiers') as SeedFunction | undefined
    return made ?? new SeedFunction(this, 'Tiers', { ...this.props, configTable: this.configTable })
  }

  /**
   * Prepares an imported REST API, such as `RestApi.fromRestApiId(this, 'Shop', 'a1b2c3d4e5')`: an authorizer, its
   * permission, the 429 for denials, and a deployment of a stage. Methods that this app adds to it are limited. Methods
   * defined in another template must name the returned `authorizerId`.
   *
   * @returns the resources that were created for it, in the stack that imports it.
   * @throws if the API is made in this app, or was passed before.
   */
  attachTo(api: IRestApi, options: AttachToOptions): ImportedRestApiProtection {
    if (api.node.tryFindChild('Sluice'))
      throw new Error(`attachTo() must be called once per API, got ${api.node.path} again`)
    if (options.as !== undefined) checkLabel(api, api.restApiId, this.configTable, options.as)
    // its name is not known here
    return this.called(options.as, api.restApiId, undefined, new ImportedRestApiProtection(api, this.access(), options))
  }

  /** Requests that reached the limiter. */
  metricInvocations(options?: MetricOptions): Metric {
    return this.handler.metricInvocations(options)
  }

  /** Requests for which the limiter failed: the client got a 500. Normally zero. */
  metricErrors(options?: MetricOptions): Metric {
    return this.handler.metricErrors(options)
  }

  /** Latency that the limiter added to requests. */
  metricDuration(options?: MetricOptions): Metric {
    return this.handler.metricDuration(options)
  }

  /** Requests for which the authorizer was throttled: the client got a 500. */
  metricThrottles(options?: MetricOptions): Metric {
    return this.handler.metricThrottles(options)
  }

  /** Maximum number of concurrently busy instances. */
  metricConcurrentExecutions(options?: MetricOptions): Metric {
    return this.handler.metric('ConcurrentExecutions', { statistic: 'max', ...options })
  }

  /**
   * Creates alarms on concurrency: one on throttled requests and, with reserved concurrency, one on 80 % of it in use.
   *
   * @throws when it is called again.
   */
  addConcurrencyAlarms(options: ConcurrencyAlarmsOptions = {}): ConcurrencyAlarms {
    const metrics = { throttles: this.metricThrottles(), concurrency: this.metricConcurrentExecutions() }
    return new ConcurrencyAlarms(this, 'ConcurrencyAlarms', metrics, this.reserved, options)
  }

  /** Requests that were allowed. */
  metricAllowed(options?: DecisionMetricOptions): Metric {
    return this.metric('Allowed', options)
  }

  /** Requests that were denied for any reason; with tier and policy, those over its limit. */
  metricDenied(options?: DecisionMetricOptions): Metric {
    return this.metric('Denied', options)
  }

  /** Decisions made without DynamoDB, by the failure mode. */
  metricDegraded(options?: DecisionMetricOptions): Metric {
    return this.metric('Degraded', options)
  }

  /** Requests that would have been denied without `observe`. */
  metricObserved(options?: DecisionMetricOptions): Metric {
    return this.metric('Observed', options)
  }

  /** Requests over a limit that its `overrun` allowed. */
  metricOverrun(options?: DecisionMetricOptions): Metric {
    return this.metric('Overrun', options)
  }

  /** Requests over a limit that were allowed with low priority. */
  metricDeprioritized(options?: DecisionMetricOptions): Metric {
    return this.metric('Deprioritized', options)
  }

  /** Leases that instances took. */
  metricLeaseGrants(options?: MetricOptions): Metric {
    return this.metric('LeaseGrants', options)
  }

  /** Conditional writes that conflicted and were retried. */
  metricConflicts(options?: MetricOptions): Metric {
    return this.metric('Conflicts', options)
  }

  /** Subjects with more writes than one DynamoDB item can take. */
  metricHotKeys(options?: MetricOptions): Metric {
    return this.metric('HotKeys', options)
  }

  /** Times that an instance's circuit breaker for the state table opened. */
  metricClockErrors(options?: MetricOptions): Metric {
    return this.metric('ClockErrors', options)
  }

  /** Times that an instance's circuit breaker opened. */
  metricCircuitOpened(options?: MetricOptions): Metric {
    return this.metric('CircuitOpened', options)
  }

  /** Invalid items found in the config table; each instance counts them. */
  metricConfigErrors(options?: MetricOptions): Metric {
    return this.metric('ConfigErrors', options)
  }

  /** Failed calls to the state table, each attempt counted. */
  metricStoreFailures(options?: MetricOptions): Metric {
    return this.metric('StoreFailures', options)
  }

  /** Latency of calls to the state table in milliseconds, failed ones included; the 99th percentile by default. */
  metricStoreLatency(options?: MetricOptions): Metric {
    return this.metric('StoreLatency', { statistic: 'p99', ...options })
  }

  /** Writes that the state table throttled. */
  metricThrottledWrites(options?: MetricOptions): Metric {
    const dimensionsMap = { TableName: this.stateTable.tableName }
    return new Metric({
      namespace: 'AWS/DynamoDB',
      metricName: 'WriteThrottleEvents',
      dimensionsMap,
      statistic: 'sum',
      ...options,
    })
  }

  /** One of those that the function writes into its log. */
  private metric(metricName: MetricName, { tier, policy, api, ...options }: DecisionMetricOptions = {}): Metric {
    if ((tier === undefined) !== (policy === undefined))
      throw new Error(
        `a metric needs tier and policy, or neither, got tier ${printed(tier)} and policy ${printed(policy)}`,
      )
    if (api !== undefined && (tier !== undefined || !this.metricsByApi))
      throw new Error(
        `a metric by API needs metricsByApi: true and no tier, got API ${printed(api)}, tier ${printed(tier)}`,
      )
    const ofTier = tier !== undefined && policy !== undefined ? { tier, policy } : undefined
    const dimensionsMap = api === undefined ? ofTier : { Api: api }
    return new Metric({ namespace: this.metricsNamespace, metricName, dimensionsMap, statistic: 'sum', ...options })
  }
}

/** Decided by the CloudFormation resource type, because a program can have several copies of the CDK's classes. */
function kindOf(api: RestApi | HttpApi | WebSocketApi): 'REST' | 'HTTP' | 'WEBSOCKET' {
  const resource = api.node.defaultChild as
    | (CfnResource & { readonly protocolType?: string; readonly body?: unknown; readonly bodyS3Location?: unknown })
    | undefined
  if (resource?.cfnResourceType === 'AWS::ApiGateway::RestApi' && !resource.body && !resource.bodyS3Location)
    return 'REST'
  if (resource?.protocolType === 'HTTP' || resource?.protocolType === 'WEBSOCKET') return resource.protocolType
  throw new Error(
    `protect() needs a RestApi, HttpApi or WebSocketApi of this app, got ${api.node.path}: use attachTo() for an imported REST API, ` +
      'and for an OpenAPI document see docs/deploy.md',
  )
}
