/** The prefix of the stack outputs by which the command line finds limiters. */
export const LIMITER_OUTPUT = 'SluiceLimiter'

/** The value of such an output, as JSON. */
export interface LimiterOutput {
  /** The construct's path in its stack. */
  readonly limiter: string
  readonly configTable: string
  readonly stateTable: string
  /** The authorizer function's ARN. */
  readonly function: string
}
