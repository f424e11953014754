import type { Clock } from '../../limiter/clock'
import { printed } from '../../limiter/errors'
import { embeddedMetrics } from './emf'
import { EVENTS, type LogEvent } from './events'

/** From the most to the least verbose. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Writes one entry: what happened, and its details. The details must not identify a caller in clear. */
export type Log = (
  level: LogLevel,
  event: LogEvent,
  details?: Readonly<Record<string, unknown>>,
  /** Also counts the entry in this metric. */
  metric?: 'ConfigErrors',
) => void

/** Takes one line, without its line break. */
export type WriteLine = (line: string) => void

export interface LogOptions {
  readonly write: WriteLine
  readonly clock: Clock
  /** Entries below this level are left out, unless they are counted. @default 'info' */
  readonly level?: LogLevel
  /** The CloudWatch namespace of the metrics. @default 'Sluice' */
  readonly namespace?: string
}

/** One line of JSON per entry, which CloudWatch Logs parses by itself, and counts where the entry names a metric. */
export const jsonLog = ({ write, clock, level: least = 'info', namespace = 'Sluice' }: LogOptions): Log => {
  const lowest = LOG_LEVELS.indexOf(least)
  return (level, event, details, metric) => {
    if (!metric && LOG_LEVELS.indexOf(level) < lowest) return
    write(
      JSON.stringify({
        level,
        event,
        message: EVENTS[event],
        ...details,
        ...(metric && embeddedMetrics(namespace, clock(), { [metric]: 1 })),
      }),
    )
  }
}

/** What a log entry says about an error: its message and its code, never its stack. */
export const errorDetails = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? { error: error.message, name: error.name, reason: (error as { reason?: unknown }).reason }
    : { error: printed(error) }
