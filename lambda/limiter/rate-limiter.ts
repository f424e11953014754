import { type Clock, type EpochMs, systemClock } from '../clock'
import type { Decision } from '../decision'
import { CostError, StoreUnavailableError } from '../errors'
import type { StateStore } from '../state/store'
import type { Charge } from './charge'
import { type Answer, compose } from './compose'
import type { OnEvent } from './events'
import { type FailureMode, Fallback } from './fallback'
import { allAllow, type Verdicts } from './plan'
import { SharedWrites } from './shared-writes'
import { TakeLoop } from './take-loop'

export interface RateLimiterOptions {
  readonly store: StateStore
  /** @default the system's clock */
  readonly clock?: Clock
  /** Time for one decision, in milliseconds. @default 300 */
  readonly deadlineMs?: number
  /** The same for the first, which has to connect. @default 2000, or the deadline if that is longer */
  readonly firstDeadlineMs?: number
  /** How long a known denial is answered from memory before it is looked up again, in milliseconds. @default 5000 */
  readonly denialTtlMs?: number
  /** Subjects whose state is remembered, about a kilobyte each. @default 50,000 */
  readonly maxSubjects?: number
  /** @default 'local' */
  readonly onStoreError?: FailureMode
  /** Told what happens on the way to decisions, for metrics. @default nobody is told */
  readonly onEvent?: OnEvent
}

/** Decides requests over any number of subjects, each with policies of its own. Policies that are the same array can share a write. */
export class RateLimiter {
  private readonly loop: TakeLoop
  private readonly writes: SharedWrites
  private readonly fallback: Fallback | undefined

  constructor(options: RateLimiterOptions) {
    const { store, clock = systemClock, deadlineMs = 300, denialTtlMs = 5000, maxSubjects = 50_000, onStoreError = 'local' } = options
    const { onEvent = () => {} } = options
    const firstDeadlineMs = options.firstDeadlineMs ?? Math.max(2000, deadlineMs)
    const loopOptions = { store, clock, deadlineMs, firstDeadlineMs, denialTtlMs, maxSubjects, onEvent }
    this.loop = new TakeLoop(loopOptions)
    this.writes = new SharedWrites(this.loop)
    this.fallback = onStoreError === 'throw' ? undefined : new Fallback(onStoreError, () => this.loop.now(), loopOptions)
  }

  /**
   * Charges all subjects or none: what a denied request has already taken from its other subjects is given back.
   *
   * A store that cannot be asked leaves the decision to the failure mode; only a table that was never there, or that never let us in, is a mistake
   * of the set-up and thrown.
   */
  async decide(charges: readonly Charge[]): Promise<Decision> {
    for (const { cost } of charges) checkCost(cost, 0)
    try {
      return compose(await this.ask(charges))
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || !this.fallback || this.isSetupMistake(error)) throw error
      return this.fallback.decide(charges)
    }
  }

  /** What `decide` would say, taking nothing. */
  async peek(charges: readonly Charge[]): Promise<Decision> {
    for (const { cost } of charges) checkCost(cost, 0)
    return compose(await Promise.all(charges.map((charge) => this.look(charge))))
  }

  /** Gives back units that were charged just now, or at `chargedAt`. */
  async refund({ key, policies, cost }: Charge, chargedAt?: EpochMs): Promise<void> {
    checkCost(cost, 1)
    await this.loop.refund(key, policies, cost, chargedAt)
  }

  /** Forgets a subject: all its quotas are whole. Other instances notice within their `denialTtlMs`. */
  async reset(key: string): Promise<void> {
    await this.loop.reset(key)
  }

  private async ask(charges: readonly Charge[]): Promise<Answer[]> {
    if (charges.length === 1) return [await this.charge(charges[0]!)]
    const foreseen = charges.map(({ key, policies, cost }) => (cost > 0 ? this.loop.foreseen(key, policies, cost) : undefined))
    const refused = charges.flatMap(({ policies }, i): Answer[] => (foreseen[i] ? [{ policies, verdicts: foreseen[i] }] : []))
    if (refused.length > 0) return refused

    const chargedAt = this.loop.now()
    const results = await Promise.allSettled(charges.map((charge) => this.charge(charge)))
    const failed = results.find((result) => result.status === 'rejected')
    const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    if (failed || answers.some(({ verdicts }) => !allAllow(verdicts))) await this.giveBack(charges, results, chargedAt)
    if (failed) throw failed.reason
    return answers
  }

  private async charge({ key, policies, cost }: Charge): Promise<Answer> {
    const verdicts = await (cost === 0 ? this.loop.look(key, policies, 0) : this.writes.take(key, policies, cost))
    return { policies, verdicts }
  }

  private async look({ key, policies, cost }: Charge): Promise<Answer> {
    return { policies, verdicts: await this.loop.look(key, policies, cost) }
  }

  /** A refund that fails leaves the subject with less than its due, never with more. */
  private async giveBack(charges: readonly Charge[], results: readonly PromiseSettledResult<Answer>[], chargedAt: EpochMs): Promise<void> {
    const charged = charges.filter(({ cost }, i) => cost > 0 && results[i]!.status === 'fulfilled' && allAllow(verdictsIn(results[i]!)))
    await Promise.allSettled(charged.map((charge) => this.loop.refund(charge.key, charge.policies, charge.cost, chargedAt)))
  }

  private isSetupMistake({ reason }: StoreUnavailableError): boolean {
    return !this.loop.reached && (reason === 'missing-table' || reason === 'refused')
  }
}

const verdictsIn = (result: PromiseSettledResult<Answer>): Verdicts => (result.status === 'fulfilled' ? result.value.verdicts : [])

function checkCost(cost: number, least: 0 | 1): void {
  if (!Number.isSafeInteger(cost) || cost < least) throw new CostError(cost, least)
}
