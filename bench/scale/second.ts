/** One whole second of a scenario at one rate. */
export interface Second {
  readonly offered: number
  /** Allowed and denied by an exact decision: by the store, by a cached denial, by a lease. */
  readonly allowed: number
  readonly denied: number
  /** Decided without the store, and marked so. */
  readonly degraded: number
  /** Not decided at all: 429 by API Gateway, 500 where Lambda has no instance left. */
  readonly refusedByGateway: number
  readonly refusedByLambda: number
  /** Calls that DynamoDB refused: for an item's sake, for the table's. */
  readonly throttledItem: number
  readonly throttledTable: number
  /** Calls that were billed, and the writes among them whose condition did not hold. */
  readonly writes: number
  readonly refusedWrites: number
  readonly reads: number
  /** How long instances were busy, all together, in milliseconds. */
  readonly busyMs: number
  /** Instances that were started until its end, and the most that were busy at a time. */
  readonly instances: number
  readonly busiest: number
}

/** A second at one rate. */
export interface Point {
  readonly rps: number
  readonly second: Second
}

/** One scenario at all of its rates. */
export interface Sweep {
  readonly id: string
  readonly title: string
  readonly points: readonly Point[]
}
