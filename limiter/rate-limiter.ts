import { type EpochMs, systemClock } from './clock'
import { isFair, withoutInternal } from './compiled-policy'
import type { FairShares } from './consistency/fair-shares'
import type { Fallback } from './consistency/fallback'
import { Strategies } from './consistency/strategies'
import { allowedByAll, giveBack, oneByOne, type Part, peek, take, taken, uncharged } from './consistency/strategy'
import { Deadline, waitAtMost } from './deadline'
import { Decider } from './decider'
import { compose, type Decision } from './decision'
import { SETUP_FAILURES, StoreUnavailableError } from './errors'
import { Lazy } from './lazy'
import type { RateLimiterOptions, RefundOptions, WithoutStore } from './options'
import { type Charge, type ChargeTime, checkChargedAt, checkCost, evenly, takesNone, toUnits } from './request'
import type { Item } from './stores/store'
import type { SubjectVerdicts } from './view'

export { loadForOutage } from './consistency/strategies'
export { peekBefore } from './consistency/strategy'
export type { Charge, RateLimiterOptions, RefundOptions, WithoutStore }

/**
 * Decides requests over any number of subjects, each with policies of its own. Policies that are the same array can
 * share a write.
 */
export class RateLimiter {
  /** The subjects as they are stored. */
  readonly items: Decider
  private readonly strategies: Strategies
  /** Loaded when the store cannot be asked for the first time, and when a policy is fair. */
  private readonly fallback: Lazy<Fallback>
  private readonly fair: Lazy<FairShares>
  private readonly withoutStore: Required<WithoutStore>
  private readonly deadlineMs: number

  constructor(options: RateLimiterOptions) {
    const {
      store,
      clock = systemClock,
      deadlineMs = 300,
      denialTtlMs = 5000,
      maxSubjects = 50_000,
      onEvent = () => {},
    } = options
    const { onStoreError = 'local', localShare = 1 } = options
    const firstDeadlineMs = options.firstDeadlineMs ?? Math.max(2000, deadlineMs)
    this.items = new Decider({ store, clock, deadlineMs, firstDeadlineMs, denialTtlMs, maxSubjects, onEvent })
    this.strategies = new Strategies(this.items, onEvent)
    this.fallback = new Lazy(async () => {
      const { Fallback } = await import('./consistency/fallback.ts')
      return new Fallback(this.items, (subject) => this.strategies.lastSeen(subject))
    })
    this.fair = new Lazy(async () => new (await import('./consistency/fair-shares.ts')).FairShares(this.items))
    this.withoutStore = { onStoreError, localShare }
    this.deadlineMs = deadlineMs
  }

  /**
   * Charges all subjects or none: what a denied request has already taken from its other subjects is given back.
   *
   * A store that cannot be asked leaves the decision to the failure mode; only a client that cannot call, and a table
   * that was never there, or that never let us in, are mistakes of the set-up and thrown. A failure of one subject's
   * item is that subject's: its requests are denied, whatever the mode, but for policies that never deny.
   */
  async decide(given: readonly Charge[], withoutStore?: WithoutStore): Promise<Decision> {
    return await this.decideAtOnce(given, withoutStore)
  }

  /** The same, and no promise where a request like it was denied before and nothing has changed since. */
  decideAtOnce(given: readonly Charge[], withoutStore?: WithoutStore): Decision | Promise<Decision> {
    for (const { caller } of given) if (caller) return this.decideFairly(given, withoutStore)
    const charges = given.map(toUnits)
    if (!this.strategies.areLoaded(charges))
      return this.strategies.load(charges).then(() => this.decideAtOnce(given, withoutStore))
    const denied = charges.length === 1 ? this.strategies.knownDenial(charges[0]!) : undefined
    if (!denied) return this.decideByCalls(charges, withoutStore)
    this.fallback.loaded?.flush(charges)
    return compose([denied])
  }

  now(): EpochMs {
    return this.items.now()
  }

  /** Asks a store that keeps failing again within half a second, however long it has been away. */
  probeSoon(): void {
    this.items.calls.probeSoon()
  }

  /** What was last seen of a subject in the store. */
  lastSeen(key: string): Item | undefined {
    return this.items.view(key)?.item
  }

  /**
   * What `decide` would say, taking nothing.
   *
   * @param how whether what remains is told with or without what the request would take.
   */
  async peek(given: readonly Charge[], how = peek): Promise<Decision> {
    const held = given.some(({ caller }) => caller) ? await (await this.fair.get()).withKnownShares(given) : given
    const charges = held.map(toUnits)
    await this.strategies.load(charges)
    return compose(await Promise.all(this.partsOf(charges).map(how)))
  }

