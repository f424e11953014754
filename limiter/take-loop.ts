import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Charged } from './consistency/strategy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import { expiryFor } from './expiry'
import { FleetClock } from './fleet-clock'
import { Upkeep } from './item-maintenance'
import { lateWrite } from './late-charge'
import type { LateWrite } from './pending-charges'
import {
  allStepsAllow,
  charged,
  chargeWrites,
  type States,
  statesAfter,
  statesOf,
  stepAll,
  type Verdicts,
  verdictsOf,
  whichFit,
} from './plan'
import { Refunds } from './refunds'
import { StoreCalls, type StoreCallsOptions } from './store-calls'
import { fitted } from './stores/expression-budget'
import { afterWrite } from './stores/memory-store'
import { type Item, type ItemWrite, isPassed, type PolicyWrite, type WriteId, type WriteOutcome } from './stores/store'
import { KnownSubjects, othersWrote, type View } from './subject-cache'

export interface TakeLoopOptions extends StoreCallsOptions {
  /** How long a denial that is known is trusted, in milliseconds, so that a reset or a raised limit takes effect. */
  readonly denialTtlMs: number
  /** Subjects whose state is remembered. */
  readonly maxSubjects: number
}

/**
 * A write that is refused costs as much as five looks. Whoever has lost so many in a row, as instances do that one
 * tireless caller's requests are spread over, looks before the next one.
 */
const LOST_BEFORE_LOOKING = 2

/** How long no write is sent to an item that was the reason against one, and how many such items are remembered. */
const ITEM_PAUSE_MS = 1000
const MOST_FAILED = 1000

/** Others would have to change the item between our look and our write this often in a row. */
const MOST_ROUNDS = 100

/**
 * Decides requests of one subject by one conditional write, repeated while others change what it was based on.
 *
 * Nothing is answered from a guess: an allowed request from the item that its write found, a denied one from an item
 * that was really there, and that others can only have made stricter since.
 */
export class TakeLoop {
  private readonly known: KnownSubjects
  private readonly calls: StoreCalls
  private readonly upkeep: Upkeep
  private readonly fleet = new FleetClock()
  private readonly refunds: Refunds
  private readonly failed = new Map<string, { readonly error: StoreUnavailableError; readonly until: EpochMs }>()

  constructor(private readonly options: TakeLoopOptions) {
    this.known = new KnownSubjects(options.maxSubjects)
    this.calls = new StoreCalls(options)
    this.upkeep = new Upkeep(this.calls, this.known)
    this.refunds = new Refunds(
      this.calls,
      this.known,
      (key, deadline) => this.recent(key, deadline),
      (key, deadline) => this.refresh(key, deadline),
    )
  }

  /** Whether the store has ever answered. */
  get reached(): boolean {
    return this.calls.reached
  }

  /** Whether the store is not asked, but for a single call now and then. */
  get isCircuitOpen(): boolean {
    return this.calls.isCircuitOpen
  }

  now(): EpochMs {
    return this.calls.now()
  }

  /** For a decision that begins now. */
  deadline(): Deadline {
    return this.calls.deadline()
  }

  /** Names a write, for `chargeLate`. */
  nextId(): WriteId {
    return this.calls.nextId()
  }

  /** What was last seen of a subject. */
  view(key: string): View | undefined {
    return this.known.get(key)
  }

