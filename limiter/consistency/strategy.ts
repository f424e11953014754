import type { Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import type { Deadline } from '../deadline'
import type { SubjectVerdicts } from '../known-denial'
import type { Batch, Charge, ChargeTime, Subject } from '../request'
import type { View } from '../subject-cache'

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
  /**
   * Forgets what is counted in memory of a subject that is reset. What it returns resolves once nothing of it is on its
   * way to the store.
   */
  forget(key: string): void | Promise<void>
}

/** The part of a charge that one strategy counts. */
export interface Part extends Charge {
  readonly strategy: Strategy
}

/** The subjects as they are stored: what strategies are built on, and the take loop provides. */
export interface StoredSubjects {
  now(): EpochMs
  /** For a decision that begins now. */
  deadline(): Deadline
  /** What was last seen of a subject. */
  view(key: string): View | undefined
  /** See `Strategy`. */
  knownDenial(charge: Charge): SubjectVerdicts | undefined
  /** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
  cachedDenial(charge: Charge): Verdicts | undefined
  /**
   * Decides several requests of one subject in as few writes as it takes.
   *
   * @param deadline of the decision that this is a part of. @default a new one
   * @returns the verdicts of each request, in their order.
   */
  decideBatch(batch: Batch, deadline?: Deadline): Promise<Verdicts[]>
  /** The verdicts of a request now, by one read and without a charge. */
  peek(charge: Charge): Promise<Verdicts>
  /** How the policies stand as far as is known, taking nothing; `undefined` when nothing is known. */
  standing(subject: Subject): Verdicts | undefined
  /**
   * Gives units back as far as they can still be found; a policy whose window has passed has none.
   *
   * @throws StoreUnavailableError `in-doubt` when it is not known whether they were.
   */
  refund(charge: Charge, charged: ChargeTime): Promise<void>
}

/** Takes units in writes that requests of one subject may share. */
export interface Writes {
  /** @param deadline of the decision that this is a part of, where it begins at once. @default a new one */
  take(charge: Charge, deadline?: Deadline): Promise<Verdicts>
}
