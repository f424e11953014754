import type { Clock, EpochMs } from '../clock'
import { type StoreFailure, StoreUnavailableError } from '../errors'
import { afterWrite } from '../state/memory-store'
import {
  type EndSignal,
  type Item,
  type ItemWrite,
  MARKS,
  type PolicyWrite,
  type StateStore,
  type WriteId,
  type WriteOutcome,
} from '../state/store'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { Deadline } from './deadline'
import type { OnEvent } from './events'
import { expiryFor } from './expiry'
import { KnownSubjects, othersWrote, type View } from './known-subjects'
import { allStepsAllow, chargeWrites, type States, statesAfter, statesOf, stepAll, type Verdicts, verdictsOf, whichFit } from './plan'

export interface TakeLoopOptions {
  readonly store: StateStore
  readonly clock: Clock
  /** Time for one decision, in milliseconds. */
  readonly deadlineMs: number
  /** The same until the store has answered for the first time: a connection has to be made. */
  readonly firstDeadlineMs: number
  /** How long a denial that is known is trusted, in milliseconds, so that a reset or a raised limit takes effect. */
  readonly denialTtlMs: number
  /** Subjects whose state is remembered. */
  readonly maxSubjects: number
  readonly onEvent: OnEvent
}

/** Failures after which the same call may succeed, and after which a write may have been applied. */
const WORTH_ANOTHER_TRY: readonly StoreFailure[] = ['timeout', 'unreachable', 'malformed', 'throttled']
const MOST_TRIES = 3
const FIRST_PAUSE_MS = 15

/** Others would have to change the item between our look and our write this often in a row. */
const MOST_ROUNDS = 100

/**
 * Decides requests of one subject by one conditional write, repeated while others change what it was based on.
 *
 * Nothing is answered from a guess: an allowed request from the item that its write found, a denied one from an item that was really there, and
 * that others can only have made stricter since.
 */
export class TakeLoop {
  private readonly known: KnownSubjects
  private readonly mark = MARKS[Math.floor(Math.random() * MARKS.length)]!
  private lastWrite = Math.floor(Math.random() * 2 ** 32)
  /** Whether the store has ever answered. */
  reached = false

  constructor(private readonly options: TakeLoopOptions) {
    this.known = new KnownSubjects(options.maxSubjects)
  }

  now(): EpochMs {
    return Math.max(0, Math.floor(this.options.clock()))
  }

  /** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    const now = this.now()
    const view = this.known.get(key)
    if (!view || !this.trusts(view, now)) return undefined
    const states = statesOf(view, policies)
    const steps = stepAll(states, policies, cost, now)
    if (steps.some(({ verdict, write }) => !verdict.allowed && write)) return undefined // the denial itself has to be recorded
    return steps.every(({ verdict }) => verdict.allowed) ? undefined : verdictsOf(steps, states, policies, now)
  }

  /** Decides several requests of one subject in as few writes as it takes; what each costs, and what each is told, in the same order. */
  async settle(key: string, policies: readonly CompiledPolicy[], costs: readonly number[]): Promise<Verdicts[]> {
    const deadline = this.deadline()
    const answers: Verdicts[] = []
    let pending = costs.map((cost, position) => ({ cost, position }))

    for (let round = 0; round < MOST_ROUNDS && deadline.leftMs > 0; round++) {
      const now = this.now()
      const view = this.known.get(key)
      const states = statesOf(view, policies)
      const admitted = pending.length === 1 ? pending : whichFit(states, policies, pending, now)
      const total = admitted.reduce((sum, { cost }) => sum + cost, 0)
      const steps = stepAll(states, policies, total, now)

      if (admitted.length === 0 || !allStepsAllow(steps)) {
        const denied = await this.denials(key, policies, pending, now, deadline)
        if (!denied) continue
        for (const { position, verdicts } of denied) answers[position] = verdicts
        return answers
      }

      const parts = chargeWrites(steps, view, policies, total, now, round === 0)
      const write = this.itemWrite(parts, policies, view?.item, now)
      const { kind, item } = await this.send(key, write, deadline)
      if (kind === 'refused') {
        this.options.onEvent({ kind: 'conflict' })
        this.known.learn(key, item, now, true)
        continue
      }

      const after = kind === 'applied' ? afterWrite(item, write) : item
      const asKnown = kind === 'applied' && view !== undefined && !othersWrote(view.item, item)
      this.known.learn(key, after, now, view && round === 0 ? !asKnown : undefined)
      if (asKnown && admitted.length === 1) answers[admitted[0]!.position] = steps.map(({ verdict }) => verdict)
      else this.answerAll(answers, admitted, item, kind, policies, now)
      if (!asKnown) await this.tidy(key, policies, after, now, deadline) // who writes alone leaves no litter
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
      answers[position] = steps.map(({ verdict }) => (verdict.allowed ? verdict : { ...verdict, allowed: true, retryAfterMs: 0 }))
      truth = statesAfter(truth, steps)
    }
  }

