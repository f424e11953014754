import { YAMLParseError } from 'yaml'
import { SluiceError } from '../limiter/errors'

/** A mistake that the user can correct: printed as one line without a stack, exit code 1. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** The text to print for an error: the message of a user's mistake, the stack of a bug. */
export function toUser(error: unknown): string {
  if (error instanceof StartError || error instanceof SluiceError) return error.message
  if (error instanceof YAMLParseError) return `tiers.yaml: ${reasonOf(error)}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

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
