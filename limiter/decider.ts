import type { Verdicts } from './algorithms/algorithm'
import { noteThrottled } from './consistency/contention'
import { chargeLate, type LateCharges } from './consistency/late-charges'
import { decide } from './decide'
import { isHotKey } from './errors'
import { SubjectItems } from './items'
import type { KnownItems, Plan } from './plan'
import {
  type Batch,
  type Charge,
  type ChargeTime,
  isLeasable,
  isUnanswered,
  type Pending,
  type Subject,
} from './request'
import { standAll, statesOf } from './steps'
import { type SubjectVerdicts, verdictsNow } from './view'
import { cachedDenial, knownDenial, peek } from './without-charge'

/** The subjects' items, and what a limiter does to them: a plan each. What needs no call is answered at once. */
export class Decider extends SubjectItems {
  knownDenial(charge: Charge): SubjectVerdicts | undefined {
    return knownDenial(this, charge)
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    return cachedDenial(this, charge)
  }

  decideBatch(batch: Batch, deadline = this.deadline()): Promise<Verdicts[]> {
    return this.run(batch.key, decideThrottled(this, batch), deadline)
  }

  peek(charge: Charge): Promise<Verdicts> {
    return this.run(charge.key, peek(this, charge))
  }

  standing({ key, policies }: Subject): Verdicts | undefined {
    const view = this.view(key)
    return view && standAll(statesOf(view, policies), policies, this.now())
  }

  /** As the function of that name. */
  chargeLate(key: string, late: LateCharges): Promise<boolean> {
    return this.run(key, chargeLate(this, key, late))
  }

  async refund(charge: Charge, charged: ChargeTime): Promise<void> {
    const { refund } = await import('./give-back.ts')
    return this.run(charge.key, refund(this, charge, charged))
  }

  /**
   * Makes all quotas of the subject whole.
   *
   * @throws StoreUnavailableError `in-doubt` when it is not known whether they are.
   */
  async reset(key: string): Promise<void> {
    const { resetWithPools } = await import('./give-back.ts')
    const { subjects } = this
    // No request that comes meanwhile spends from memory what was charged before, and nothing that was sent before
    // arrives after.
    await subjects.forget(key)
    try {
      await resetWithPools(this, key)
    } finally {
      void subjects.forget(key)
    }
  }
}

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
    ({ cost, costs, holds, isPaced, isSentOnce }): Pending => ({
      cost,
      costs,
      holds,
      isPaced,
      isSentOnce,
      verdicts: undefined,
    }),
  )
  for (let isThrottled = false; ; isThrottled = true) {
    try {
      yield* decide(items, { key, policies, requests: all }, isThrottled)
      break
    } catch (error) {
      const left = all.filter(isUnanswered)
      if (!isHotKey(error) || left.some((one) => isLeasable({ key, policies, ...one }))) throw error
      for (const one of left) one.verdicts = heldBack(items, { key, policies, ...one })
      if (!left.some(isUnanswered)) break
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
