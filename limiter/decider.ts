import type { Verdicts } from './algorithms/algorithm'
import { chargeLate, type LateCharges } from './consistency/late-charges'
import { decideThrottled } from './consistency/throttled'
import { SubjectItems } from './items'
import type { Batch, Charge, ChargeTime, Subject } from './request'
import { standAll, statesOf } from './steps'
import type { SubjectVerdicts } from './view'
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
