import { isCharged, type Verdicts } from './algorithms/algorithm'
import type { Part } from './consistency/strategy'
import { takesNone } from './request'
import { allAllow, chargedOf } from './steps'
import type { SubjectVerdicts } from './view'

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
  const refunds = results.map(async (result, i) => {
    const part = parts[i]!
    const verdicts = verdictsIn(result)
    const charged = chargedOf(verdicts)
    if (!charged) return // it failed, was denied, only looked, or passed uncharged
    const policies = part.policies.filter((_, j) => isCharged(verdicts[j]!))
    await part.strategy.giveBack({ ...part, policies }, charged)
  })
  await Promise.allSettled(refunds)
}

const verdictsIn = (result: PromiseSettledResult<SubjectVerdicts>): Verdicts =>
  result.status === 'fulfilled' ? result.value.verdicts : []
