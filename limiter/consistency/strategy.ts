import type { Verdict, Verdicts } from '../algorithms/algorithm'
import { type Charge, type ChargeTime, type Subject, takesNone } from '../request'
import { allAllow, chargedIn } from '../steps'
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

/** Takes a part's units, or looks where there are none to take. */
export const taken = (part: Part): Promise<Verdicts> =>
  takesNone(part) ? part.strategy.peek(part) : part.strategy.take(part)

export async function take(part: Part): Promise<SubjectVerdicts> {
  return { policies: part.policies, verdicts: await taken(part) }
}

/**
 * Takes from each subject once the one before it has answered, and no more once one fails: with the circuit open a
 * single call is let through.
 */
export async function oneByOne(parts: readonly Part[]): Promise<PromiseSettledResult<SubjectVerdicts>[]> {
  const results: PromiseSettledResult<SubjectVerdicts>[] = []
  for (const part of parts) {
    const [result] = await Promise.allSettled([take(part)])
    results.push(result)
    if (result.status === 'rejected') break
  }
  return results
}

export async function peek(part: Part): Promise<SubjectVerdicts> {
  return { policies: part.policies, verdicts: await part.strategy.peek(part) }
}

/** The same, with what the policies have now: without what the request would take of it. */
export async function peekBefore(part: Part): Promise<SubjectVerdicts> {
  const { policies, verdicts } = await peek(part)
  const now = part.strategy.standing(part)
  const before = (verdict: Verdict, i: number): Verdict => {
    if (!verdict.allowed || !now) return verdict
    const { remaining, resetAfterMs } = now[i]!
    return { ...verdict, remaining, resetAfterMs }
  }
  return { policies, verdicts: verdicts.map(before) }
}

export const allowedByAll = (answers: readonly SubjectVerdicts[]): boolean =>
  answers.every(({ verdicts }) => allAllow(verdicts))

/** Of a request that is denied, how a subject stands that would have allowed it. */
export const uncharged = (part: Part, answer: SubjectVerdicts): SubjectVerdicts =>
  allAllow(answer.verdicts) ? { ...answer, verdicts: part.strategy.standing(part) ?? answer.verdicts } : answer

/** What cannot be given back leaves the subject with less than its due, never with more. */
export async function giveBack(
  parts: readonly Part[],
  results: readonly PromiseSettledResult<SubjectVerdicts>[],
): Promise<void> {
  const charges = results.flatMap((result, i) =>
    result.status === 'fulfilled' ? (chargedIn(parts[i]!, result.value.verdicts) ?? []) : [],
  )
  await Promise.allSettled(charges.map(({ charge, charged }) => charge.strategy.giveBack(charge, charged)))
}
