import type { Decision } from '../decision'
import type { Charge } from '../request'

/** A request that waits. */
export interface Waiter {
  readonly charge: Charge
  /** What it takes, to compare. */
  readonly costs: string
  /** Until when it waits, by `performance.now`. */
  readonly dueAt: number
  /** Its time is up: the next denial that holds it up is its answer. */
  isDue: boolean
  /** Its turn, which is still to come: by `performance.now`, and what was charged for it. */
  turn?: Turn | undefined
  readonly resolve: (decision: Decision, charge?: Charge) => void
  readonly reject: (reason: unknown) => void
}

/** A decision, and the charge that it allowed: what `giveBack` wants. */
export interface Admission {
  readonly decision: Decision
  readonly charge: Charge
}

/** The moment of a turn, by `performance.now`. */
interface Turn extends Admission {
  readonly at: number
}

/** How long a request waits, and what ends that. */
export interface Patience {
  /** By `performance.now`. */
  readonly dueAt: number
  readonly signal: AbortSignal | undefined
}
