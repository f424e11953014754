import type { Hold } from './algorithms/algorithm'
import type { Fields } from './algorithms/conditional-write'
import { refundUnlessQueued } from './algorithms/queued'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { PolicyWrite } from './stores/store'

/** As many units of each policy, and what the request held. */
export interface RefundedUnits {
  readonly policies: readonly CompiledPolicy[]
  readonly cost: number
  readonly holds?: readonly Hold[] | undefined
}

/** The writes that give units back to policies in these states; a policy whose window has passed has none. */
export function refundsOf(
  { policies, cost: units, holds }: RefundedUnits,
  states: readonly Fields[],
  charged: { readonly at: EpochMs; readonly delayMs?: number },
  now: EpochMs,
): PolicyWrite[] {
  const { at, delayMs } = charged
  const isOneTurn = delayMs !== undefined && policies.filter(({ chargesAtTurn }) => chargesAtTurn).length === 1
  return policies.flatMap((policy, i): PolicyWrite[] => {
    const { counter, prefix, chargesAtTurn } = policy
    const fields = states[i]!
    const write =
      chargesAtTurn && !isOneTurn
        ? refundUnlessQueued(counter, fields, units, at, now)
        : counter.refund(fields, units, chargesAtTurn ? at + delayMs! : at, now, holds)
    return write ? [{ prefix, write }] : []
  })
}
