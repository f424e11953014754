import { printed } from './errors'

/** Writes one structured entry. Nothing that identifies a caller in clear belongs in it. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Readonly<Record<string, unknown>>) => void

/** One line of JSON per entry, which CloudWatch Logs takes apart by itself. */
export const jsonLog: Log = (level, message, details = {}) => {
  console[level](JSON.stringify({ level, message, ...details }))
}

/** What a log entry says about an error: its words and its code, never its stack. */
export const errorDetails = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? { error: error.message, name: error.name, reason: (error as { reason?: unknown }).reason }
    : { error: printed(error) }
