import type { EpochMs } from '../../limiter/clock'

/** All are counts except `StoreLatency`, which is in milliseconds. */
export type MetricName =
  | 'Allowed'
  | 'Denied'
  | 'LockedOut'
  | 'Degraded'
  | 'Observed'
  | 'Overrun'
  | 'Deprioritized'
  | 'Nearing'
  | 'LeaseGrants'
  | 'Conflicts'
  | 'HotKeys'
  | 'CircuitOpened'
  | 'ClockErrors'
  | 'ConfigErrors'
  | 'StoreFailures'
  | 'StoreLatency'

export type MetricValues = { readonly [Name in MetricName]?: number | readonly number[] }

/** The most values of one metric in one entry. */
export const MAX_VALUES = 100

/**
 * The fields that turn a log entry into metrics: in total, and by these dimensions if there are any.
 *
 * @param alone not in total, because another entry counts the total.
 *
 * @see
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const embeddedMetrics = (
  Namespace: string,
  Timestamp: EpochMs,
  values: MetricValues,
  dimensions?: Readonly<Record<string, string>>,
  alone = false,
): Readonly<Record<string, unknown>> => ({
  _aws: {
    Timestamp,
    CloudWatchMetrics: [
      {
        Namespace,
        Dimensions: [...(alone ? [] : [[]]), ...(dimensions ? [Object.keys(dimensions)] : [])],
        Metrics: Object.keys(values).map((Name) => ({
          Name,
          Unit: Name === 'StoreLatency' ? 'Milliseconds' : 'Count',
        })),
      },
    ],
  },
  ...dimensions,
  ...values,
})
