import { Duration } from 'aws-cdk-lib'
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch'
import type { LimiterMetrics } from '../limiter-metrics'

/** The alarms of `addAlarms`, by what they watch: docs/runbook.md has an entry for each, with its unit and meaning. */
export type AlarmName =
  | 'degraded'
  | 'circuitOpened'
  | 'storeFailures'
  | 'storeLatency'
  | 'throttledWrites'
  | 'hotKeys'
  | 'errors'
  | 'throttles'
  | 'concurrency'
  | 'configErrors'
  | 'clockErrors'
  | 'deniedShare'
  | 'lockedOut'

/** The valid thresholds. */
export const UNITS = {
  count: { isRight: (value: number) => Number.isSafeInteger(value) && value >= 1, wanted: 'an integer from 1' },
  percent: { isRight: (value: number) => value > 0 && value <= 100, wanted: 'a percentage above 0, at most 100' },
  ms: { isRight: (value: number) => value > 0 && Number.isFinite(value), wanted: 'milliseconds above 0' },
} as const

interface AlarmSpec {
  /** The default threshold; undefined: there is no such alarm unless a threshold is given. */
  readonly threshold: number | undefined
  readonly unit: keyof typeof UNITS
  readonly period: Duration
  /** The number of consecutive periods. */
  readonly periods: number
  readonly metric: (limiter: LimiterMetrics, period: Duration) => IMetric
  /** What has happened, and what to do first. */
  readonly happened: (threshold: number) => string
  readonly advice: string
}

const MINUTE = Duration.minutes(1)
const FIVE = Duration.minutes(5)

const invocations: AlarmSpec['metric'] = (limiter, period) => limiter.metricInvocations({ period })

/** @param least a share of fewer means nothing. */
const percent =
  (
    label: string,
    least: number,
    part: 'metricErrors' | 'metricDenied' | 'metricStoreFailures',
    of = invocations,
  ): AlarmSpec['metric'] =>
  (limiter, period) =>
    new MathExpression({
      expression: `IF(whole >= ${least}, 100 * part / whole, 0)`,
      usingMetrics: { part: limiter[part]({ period }), whole: of(limiter, period) },
      label: `${label}, %`,
      period,
    })

export const ALARMS: Readonly<Record<AlarmName, AlarmSpec>> = {
  degraded: {
    threshold: 1,
    unit: 'count',
    period: MINUTE,
    periods: 3,
    metric: (limiter, period) => limiter.metricDegraded({ period }),
    happened: (n) => `Decisions were made without the state table for 3 minutes, at least ${n} a minute`,
    advice:
      'The failure mode decides meanwhile: with local, more can pass than the limits. Look at the reasons of store failures, and at the table',
  },
  circuitOpened: {
    threshold: 1,
    unit: 'count',
    period: FIVE,
    periods: 1,
    metric: (limiter, period) => limiter.metricCircuitOpened({ period }),
    happened: (n) => `Circuit breakers for the state table opened in 5 minutes, at least ${n} of them`,
    advice: 'Instances try the table again by themselves, within 45 s. Look at the table and the way to it',
  },
  storeFailures: {
    threshold: 1,
    unit: 'percent',
    period: FIVE,
    periods: 1,
    metric: percent('failed calls', 100, 'metricStoreFailures', (limiter, period) =>
      limiter.metricStoreLatency({ period, statistic: 'SampleCount' }),
    ),
    happened: (n) => `${n} % or more of the calls to the state table failed in 5 minutes`,
    advice: 'The metrics’ lines in the log count the reasons, in "failures"',
  },
  storeLatency: {
    threshold: 100,
    unit: 'ms',
    period: MINUTE,
    periods: 5,
    metric: (limiter, period) => limiter.metricStoreLatency({ period }),
    happened: (n) => `1 % of the calls to the state table took ${n} ms or longer, for 5 minutes`,
    advice: 'Each request waits for one such call. Look at hot keys, throttled writes and the AWS Health Dashboard',
  },
  throttledWrites: {
    threshold: 1,
    unit: 'count',
    period: FIVE,
    periods: 1,
    metric: (limiter, period) => limiter.metricThrottledWrites({ period }),
    happened: (n) => `The state table refused writes for lack of capacity, at least ${n} in 5 minutes`,
    advice: 'Check whether one caller uses it all, and raise the maximum or the capacity of the table otherwise',
  },
  hotKeys: {
    threshold: 1,
    unit: 'count',
    period: FIVE,
    periods: 1,
    metric: (limiter, period) => limiter.metricHotKeys({ period }),
    happened: (n) => `A caller had more writes than one DynamoDB item takes, at least ${n} times in 5 minutes`,
    advice: 'It is leased by itself for a while. Lease that policy for good, or block the caller',
  },
  errors: {
    threshold: 5,
    unit: 'percent',
    period: FIVE,
    periods: 1,
    metric: percent('failed requests', 10, 'metricErrors'),
    happened: (n) => `${n} % or more of the authorizer’s invocations ended in an error in 5 minutes`,
    advice:
      'Clients get a 500. A 401 of a REST or WebSocket API counts, too: raise this threshold above what bad tokens cause',
  },
  throttles: {
    threshold: 1,
    unit: 'count',
    period: MINUTE,
    periods: 1,
    metric: (limiter, period) => limiter.metricThrottles({ period }),
    happened: (n) => `The authorizer was throttled at least ${n} times in a minute, and each such request got a 500`,
    advice: 'Raise reservedConcurrentExecutions, or block the flood with AWS WAF',
  },
  concurrency: {
    threshold: 80,
    unit: 'percent',
    period: MINUTE,
    periods: 1,
    metric: (limiter, period) => limiter.metricConcurrentExecutions({ period }),
    happened: (n) => `${n} % or more of the reserved authorizer instances are busy: requests beyond them get a 500`,
    advice: 'Raise reservedConcurrentExecutions, or block the flood with AWS WAF',
  },
  configErrors: {
    threshold: 1,
    unit: 'count',
    period: FIVE,
    periods: 1,
    metric: (limiter, period) => limiter.metricConfigErrors({ period }),
    happened: (n) => `Instances found mistakes in the config table, at least ${n} in 5 minutes`,
    advice: 'The last valid version stays in force. The log names the item and the mistake; repair the item',
  },
  clockErrors: {
    threshold: 1,
    unit: 'count',
    period: FIVE,
    periods: 1,
    metric: (limiter, period) => limiter.metricClockErrors({ period }),
    happened: (n) => `Clocks of instances were more than a minute off, at least ${n} times in 5 minutes`,
    advice: 'The table’s clock is used meanwhile. If it continues, report it to AWS',
  },
  deniedShare: {
    threshold: 50,
    unit: 'percent',
    period: FIVE,
    periods: 3,
    metric: percent('denied requests', 100, 'metricDenied'),
    happened: (n) => `${n} % or more of all requests were denied, for 15 minutes`,
    advice: 'A flood, a client that loops, or a limit that is too small. Find out who is denied and by which policy',
  },
  lockedOut: {
    threshold: undefined,
    unit: 'count',
    period: FIVE,
    periods: 1,
    metric: (limiter, period) => limiter.metricLockedOut({ period }),
    happened: (n) => `Callers that are locked out made requests, at least ${n} in 5 minutes`,
    advice: 'A caller tries passwords or scrapes the API. Find the caller, and block it',
  },
}
