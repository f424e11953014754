/** Calls the authorizer with an event. Rejects with what it threw, or with an `AuthorizerError`. */
export type Authorize = (event: object) => Promise<unknown>

/** Lambda's report of a failed invocation: the message is the function's own, or Lambda's. */
export class AuthorizerError extends Error {
  override readonly name = 'AuthorizerError'

  /** @param trace for the user of the gateway; clients never see it. */
  constructor(
    message: string,
    readonly trace: string = message,
  ) {
    super(message)
  }
}