  /** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    const now = this.now()
    const view = this.known.get(key)
    if (!view || !this.trusts(view, now) || this.fleet.mayAdmit(view, policies, [cost], now)) return undefined
    const states = statesOf(view, policies)
    const steps = stepAll(states, policies, cost, now)
    // the denial itself has to be recorded
    if (steps.some(({ verdict, write }) => !verdict.allowed && write)) return undefined
    return steps.every(({ verdict }) => verdict.allowed) ? undefined : verdictsOf(steps, states, policies, now)
  }

  /**
   * Decides several requests of one subject in as few writes as it takes; what each costs, and what each is told, in
   * the same order.
   *
   * @param deadline of the decision that this is a part of. @default a new one
   */
  async settle(
    key: string,
    policies: readonly CompiledPolicy[],
    costs: readonly number[],
    deadline = this.deadline(),
  ): Promise<Verdicts[]> {
    let begunAt = this.now()
    const answers: Verdicts[] = []
    let pending = costs.map((cost, position) => ({ cost, position }))
    let wasRefused = false

    for (let round = 0; round < MOST_ROUNDS && deadline.leftMs > 0; round++) {
      const now = this.now()
      begunAt = Math.min(begunAt, now) // a clock that is set back meanwhile dates what is looked up before the decision
      const view = this.known.get(key)
      if (view) this.fleet.note(view, policies)
      const states = statesOf(view, policies)
      const admitted = pending.length === 1 ? pending : whichFit(states, policies, pending, now)
      const total = admitted.reduce((sum, { cost }) => sum + cost, 0)
      const steps = stepAll(states, policies, total, now)

      if (admitted.length === 0 || !allStepsAllow(steps)) {
        const denied = await this.denials(key, policies, pending, now, begunAt, deadline)
        if (!denied) continue
        if (wasRefused) this.known.wasQuicker(key, true)
        for (const { position, verdicts } of denied) answers[position] = verdicts
        return answers
      }

      const uncharged = steps.some(({ write }) => !write) // let pass past a limit, which is a denial but for its name
      if (uncharged && !(view && this.trusts(view, now, begunAt))) {
        await this.refresh(key, deadline)
        continue
      }

      const parts = chargeWrites(steps, view, policies, total, now, round === 0)
      if (parts.length === 0) {
        this.answerAll(answers, admitted, view!.item, 'applied', policies, now)
        pending = pending.filter(({ position }) => answers[position] === undefined)
        if (pending.length === 0) return answers
        continue
      }
      if (view && view.lost >= LOST_BEFORE_LOOKING && view.seenAt < begunAt) {
        await this.refresh(key, deadline)
        continue
      }

      const write = this.itemWrite(parts, policies, view?.item, now)
      const { kind, item } = await this.write(key, write, deadline)
      if (kind === 'refused') {
        wasRefused = true
        this.options.onEvent({ kind: 'conflict' })
        this.known.learn(key, item, now, true)
        continue
      }

      const after = kind === 'applied' ? afterWrite(item, write) : item
      const asKnown = kind === 'applied' && view !== undefined && !othersWrote(view.item, item)
      this.known.learn(key, after, now, view && round === 0 ? !asKnown : undefined)
      this.known.wasQuicker(key, false)
      if (asKnown && admitted.length === 1)
        answers[admitted[0]!.position] = steps.map(({ verdict }) => charged(verdict, now))
      else this.answerAll(answers, admitted, item, kind, policies, now)
      if (!asKnown) await this.upkeep.tidy(key, policies, after, now, deadline) // who writes alone leaves no litter
      pending = pending.filter(({ position }) => answers[position] === undefined)
      if (pending.length === 0) return answers
    }
    throw new StoreUnavailableError('contention', 'others kept changing the subject until the deadline')
  }

  /** Answers requests that share a write, one after another, from the item that it found. */
  private answerAll(
    answers: Verdicts[],
    admitted: readonly { readonly cost: number; readonly position: number }[],
    item: Item,
    kind: WriteOutcome['kind'],
    policies: readonly CompiledPolicy[],
    now: EpochMs,
  ): void {
    let truth: States = policies.map((policy) => fieldsOf(item, policy))
    for (const { cost, position } of admitted) {
      // An item that has the write in it already tells how the policies stand, not how they stood before.
      const steps = stepAll(truth, policies, kind === 'applied' ? cost : 0, now)
      answers[position] = steps.map(({ verdict }) =>
        charged(verdict.allowed ? verdict : { ...verdict, allowed: true, retryAfterMs: 0 }, now),
      )
      truth = statesAfter(truth, steps)
    }
  }

