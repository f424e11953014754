/** A decision about a request, and the status of the response. */
export interface Decided {
  /** API Gateway's id of the request, which its answer has in a header; absent for WebSockets. */
  readonly id?: string
  readonly method: string
  readonly path: string
  /** The API's route, `/users/{id}`; absent if the authorizer was not called. */
  readonly route?: string
  readonly status: number
  /** `undefined` if the authorizer did not answer. */
  readonly context?: Readonly<Record<string, unknown>>
}
