import type { Verdicts } from '../algorithms/algorithm'
import { decide } from '../decide'
import { isHotKey } from '../errors'
import type { KnownItems, Plan } from '../plan'
import type { Batch, Charge, Subject, Units } from '../request'
import { verdictsNow } from '../view'
import { knownDenial } from '../without-charge'
import { noteThrottled } from './contention'

/** Whether a subject's units can be leased once its item is throttled, and whether those of a request can. */
export const isLeasable = ({ policies, costs, holds }: Subject & Partial<Units>): boolean =>
  !costs && !holds && policies.every(({ autoLease }) => autoLease)

/**
 * Decides requests, also where their item gets more writes than it takes: most of those are of a caller far over its
 * limit. So it is read, which a partition takes three times as often, and written only if there is room.
 *
 * An instance that was held back, and now cannot ask, is held back again.
 *
 * @throws StoreUnavailableError `hot-key` where that decides nothing, or units can be leased instead.
 */
export function* decideThrottled(items: KnownItems, batch: Batch): Plan<Verdicts[]> {
  const charges = batch.requests.map((request): Charge => ({ ...batch, ...request }))
  for (let isThrottled = false; ; isThrottled = true) {
    try {
      return yield* decide(items, batch, isThrottled)
    } catch (error) {
      if (!isHotKey(error) || charges.some(isLeasable)) throw error
      const denials = heldBackAgain(items, charges)
      if (denials) return denials
      if (isThrottled) throw error
    }
  }
}

function heldBackAgain(items: KnownItems, charges: readonly Charge[]): Verdicts[] | undefined {
  const view = items.view(charges[0]!.key)
  if (!view) return undefined
  noteThrottled(view, items.now(), items.options.denialTtlMs)
  const denials = charges.flatMap((charge) => knownDenial(items, charge) ?? [])
  return denials.length === charges.length ? denials.map(verdictsNow) : undefined
}
