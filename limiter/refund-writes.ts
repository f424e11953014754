import type { Fields } from './algorithms/conditional-write'
import { refundUnlessQueued } from './algorithms/queued'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import { type Units, unitsOf } from './request'
import type { PolicyWrite } from './stores/store'

/** What is given back, to which policies. */
export interface RefundedUnits extends Units {
  readonly policies: readonly CompiledPolicy[]
}

/** The writes that give units back to policies in these states; a policy whose window has passed has none. */
export function refundsOf(
  refunded: RefundedUnits,
  states: readonly Fields[],
  charged: { readonly at: EpochMs; readonly delayMs?: number },
  now: EpochMs,
): PolicyWrite[] {
  const { policies, holds } = refunded
  const { at, delayMs } = charged
  const isOneTurn = delayMs !== undefined && policies.filter(({ chargesAtTurn }) => chargesAtTurn).length === 1
  return policies.flatMap((policy, i): PolicyWrite[] => {
    const { counter, prefix, chargesAtTurn } = policy
    const fields = states[i]!
    const units = unitsOf(refunded, policy)
    const write =
      chargesAtTurn && !isOneTurn
        ? refundUnlessQueued(counter, fields, units, at, now)
        : counter.refund(fields, units, chargesAtTurn ? at + delayMs! : at, now, holds)
    return write ? [{ prefix, write }] : []
  })
}