  /** What a request would be told now: one read, nothing taken. */
  async look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const view = await this.refresh(key, this.calls.deadline())
    const states = statesOf(view, policies)
    return verdictsOf(stepAll(states, policies, cost, view.seenAt), states, policies, view.seenAt)
  }

  /** How the policies stand as far as is known, taking nothing; `undefined` when nothing is known. */
  standing(key: string, policies: readonly CompiledPolicy[]): Verdicts | undefined {
    const view = this.known.get(key)
    return view && stepAll(statesOf(view, policies), policies, 0, this.now()).map(({ verdict }) => verdict)
  }

  /**
   * Charges what was admitted already, past the limit too. False when none of it counts any more.
   *
   * It counts once however often it is sent. Where this process has written to the subject since, nobody can tell any
   * more whether it was applied, and it gets a new name: it may count twice, and never not at all.
   */
  async chargeLate(key: string, late: LateWrite): Promise<boolean> {
    const deadline = this.calls.deadline()
    for (let round = 0; round < MOST_ROUNDS && deadline.leftMs > 0; round++) {
      const now = this.now()
      const seen = this.known.get(key)?.item
      const parts = late.charges.flatMap((charge): PolicyWrite[] => {
        const write = lateWrite(fieldsOf(seen, charge.policy), charge, now)
        return write ? [{ code: charge.policy.code, write }] : []
      })
      if (parts.length === 0) return false
      const policies = late.charges.map(({ policy }) => policy)
      const write = this.itemWrite(parts, policies, seen, now, late.id)
      const { kind, item } = await this.write(key, write, deadline)
      this.known.learn(key, kind === 'applied' ? afterWrite(item, write) : item, now)
      if (kind !== 'refused') return true
      if (isPassed(item, late.id)) late.id = this.nextId()
    }
    throw new StoreUnavailableError('contention', 'others kept changing the subject until the deadline')
  }

  /**
   * Gives units back as far as they can still be found; a policy whose window has passed has none.
   *
   * @throws StoreUnavailableError `in-doubt` when it is not known whether they were.
   */
  refund(key: string, policies: readonly CompiledPolicy[], units: number, charged: Charged): Promise<void> {
    return this.refunds.refund(key, policies, units, charged, this.deadline())
  }

  /**
   * Makes all quotas of the subject whole.
   *
   * @throws StoreUnavailableError `in-doubt` when it is not known whether they are.
   */
  async reset(key: string): Promise<void> {
    await this.refunds.reset(key, this.deadline())
    this.known.forget(key)
    this.failed.delete(key)
  }

  /** Forgets what was last seen of a subject. */
  forget(key: string): void {
    this.known.forget(key)
  }

  /**
   * Answers requests none of which fits what is known, once that is recent enough to be relied on; `undefined` when it
   * had to be looked up, or was out of date, and everything has to be thought over.
   */
  private async denials(
    key: string,
    policies: readonly CompiledPolicy[],
    pending: readonly { readonly cost: number; readonly position: number }[],
    now: EpochMs,
    begunAt: EpochMs,
    deadline: Deadline,
  ): Promise<{ position: number; verdicts: Verdicts }[] | undefined> {
    const view = this.known.get(key)
    const costs = pending.map(({ cost }) => cost)
    if (
      !view ||
      !this.trusts(view, now, begunAt) ||
      (view.seenAt < begunAt && this.fleet.mayAdmit(view, policies, costs, now))
    ) {
      await this.refresh(key, deadline)
      return undefined
    }
    const states = statesOf(view, policies)
    const denied: { position: number; verdicts: Verdicts }[] = []
    for (const { cost, position } of pending) {
      const steps = stepAll(states, policies, cost, now)
      const records = steps.flatMap(({ verdict, write }, i): PolicyWrite[] =>
        !verdict.allowed && write ? [{ code: policies[i]!.code, write }] : [],
      )
      if (records.length > 0 && !(await this.record(key, records, policies, view.item, now, deadline))) return undefined
      denied.push({ position, verdicts: verdictsOf(steps, states, policies, now) })
    }
    return denied
  }

  /** Writes a denial down, for the policies that count those. False when the subject has changed meanwhile. */
  private async record(
    key: string,
    parts: PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item,
    now: EpochMs,
    deadline: Deadline,
  ) {
    const write = this.itemWrite(parts, policies, seen, now)
    const { kind, item } = await this.write(key, write, deadline)
    this.known.learn(key, kind === 'applied' ? afterWrite(item, write) : item, now)
    return kind !== 'refused'
  }

  /** What is written is what the store is handed: it leaves nothing out of a write by itself. */
  private itemWrite(
    parts: PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    now: EpochMs,
    id = this.nextId(),
  ): ItemWrite {
    return fitted({ parts, id, expiresAtSeconds: expiryFor(policies, seen, now), at: now })
  }

  /** What was last seen of a subject if that is recent, else what is stored. */
  private async recent(key: string, deadline: Deadline): Promise<View> {
    const view = this.known.get(key)
    return view && this.trusts(view, this.now()) ? view : this.refresh(key, deadline)
  }

  /**
   * A write that the item itself is the reason against is not sent again as it is: the next one is made from what the
   * item is now, a moment later.
   */
  private async write(key: string, write: ItemWrite, deadline: Deadline): Promise<WriteOutcome> {
    const failed = this.failed.get(key)
    const now = this.now()
    if (failed && now < failed.until && failed.until - now <= ITEM_PAUSE_MS) throw failed.error
    try {
      return await this.calls.write(key, write, deadline)
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.reason === 'item') {
        if (this.failed.size >= MOST_FAILED) this.failed.clear()
        this.failed.set(key, { error, until: now + ITEM_PAUSE_MS })
        await this.refresh(key, deadline).catch(() => this.known.forget(key))
      }
      throw error
    }
  }

  private async refresh(key: string, deadline: Deadline): Promise<View> {
    const seenAt = this.now()
    const item = await this.calls.read(key, deadline)
    this.known.learn(key, item, seenAt)
    return this.known.get(key)!
  }

  /** @param begunAt when a decision began, whose own look is recent enough whatever the settings say. */
  private trusts(view: View, now: EpochMs, begunAt = Infinity): boolean {
    return (
      (view.seenAt >= begunAt && view.seenAt <= this.now()) || Math.abs(now - view.seenAt) <= this.options.denialTtlMs
    )
  }
}