  /** What a request would be told now: one read, nothing taken. */
  async look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const { item, seenAt } = await this.refresh(key, this.deadline())
    const states = statesOf({ item, seenAt, shared: false }, policies)
    return verdictsOf(stepAll(states, policies, cost, seenAt), states, policies, seenAt)
  }

  /** Gives units back as far as they can still be found; a policy whose window has passed has none. */
  async refund(key: string, policies: readonly CompiledPolicy[], units: number, chargedAt?: EpochMs): Promise<void> {
    const deadline = this.deadline()
    for (let round = 0; round < MOST_ROUNDS && deadline.leftMs > 0; round++) {
      const now = this.now()
      const view = this.known.get(key)
      const { item } = view && this.trusts(view, now) ? view : await this.refresh(key, deadline)
      const parts = policies.flatMap((policy): PolicyWrite[] => {
        const write = policy.algorithm.refund(fieldsOf(item, policy)!, policy.quota, units, chargedAt ?? now, now)
        return write ? [{ code: policy.code, write }] : []
      })
      if (parts.length === 0) return
      const write: ItemWrite = { parts, id: this.nextId(), at: now }
      const outcome = await this.send(key, write, deadline)
      this.known.learn(key, outcome.kind === 'applied' ? afterWrite(outcome.item, write) : outcome.item, now)
      if (outcome.kind !== 'refused') return
    }
    throw new StoreUnavailableError('contention', 'others kept changing the subject until the deadline')
  }

  async reset(key: string): Promise<void> {
    await this.tried(this.deadline(), (signal) => this.options.store.delete(key, { signal }))
    this.known.forget(key)
  }

  /**
   * Answers requests none of which fits what is known, once that is recent enough to be relied on; `undefined` when it had to be looked up, or
   * was out of date, and everything has to be thought over.
   */
  private async denials(
    key: string,
    policies: readonly CompiledPolicy[],
    pending: readonly { readonly cost: number; readonly position: number }[],
    now: EpochMs,
    deadline: Deadline,
  ): Promise<{ position: number; verdicts: Verdicts }[] | undefined> {
    const view = this.known.get(key)
    if (!view || !this.trusts(view, now)) {
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
    const { kind, item } = await this.send(key, write, deadline)
    this.known.learn(key, kind === 'applied' ? afterWrite(item, write) : item, now)
    return kind !== 'refused'
  }

  private async tidy(key: string, policies: readonly CompiledPolicy[], item: Item, now: EpochMs, deadline: Deadline): Promise<void> {
    const parts = policies.flatMap((policy): PolicyWrite[] => {
      const write = policy.algorithm.tidy?.(fieldsOf(item, policy)!, policy.quota, now)
      return write ? [{ code: policy.code, write }] : []
    })
    if (parts.length === 0) return
    const write: ItemWrite = { parts, id: this.nextId(), at: now }
    try {
      const outcome = await deadline.bound(1, (signal) => this.options.store.write(key, write, { signal }))
      if (outcome.kind === 'applied') this.known.learn(key, afterWrite(outcome.item, write), now)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error // the request is decided; the litter can wait
    }
  }

  private itemWrite(parts: PolicyWrite[], policies: readonly CompiledPolicy[], seen: Item | undefined, now: EpochMs): ItemWrite {
    return { parts, id: this.nextId(), expiresAtSeconds: expiryFor(policies, seen, now), at: now }
  }

  private async refresh(key: string, deadline: Deadline): Promise<View> {
    const seenAt = this.now()
    const item = await this.tried(deadline, (signal) => this.options.store.read(key, { signal }))
    this.known.learn(key, item, seenAt)
    return { item, seenAt, shared: false }
  }

  private send(key: string, write: ItemWrite, deadline: Deadline): Promise<WriteOutcome> {
    return this.tried(deadline, (signal) => this.options.store.write(key, write, { signal }))
  }

  /** Calls the store, and again while there is time and the failure may pass. A write keeps its id, so that it counts once. */
  private async tried<T>(deadline: Deadline, call: (signal: EndSignal) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const startedAt = performance.now()
      const told = (failure?: StoreFailure) => this.options.onEvent({ kind: 'store-call', ms: performance.now() - startedAt, failure })
      try {
        const answer = await deadline.bound(tries < MOST_TRIES ? 0.6 : 1, call)
        told()
        this.reached = true
        return answer
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error
        told(error.reason)
        const pauseMs = error.reason === 'throttled' ? FIRST_PAUSE_MS * tries * (1 + Math.random()) : 0
        if (tries >= MOST_TRIES || !WORTH_ANOTHER_TRY.includes(error.reason) || deadline.leftMs < pauseMs + 5) throw error
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  private trusts(view: View, now: EpochMs): boolean {
    return Math.abs(now - view.seenAt) <= this.options.denialTtlMs
  }

  private deadline(): Deadline {
    return new Deadline(this.reached ? this.options.deadlineMs : this.options.firstDeadlineMs)
  }

  private nextId(): WriteId {
    this.lastWrite = (this.lastWrite + 1) % 2 ** 32
    return { mark: this.mark, value: this.lastWrite }
  }
}
