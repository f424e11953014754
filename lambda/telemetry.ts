import { printed } from './errors'

/** Writes one structured entry. Nothing that identifies a caller in clear belongs in it. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  details?: Readonly<Record<string, unknown>>,
  /** Counts the entry as one of these, too. */
  metric?: 'ConfigErrors',
) => void

/**
 * One line of JSON per entry, which CloudWatch Logs takes apart by itself, and counts where it says so.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const jsonLog: Log = (level, message, details = {}, metric) => {
  console[level](JSON.stringify({ level, message, ...details, ...(metric && counted(metric)) }))
}

const counted = (metric: string) => ({
  _aws: {
    Timestamp: Date.now(),
    CloudWatchMetrics: [{ Namespace: 'Sluice', Dimensions: [[]], Metrics: [{ Name: metric, Unit: 'Count' }] }],
  },
  [metric]: 1,
})

/** What a log entry says about an error: its words and its code, never its stack. */
export const errorDetails = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? { error: error.message, name: error.name, reason: (error as { reason?: unknown }).reason }
    : { error: printed(error) }
