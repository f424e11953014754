/** A decision about a request, and the status of the response. */
export interface Decided {
  readonly method: string
  readonly path: string
  /** The API's route, `/users/{id}`; missing for what the authorizer was not asked about. */
  readonly route?: string
  readonly status: number
  /** `undefined` where the authorizer gave no answer. */
  readonly context?: Readonly<Record<string, unknown>>
}
