import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import type { Verdicts } from '../plan'

/** One way of counting a subject's units under some of its policies; what `consistency` chooses. */
export interface Way {
  /** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined
  /** Takes `cost` units, 1 or more, from all the policies or from none. */
  take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts>
  /** What a request would be told now, taking nothing. */
  look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts>
  /**
   * Gives units back that a `take` was allowed: to the memory that they came from, else to the store.
   *
   * @throws StoreUnavailableError when it is not known whether that worked; they may stay charged, and are never given
   * back twice.
   */
  giveBack(key: string, policies: readonly CompiledPolicy[], units: number, charged: Charged): Promise<void>
  /**
   * How the policies stand as far as is known here, without a call, taking nothing; `undefined` when nothing is known.
   */
  standing(key: string, policies: readonly CompiledPolicy[]): Verdicts | undefined
  /**
   * Forgets what is counted in memory of a subject that is reset. What it returns resolves once nothing of it is on its
   * way to the store.
   */
  forget(key: string): void | Promise<void>
}

/** When units were charged that are given back. */
export interface Charged {
  /** By the clock, at the request, or at the lease that it was spent from: `Verdict.chargedAt`. */
  readonly at: EpochMs
  /**
   * How much later than that the request's turn was, in milliseconds: policies that let requests wait charge them
   * there. Absent where that is not known.
   */
  readonly delayMs?: number
}
