/** Calls the authorizer with an event. Rejects with what it threw, or with an `AuthorizerError`. */
export type Authorize = (event: object) => Promise<unknown>

/** What Lambda reports of an invocation without an answer: the message is the function's own, or Lambda's. */
export class AuthorizerError extends Error {
  override readonly name = 'AuthorizerError'

  /** @param trace for the person who runs the gateway; clients never see it. */
  constructor(
    message: string,
    readonly trace: string = message,
  ) {
    super(message)
  }
}
