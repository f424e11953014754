/** A limit; each contender expresses it in its own terms. */
export interface LimitSpec {
  readonly name: string
  readonly units: number
  readonly seconds: number
  /**
   * `window`: so many units in that time; `bucket`: a burst of so many, filling up again in that time; the others are
   * Sluice's own variants of a window.
   */
  readonly kind: 'window' | 'bucket' | 'fixed' | 'log'
}

/** Requests to make, all of the same cost, in turns for so many subjects. */
export interface TakeSpec {
  readonly limit: string
  /** Subjects are `<prefix>:0` and so on. */
  readonly prefix: string
  readonly subjects: number
  readonly requests: number
  readonly inFlight: number
  readonly cost: number
}

/** The commands that a contender reads from its standard input, each a line of JSON. */
export type Command = { readonly id: number } & (
  | ({ readonly do: 'limit' } & LimitSpec)
  | ({ readonly do: 'take' } & TakeSpec)
)

/** The outcomes of the requests. */
export interface Taken {
  readonly allowed: number
  readonly denied: number
  /** Neither allowed nor denied: the caller gets an exception. */
  readonly errors: number
  /** Allowed or denied without the table, and marked so. */
  readonly degraded: number
  /** The message of the first exception. */
  readonly reason: string | null
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** When each allowed request was answered, in epoch milliseconds. */
  readonly allowedAt: readonly number[]
}

/** A line of JSON for each command, on standard output. */
export type Answer = { readonly id: number } & ({ readonly value: Taken | null } | { readonly error: string })

/** A compared product, in a process of its own, so that none pays for another's work. */
export interface Contender {
  readonly name: string
  limit(spec: LimitSpec): Promise<void>
  take(spec: Partial<TakeSpec> & Pick<TakeSpec, 'limit' | 'prefix'>): Promise<Taken>
  stop(): Promise<void>
}
