import type { Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { contention } from './errors'
import { FleetClock } from './fleet-clock'
import { purge } from './item-maintenance'
import { type LateCharges, lateWrite } from './late-charges'
import { answersAfter, answersFrom, type Knowledge, type Pending, planFor } from './plan'
import type { Batch, Charge, ChargeTime, Subject, Units } from './request'
import { allStepsAllow, deniedByRunning, standAll, statesOf, stepAll, verdictsOf } from './steps'
import { itemAfter } from './stores/memory-store'
import { isPassed, type PolicyWrite } from './stores/store'
import { SubjectItems, type SubjectItemsOptions } from './subject-items'
import { isRecent, KnownDenial, othersWrote, type SubjectVerdicts, type View, verdictsNow } from './view'

export type TakeLoopOptions = SubjectItemsOptions

/**
 * A refused write costs as much as five reads, so an instance that lost this many in a row reads before the next one,
 * as happens when one client's requests are spread over many instances.
 */
const CONFLICTS_BEFORE_READ = 2

/** Others would have to change the item between our read and our write this often in a row. */
const MOST_ROUNDS = 100

/**
 * Decides requests of one subject by one conditional write, and again while others change what it was based on.
 *
 * Nothing is answered from a guess: an allowed request is answered from the item that its write found, a denied one
 * from an item that was really there, and that others can only have made stricter since.
 */
export class TakeLoop {
  readonly items: SubjectItems
  private readonly fleet = new FleetClock()

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
    const aheadMs = this.fleet.leadOver(view, charge.policies, now)
    return aheadMs === 0 || view.denial.deniesAt(now + aheadMs) ? view.denial.saysNow(now) : undefined
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    const known = this.knownDenial(charge)
    if (known) return verdictsNow(known)
    const { key, policies } = charge
    const now = this.now()
    const view = this.items.view(key)
    if (!view || !isRecent(view, now, this.options.denialTtlMs) || this.fleet.mayAdmit(view, policies, [charge], now))
      return undefined
    const states = statesOf(view, policies)
    const steps = stepAll(states, policies, charge, now)
    // the denial itself has to be recorded
    if (steps.some(({ verdict, write }) => !verdict.allowed && write)) return undefined
    if (deniedByRunning(steps, policies) && !isRecent(view, now)) return undefined
    if (allStepsAllow(steps)) return undefined
    const verdicts = verdictsOf(steps, states, policies, now)
    remember(view, policies, charge, verdicts, now)
    return verdicts
  }

  async decideBatch({ key, policies, requests }: Batch, deadline = this.items.deadline()): Promise<Verdicts[]> {
    let begunAt = this.now()
    const all = requests.map(({ cost, costs, holds }): Pending => ({ cost, costs, holds, verdicts: undefined }))
    let pending: readonly Pending[] = all
    let wasRefused = false

    for (let round = 0; round < MOST_ROUNDS && deadline.leftMs > 0; round++) {
      const now = this.now()
      begunAt = Math.min(begunAt, now) // a clock that is set back meanwhile dates a read before the decision
      const known = this.knowledge(key, policies, now, begunAt)
      const plan = planFor(known, policies, pending, now, round === 0)

      if (plan.kind === 'read') {
        await this.items.read(key, deadline)
        continue
      }
      if (plan.kind === 'deny') {
        if (!(await this.items.record(key, plan.denials, policies, known.view!.item, now, deadline))) continue
        if (wasRefused) this.items.subjects.recordConflict(key, true)
        answer(
          pending,
          plan.denials.map(({ verdicts }) => verdicts),
        )
        const { records, verdicts } = plan.denials[0]!
        if (plan.denials.length === 1 && records.length === 0)
          remember(known.view!, policies, pending[0]!, verdicts, now)
      } else if (plan.kind === 'answer') {
        answer(plan.admitted, answersFrom(plan.item, true, plan.admitted, policies, now))
      } else {
        const write = this.items.fit(plan.parts, policies, known.view?.item, now)
        const outcome = await this.items.write(key, write, deadline)
        if (outcome.kind === 'refused') {
          wasRefused = true
          this.options.onEvent({ kind: 'conflict' })
          this.items.subjects.learn(key, outcome.item, now, true)
          continue
        }
        const asKnown =
          outcome.kind === 'applied' && known.view !== undefined && !othersWrote(known.view.item, outcome.item)
        const after = itemAfter(outcome, write)
        this.items.subjects.learn(key, after, now, known.view && round === 0 ? !asKnown : undefined)
        this.items.subjects.recordConflict(key, false)
        answer(plan.admitted, answersAfter(plan, outcome, asKnown, policies, now))
        const purging = purge(this.items.calls, this.items.subjects, key, policies, after, now, deadline, asKnown)
        if (purging) await purging
      }
      pending = pending.filter(({ verdicts }) => !verdicts)
      if (pending.length === 0) return all.map(({ verdicts }) => verdicts!)
    }
    throw contention()
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

  /**
   * Charges what was admitted already, past the limit too. False when none of it counts any more.
   *
   * It counts once however often it is sent. Where this process has written to the subject since, nobody can tell any
   * more whether it was applied, and it gets a new name: it may count twice, and never not at all.
   */
  async chargeLate(key: string, late: LateCharges): Promise<boolean> {
    const { items } = this
    const deadline = items.deadline()
    for (let round = 0; round < MOST_ROUNDS && deadline.leftMs > 0; round++) {
      const now = this.now()
      const seen = items.view(key)?.item
      const parts = late.charges.flatMap((charge): PolicyWrite[] => {
        const write = lateWrite(fieldsOf(seen, charge.policy), charge, now)
        return write ? [{ prefix: charge.policy.prefix, write }] : []
      })
      if (parts.length === 0) return false
      const policies = late.charges.map(({ policy }) => policy)
      late.id ??= items.nextId()
      const { kind, item } = await items.charge(key, parts, policies, seen, now, deadline, { id: late.id })
      if (kind !== 'refused') return true
      if (isPassed(item, late.id)) late.id = items.nextId()
    }
    throw contention()
  }

  async refund(charge: Charge, charged: ChargeTime): Promise<void> {
    const { refund } = await import('./refunds.ts')
    return refund(this.items, charge, charged, this.items.deadline())
  }

  /**
   * Makes all quotas of the subject whole.
   *
   * @throws StoreUnavailableError `in-doubt` when it is not known whether they are.
   */
  async reset(key: string): Promise<void> {
    const { reset } = await import('./resets.ts')
    const { subjects, calls } = this.items
    // No request that comes meanwhile spends from memory what was charged before, and nothing that was sent before
    // arrives after.
    await subjects.forget(key)
    try {
      await reset(calls, key, this.items.deadline())
    } finally {
      void subjects.forget(key)
    }
  }

  /** What a plan is made from. */
  private knowledge(key: string, policies: readonly CompiledPolicy[], now: EpochMs, begunAt: EpochMs): Knowledge {
    const view = this.items.view(key)
    if (view) this.fleet.observe(view, policies)
    const isFresh = view !== undefined && view.seenAt >= begunAt
    return {
      view,
      // a decision's own read is recent enough whatever the settings say
      isTrusted:
        view !== undefined && ((isFresh && view.seenAt <= this.now()) || isRecent(view, now, this.options.denialTtlMs)),
      isFresh,
      isYoung: view !== undefined && isRecent(view, now),
      readFirst: view !== undefined && view.consecutiveConflicts >= CONFLICTS_BEFORE_READ && view.seenAt < begunAt,
      mayAdmit: (seen, costs) => this.fleet.mayAdmit(seen, policies, costs, now),
    }
  }

  /** What was last seen of a subject if that is recent, else what is stored. */
  async recent(key: string, deadline: Deadline): Promise<View> {
    const view = this.items.view(key)
    return view && isRecent(view, this.now(), this.options.denialTtlMs) ? view : this.items.read(key, deadline)
  }
}

function answer(requests: readonly Pending[], answers: readonly Verdicts[]): void {
  for (let i = 0; i < requests.length; i++) requests[i]!.verdicts = answers[i]!
}

/** Remembers a denial that need not be written down. One that ends when a running request does is asked for anew. */
function remember(
  view: View,
  policies: readonly CompiledPolicy[],
  units: Units,
  verdicts: Verdicts,
  now: EpochMs,
): void {
  if (!units.holds && !policies.some(({ counter }) => counter.isEndedByOthers))
    view.denial = new KnownDenial(policies, statesOf(view, policies), units, verdicts, now)
}
