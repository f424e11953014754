import type { Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import { chargeLate, type LateCharges } from './consistency/late-charges'
import { decide } from './decide'
import { SubjectItems, type SubjectItemsOptions } from './items'
import type { Batch, Charge, ChargeTime, Subject } from './request'
import { allStepsAllow, deniedByRunning, standAll, statesOf, stepAll, verdictsOf } from './steps'
import { isRecent, rememberDenial, type SubjectVerdicts, verdictsNow } from './view'

export type TakeLoopOptions = SubjectItemsOptions

/** Starts what is done to subjects, a plan each, and answers what is known without a call. */
export class TakeLoop {
  readonly items: SubjectItems

  constructor(private readonly options: TakeLoopOptions) {
    this.items = new SubjectItems(options)
  }

  now(): EpochMs {
    return this.items.now()
  }

  knownDenial(charge: Charge): SubjectVerdicts | undefined {
    const view = this.items.view(charge.key)
    if (!view?.denial?.isOf(charge)) return undefined
    const now = this.now()
    if (!isRecent(view, now, this.options.denialTtlMs)) return undefined
    const aheadMs = this.items.fleet.leadOver(view, charge.policies, now)
    return aheadMs === 0 || view.denial.deniesAt(now + aheadMs) ? view.denial.saysNow(now) : undefined
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    const known = this.knownDenial(charge)
    if (known) return verdictsNow(known)
    const { key, policies } = charge
    const now = this.now()
    const view = this.items.view(key)
    if (
      !view ||
      !isRecent(view, now, this.options.denialTtlMs) ||
      this.items.fleet.mayAdmit(view, policies, [charge], now)
    )
      return undefined
    const states = statesOf(view, policies)
    const steps = stepAll(states, policies, charge, now)
    // the denial itself has to be recorded
    if (steps.some(({ verdict, write }) => !verdict.allowed && write)) return undefined
    if (deniedByRunning(steps, policies) && !isRecent(view, now)) return undefined
    if (allStepsAllow(steps)) return undefined
    const verdicts = verdictsOf(steps, states, policies, now)
    rememberDenial(view, policies, charge, verdicts, now)
    return verdicts
  }

  decideBatch(batch: Batch, deadline = this.items.deadline()): Promise<Verdicts[]> {
    return this.items.run(batch.key, decide(this.items, batch), deadline)
  }

  async peek(charge: Charge): Promise<Verdicts> {
    const { key, policies } = charge
    const view = await this.items.read(key, this.items.deadline())
    const states = statesOf(view, policies)
    return verdictsOf(stepAll(states, policies, charge, view.seenAt), states, policies, view.seenAt)
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
