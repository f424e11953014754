import { Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { MetricName } from '../lambda/telemetry/emf'
import { printed } from '../limiter/errors'
import type { AuthorizerFunctionOptions } from './authorizer-options'

/** The dimensions of a metric. */
export interface DecisionMetricOptions extends MetricOptions {
  /**
   * Only requests of this tier that this policy decided: for an allowed request, the policy with the least remaining.
   *
   * @default all
   */
  readonly tier?: string | undefined
  /** Needs `tier`. @default all */
  readonly policy?: string | undefined
  /**
   * Only requests to this API, by its label, or by its id where it has none; not with `tier`, and only where
   * `metricsByApi` is true. @default all
   */
  readonly api?: string | undefined
}

/** A limiter's metrics, for alarms and dashboards. */
export abstract class LimiterMetrics extends Construct {
  /** The authorizer function. Settings without a prop: `handler.node.defaultChild`, or `functionOptions`. */
  abstract readonly handler: LambdaFunction
  abstract readonly stateTable: ITableV2
  /** The CloudWatch namespace of its metrics. */
  readonly metricsNamespace: string
  /** The lowest level of lines that the function writes. */
  protected readonly logLevel: string
  private readonly metricsByApi: boolean

  constructor(scope: Construct, id: string, props: AuthorizerFunctionOptions) {
    super(scope, id)
    const { SLUICE_METRICS_NAMESPACE, SLUICE_METRICS_BY_API, SLUICE_LOG_LEVEL } =
      props.functionOptions?.environment ?? {}
    this.metricsNamespace = SLUICE_METRICS_NAMESPACE ?? props.metricsNamespace ?? 'Sluice'
    this.logLevel = SLUICE_LOG_LEVEL ?? props.logLevel ?? 'info'
    this.metricsByApi = (SLUICE_METRICS_BY_API ?? String(props.metricsByApi)) === 'true'
  }

  /** Requests that reached the limiter. */
  metricInvocations(options?: MetricOptions): Metric {
    return this.handler.metricInvocations(options)
  }

  /**
   * Requests for which the function threw: the client got a 500, or, on REST and WebSocket APIs, a 401, which an
   * authorizer answers by an error.
   */
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

  /** Requests that were allowed. */
  metricAllowed(options?: DecisionMetricOptions): Metric {
    return this.metric('Allowed', options)
  }

  /** Requests that were denied for any reason; with tier and policy, those over its limit. */
  metricDenied(options?: DecisionMetricOptions): Metric {
    return this.metric('Denied', options)
  }

  /** Requests that were denied because their callers are locked out; `metricDenied` counts them, too. */
  metricLockedOut(options?: DecisionMetricOptions): Metric {
    return this.metric('LockedOut', options)
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

  /** Times that a caller came near a limit, 80 % of it by default. */
  metricNearing(options?: DecisionMetricOptions): Metric {
    return this.metric('Nearing', options)
  }

  /** Leases taken by instances. */
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

  /** Times that an instance's clock was found to be more than a minute off. */
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

  /** A metric that the function writes into its log. */
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
