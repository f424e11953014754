import type { Verdicts } from '../algorithms/algorithm'
import { decide } from '../decide'
import { isHotKey } from '../errors'
import type { KnownItems, Plan } from '../plan'
import { type Batch, type Charge, type Pending, type Subject, type Units, unanswered } from '../request'
import { verdictsNow } from '../view'
import { knownDenial } from '../without-charge'
import { noteThrottled } from './contention'

/** Whether a request's units can be leased, or are, where the item is throttled. */
export const isLeasable = ({ policies, costs, holds }: Subject & Partial<Units>): boolean =>
  !costs && !holds && policies.every(({ autoLease, consistency }) => autoLease || consistency === 'leased')

/**
 * Decides requests, also where their item gets more writes than it takes: most of those are of a caller far over its
 * limit. So it is read, which a partition takes three times as often, and written only if there is room.
 *
 * An instance that was denied a moment ago, and now cannot ask, is held back.
 *
 * @throws StoreUnavailableError `hot-key` where that decides nothing, or units can be leased instead.
 */
export function* decideThrottled(items: KnownItems, { key, policies, requests }: Batch): Plan<Verdicts[]> {
  const all = requests.map(
    ({ cost, costs, holds, isPaced }): Pending => ({ cost, costs, holds, isPaced, verdicts: undefined }),
  )
  for (let isThrottled = false; ; isThrottled = true) {
    try {
      yield* decide(items, { key, policies, requests: all }, isThrottled)
      break
    } catch (error) {
      const left = unanswered(all)
      if (!isHotKey(error) || left.some((one) => isLeasable({ key, policies, ...one }))) throw error
      for (const one of left) one.verdicts = heldBack(items, { key, policies, ...one })
      if (unanswered(all).length === 0) break
      if (isThrottled) throw error
    }
  }
  return all.map(({ verdicts }) => verdicts!)
}

/** The denial of a request that is held back, as its item cannot be asked. */
function heldBack(items: KnownItems, charge: Charge): Verdicts | undefined {
  const view = items.view(charge.key)
  if (!view || !noteThrottled(view, charge, items.now(), items.options.denialTtlMs)) return undefined
  const known = knownDenial(items, charge)
  return known && verdictsNow(known)
}
