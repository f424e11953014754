import type { Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import { chargeLate, type LateCharges } from './consistency/late-charges'
import { decide } from './decide'
import { SubjectItems, type SubjectItemsOptions } from './items'
import type { Batch, Charge, ChargeTime, Subject } from './request'
import { standAll, statesOf } from './steps'
import type { SubjectVerdicts } from './view'
import { cachedDenial, knownDenial, peek } from './without-charge'

export type TakeLoopOptions = SubjectItemsOptions

/** Starts what is done to subjects, a plan each, and answers what is known without a call. */
export class TakeLoop {
  readonly items: SubjectItems

  constructor(options: TakeLoopOptions) {
    this.items = new SubjectItems(options)
  }

  now(): EpochMs {
    return this.items.now()
  }

  knownDenial(charge: Charge): SubjectVerdicts | undefined {
    return knownDenial(this.items, charge)
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    return cachedDenial(this.items, charge)
  }

  decideBatch(batch: Batch, deadline = this.items.deadline()): Promise<Verdicts[]> {
    return this.items.run(batch.key, decide(this.items, batch), deadline)
  }

  peek(charge: Charge): Promise<Verdicts> {
    return this.items.run(charge.key, peek(this.items, charge))
  }

  standing({ key, policies }: Subject): Verdicts | undefined {
    const view = this.items.view(key)
    return view && standAll(statesOf(view, policies), policies, this.now())
  }

  /** As the function of that name. */
  chargeLate(key: string, late: LateCharges): Promise<boolean> {
    return this.items.run(key, chargeLate(this.items, key, late))
  }

  async refund(charge: Charge, charged: ChargeTime): Promise<void> {
    const { refund } = await import('./give-back.ts')
    return this.items.run(charge.key, refund(this.items, charge, charged))
  }

  /**
   * Makes all quotas of the subject whole.
   *
   * @throws StoreUnavailableError `in-doubt` when it is not known whether they are.
   */
  async reset(key: string): Promise<void> {
    const { reset } = await import('./give-back.ts')
    const { subjects } = this.items
    // No request that comes meanwhile spends from memory what was charged before, and nothing that was sent before
    // arrives after.
    await subjects.forget(key)
    try {
      await this.items.run(key, reset(this.items))
    } finally {
      void subjects.forget(key)
    }
  }
}
