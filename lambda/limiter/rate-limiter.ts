import { type Clock, type EpochMs, systemClock } from '../clock'
import type { Decision } from '../decision'
import { CostError, StoreUnavailableError } from '../errors'
import type { StateStore } from '../state/store'
import type { Charge } from './charge'
import { type Answer, compose } from './compose'
import type { OnEvent } from './events'
import { type FailureMode, Fallback } from './fallback'
import { allAllow, isCharged, type Verdicts } from './plan'
import { TakeLoop } from './take-loop'
import { type Part, Ways } from './ways'

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
  /**
   * The share of each limit that this instance admits by itself while the store cannot be asked, above 0 and up to 1: one part in as many as there are instances.
   * @default 1
   */
  readonly localShare?: number
  /** Told what happens on the way to decisions, for metrics. @default nobody is told */
  readonly onEvent?: OnEvent
}

/** How one decision is made where the store cannot be asked; what is not given is as in the limiter's options. */
export type WithoutStore = Pick<RateLimiterOptions, 'onStoreError' | 'localShare'>

/** Decides requests over any number of subjects, each with policies of its own. Policies that are the same array can share a write. */
export class RateLimiter {
  private readonly loop: TakeLoop
  private readonly ways: Ways
  private readonly fallback: Fallback
  private readonly withoutStore: Required<WithoutStore>
  private readonly deadlineMs: number

  constructor(options: RateLimiterOptions) {
    const { store, clock = systemClock, deadlineMs = 300, denialTtlMs = 5000, maxSubjects = 50_000, onEvent = () => {} } = options
    const { onStoreError = 'local', localShare = 1 } = options
    const firstDeadlineMs = options.firstDeadlineMs ?? Math.max(2000, deadlineMs)
    const loopOptions = { store, clock, deadlineMs, firstDeadlineMs, denialTtlMs, maxSubjects, onEvent }
    this.loop = new TakeLoop(loopOptions)
    this.ways = new Ways(this.loop, maxSubjects, onEvent)
    this.fallback = new Fallback(this.loop, loopOptions)
    this.withoutStore = { onStoreError, localShare }
    this.deadlineMs = deadlineMs
  }

  /**
   * Charges all subjects or none: what a denied request has already taken from its other subjects is given back.
   *
   * A store that cannot be asked leaves the decision to the failure mode; only a table that was never there, or that never let us in, is a mistake
   * of the set-up and thrown.
   */
  async decide(charges: readonly Charge[], withoutStore: WithoutStore = {}): Promise<Decision> {
    for (const { cost } of charges) checkCost(cost, 0)
    try {
      return compose(await this.ask(charges))
    } catch (error) {
      const { onStoreError = this.withoutStore.onStoreError, localShare = this.withoutStore.localShare } = withoutStore
      if (!(error instanceof StoreUnavailableError) || onStoreError === 'throw' || this.isSetupMistake(error)) throw error
      return this.fallback.decide(charges, onStoreError, localShare)
    }
  }

  /** What `decide` would say, taking nothing. */
  async peek(charges: readonly Charge[]): Promise<Decision> {
    for (const { cost } of charges) checkCost(cost, 0)
    return compose(await Promise.all(this.partsOf(charges).map((part) => look(part))))
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

  /** Gives back units that were taken ahead, and tells the store what was counted in memory, for a program that stops. */
  async close(): Promise<void> {
    await this.ways.close()
  }

  private partsOf(charges: readonly Charge[]): Part[] {
    return charges.flatMap((charge) => this.ways.partsOf(charge))
  }

  private async ask(charges: readonly Charge[]): Promise<Answer[]> {
    const parts = this.partsOf(charges)
    if (parts.length === 1) return [await take(parts[0]!)]
    const refused = parts.flatMap(({ way, key, policies, cost }): Answer[] => {
      const verdicts = cost > 0 ? way.foreseen(key, policies, cost) : undefined
      return verdicts ? [{ policies, verdicts }] : []
    })
    if (refused.length > 0) return refused

    const [chargedAt, startedAt] = [this.loop.now(), performance.now()]
    const results = await Promise.allSettled(parts.map((part) => take(part)))
    const failed = results.find((result) => result.status === 'rejected')
    const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    if (failed || answers.some(({ verdicts }) => !allAllow(verdicts))) {
      await within(this.deadlineMs - (performance.now() - startedAt), giveBack(parts, results, chargedAt))
    }
    if (failed) throw failed.reason
    return answers
  }

  private isSetupMistake({ reason }: StoreUnavailableError): boolean {
    return !this.loop.reached && (reason === 'missing-table' || reason === 'refused')
  }
}

async function take({ way, key, policies, cost }: Part): Promise<Answer> {
  return { policies, verdicts: await (cost === 0 ? way.look(key, policies, 0) : way.take(key, policies, cost)) }
}

async function look({ way, key, policies, cost }: Part): Promise<Answer> {
  return { policies, verdicts: await way.look(key, policies, cost) }
}

/** What cannot be given back leaves the subject with less than its due, never with more. */
async function giveBack(parts: readonly Part[], results: readonly PromiseSettledResult<Answer>[], chargedAt: EpochMs): Promise<void> {
  const refunds = parts.map(async ({ way, key, policies, cost }, i) => {
    const verdicts = verdictsIn(results[i]!)
    if (cost === 0 || verdicts.length === 0 || !allAllow(verdicts)) return
    const charged = policies.filter((_, j) => isCharged(verdicts[j]!))
    if (charged.length > 0) await way.giveBack(key, charged, cost, chargedAt)
  })
  await Promise.allSettled(refunds)
}

/** Waits for what is under way, and no longer than that; it goes on by itself. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms))
  })
  await Promise.race([work, end])
  clearTimeout(timer)
}

const verdictsIn = (result: PromiseSettledResult<Answer>): Verdicts => (result.status === 'fulfilled' ? result.value.verdicts : [])

function checkCost(cost: number, least: 0 | 1): void {
  if (!Number.isSafeInteger(cost) || cost < least) throw new CostError(cost, least)
}
