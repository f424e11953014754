/** As much of autocannon as the bench calls. */
declare module 'autocannon' {
  interface Request {
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    onResponse(status: number): void
  }
  interface Client {
    /** Goes through the list, and begins again at its end. */
    setRequests(requests: readonly Request[]): void
  }
  interface Options {
    readonly url: string
    readonly connections: number
    /** Requests in all, shared out among the connections; it ends when they are answered. */
    readonly amount: number
    /** How often it looks whether it is done, in milliseconds. */
    readonly sampleInt: number
    readonly setupClient: (client: Client) => void
  }
  interface Result {
    readonly errors: number
    readonly timeouts: number
    readonly resets: number
  }
  interface Instance extends PromiseLike<Result> {
    on(
      event: 'response',
      listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void,
    ): this
  }
  function autocannon(options: Options): Instance
  export = autocannon
}
