import { UserError } from '../cli/exit'

/** A mistake that the user can correct: printed as one line without a stack, exit code 1. */
export class StartError extends UserError {}

/**
 * The first line of any thrown value, for use inside a one-line message. A failed connection has its reason in `cause`
 * or `errors`.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return reasonOf(error.cause)
  const text = error instanceof Error ? error.message || error.name : String(error)
  return text.split('\n')[0] as string
}
