import type { Verdicts } from '../algorithms/algorithm'
import type { Charge, ChargeTime, Subject } from '../request'
import type { SubjectVerdicts } from '../view'

/** Counts a subject's units under some of its policies; a policy's `consistency` chooses one. */
export interface Strategy {
  /**
   * The denial of a request like one that was denied before, by what has been known since: nothing is asked. Absent
   * where nothing is remembered, and `undefined` where that does not tell.
   */
  knownDenial?(charge: Charge): SubjectVerdicts | undefined
  /** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
  cachedDenial(charge: Charge): Verdicts | undefined
  /** Takes the units, 1 or more, from all the policies or from none. */
  take(charge: Charge): Promise<Verdicts>
  /** The verdicts of a request now, without a charge. */
  peek(charge: Charge): Promise<Verdicts>
  /**
   * Gives back units that a `take` was allowed: to the memory that they came from, else to the store.
   *
   * @throws StoreUnavailableError when it is not known whether that worked; they may stay charged, and are never given
   * back twice.
   */
  giveBack(charge: Charge, charged: ChargeTime): Promise<void>
  /** How the policies stand as far as this instance knows, without a call; `undefined` when nothing is known. */
  standing(subject: Subject): Verdicts | undefined
}

/** The part of a charge that one strategy counts. */
export interface Part extends Charge {
  readonly strategy: Strategy
}