  /** Gives back units that were charged just now, or when the options say so. */
  async refund(charge: Charge, { chargedAt, delayMs }: RefundOptions = {}): Promise<void> {
    const whole = toUnits(charge)
    if (!charge.costs) checkCost(charge.cost, 1)
    const now = this.items.now()
    checkChargedAt(chargedAt, delayMs, now)
    if (chargedAt === null) return
    const charged = { at: chargedAt ?? now, delayMs }
    await this.strategies.load([whole])
    const refunds = this.giveBack(whole, charged)
    const failed = (await Promise.allSettled(refunds)).find((refund) => refund.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** Ends what a request holds that was admitted here without the store; false where it holds nothing. */
  endHere(key: string, id: string): boolean {
    return this.fallback.loaded?.end(key, id) ?? false
  }

  /** Forgets a subject: all its quotas are whole. Other instances notice within their `denialTtlMs`. */
  reset(key: string): Promise<void> {
    return this.items.reset(key)
  }

  /** Returns leased units, and sends counts in memory to the store, for a program that stops. */
  async close(): Promise<void> {
    await Promise.all([this.strategies.close(), this.fallback.loaded?.close()])
  }

  /** Decides a request whose caller has a share of what callers share. */
  private async decideFairly(given: readonly Charge[], withoutStore?: WithoutStore): Promise<Decision> {
    const fair = await this.fair.get()
    const { charges, held } = fair.hold(given)
    const units = charges.map(toUnits)
    if (!this.strategies.areLoaded(units)) await this.strategies.load(units)
    const [, decision] = await Promise.all([
      waitAtMost(this.deadlineMs, fair.meet(held)),
      this.decideByCalls(units, withoutStore, (answers) => fair.learn(held, answers)),
    ])
    return decision
  }

  /** @param onAnswers is told what all subjects said, where the store could be asked. */
  private async decideByCalls(
    charges: readonly Charge[],
    withoutStore?: WithoutStore,
    onAnswers?: (answers: readonly SubjectVerdicts[]) => void,
  ): Promise<Decision> {
    const startedAt = this.items.now()
    const deadline = new Deadline(this.deadlineMs)
    try {
      const parts = this.partsOf(charges)
      const part = parts[0]!
      const answers =
        parts.length === 1
          ? [{ policies: part.policies, verdicts: await taken(part) }]
          : await this.ask(parts, deadline)
      onAnswers?.(answers)
      const flushing = this.fallback.loaded?.flush(charges)
      if (flushing && this.hasSeen(charges, startedAt)) await waitAtMost(deadline.leftMs, flushing)
      return compose(answers, false, answers.length < parts.length)
    } catch (error) {
      return await this.decideWithout(error, charges, withoutStore)
    }
  }

  /** Decides by the failure mode. Throws the error where that is a mistake of the set-up, or none of the store's. */
  private async decideWithout(
    error: unknown,
    charges: readonly Charge[],
    withoutStore: WithoutStore = {},
  ): Promise<Decision> {
    const { onStoreError = this.withoutStore.onStoreError, localShare = this.withoutStore.localShare } = withoutStore
    if (!(error instanceof StoreUnavailableError) || onStoreError === 'throw' || this.isSetupMistake(error)) throw error
    const { reason } = error
    const failureMode = reason === 'item' ? 'deny' : onStoreError
    const fallback = await this.fallback.get()
    const decision = fallback.decide(withoutInternal(charges), failureMode, localShare)
    return { ...decision, failure: reason, failureMode }
  }

  /** What this instance admitted by itself is given back there first. */
  private giveBack(whole: Charge, charged: ChargeTime): Promise<void>[] {
    const even = evenly(whole)
    const here = even.map((one) => this.fallback.loaded?.giveBack(one, charged) ?? 0)
    const left = here.every((units) => units === 0)
      ? [whole]
      : even.map((one, i) => ({ ...one, cost: one.cost - here[i]! }))
    return this.partsOf(left.filter((one) => !takesNone(one))).map((part) => part.strategy.giveBack(part, charged))
  }

  private partsOf(charges: readonly Charge[]): Part[] {
    if (charges.length === 1) return this.strategies.partsOf(charges[0]!)
    return charges.flatMap((charge) => this.strategies.partsOf(charge))
  }

  /** What all subjects say, or those whose denial is known without a call. */
  private async ask(parts: readonly Part[], deadline: Deadline): Promise<readonly SubjectVerdicts[]> {
    const denied = parts.flatMap((part): SubjectVerdicts[] => {
      const verdicts = takesNone(part) ? undefined : part.strategy.cachedDenial(part)
      return verdicts ? [{ policies: part.policies, verdicts }] : []
    })
    if (denied.length > 0) return denied

    const results = this.items.calls.isCircuitOpen
      ? await oneByOne(parts)
      : this.fair.loaded && parts.some(isFair)
        ? await this.fair.loaded.takeLast(parts)
        : await Promise.allSettled(parts.map((part) => take(part)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) {
      await waitAtMost(deadline.leftMs, giveBack(parts, results))
      throw failed.reason
    }
    const answers = (results as PromiseFulfilledResult<SubjectVerdicts>[]).map(({ value }) => value)
    if (answers.length === parts.length && allowedByAll(answers)) return answers
    await waitAtMost(deadline.leftMs, giveBack(parts, results))
    return answers.map((answer, i) => uncharged(parts[i]!, answer))
  }

  /**
   * Whether the store was asked of any of these subjects since then. In Lambda nothing goes on once the answer is
   * there, and who waited for it waits for more.
   */
  private hasSeen(charges: readonly Charge[], since: EpochMs): boolean {
    return charges.some(({ key }) => (this.items.view(key)?.seenAt ?? -Infinity) >= since)
  }

  private isSetupMistake({ reason }: StoreUnavailableError): boolean {
    return !this.items.calls.reached && SETUP_FAILURES.includes(reason)
  }
}
