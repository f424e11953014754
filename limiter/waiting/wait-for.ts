import * as v from 'valibot'
import type { CompiledPolicy } from '../compiled-policy'
import { onAbort } from '../deadline'
import type { Decision } from '../decision'
import { ConfigError, Mistake } from '../errors'
import type { WaitLimits } from '../limiter'
import { checkOptions, type FieldRules } from '../policies/report'
import type { RateLimiter } from '../rate-limiter'
import { type Charge, toUnits, unitsOf } from '../request'
import { WaitQueue } from './wait-queue'

/** Node's timers take no more: 24 days. */
const MAX_MS = 2 ** 31 - 1

const RULES = {
  cost: { schema: v.any(), wanted: 'whole units', optional: true }, // checked with the charge
  costs: { schema: v.any(), wanted: 'whole units by name', optional: true },
  maxWaitMs: {
    schema: v.pipe(v.number(), v.minValue(0), v.maxValue(MAX_MS)),
    wanted: `milliseconds from 0 to ${MAX_MS}`,
    optional: true,
  },
  lagMs: {
    schema: v.pipe(v.number(), v.minValue(1), v.maxValue(60_000)),
    wanted: 'milliseconds from 1 to 60000',
    optional: true,
  },
  signal: {
    schema: v.custom<AbortSignal>((signal) => signal instanceof AbortSignal),
    wanted: 'an AbortSignal',
    optional: true,
  },
} as const satisfies FieldRules

/** By how much a request may leave later than its lag says, in milliseconds, for timers are no more precise. */
const maxLateMs = (lagMs: number): number => Math.max(5, lagMs / 4)

/** Lets requests wait for their turn, a queue for each subject. */
export class WaitQueues {
  private readonly queues = new Map<string, WaitQueue>()
  private readonly returning = new Set<Promise<void>>()

  /** @param lookAgainMs how often a request looks for what other processes gave back. */
  constructor(
    private readonly charger: Pick<RateLimiter, 'now' | 'decide' | 'refund' | 'lastSeen' | 'probeSoon'>,
    private readonly lookAgainMs: number,
  ) {}

  /**
   * See `Limiter.waitFor`.
   *
   * @param given what is charged, once the options are checked.
   * @throws ConfigError with every mistake in the options.
   */
  async waitFor(options: WaitLimits, given: () => Charge): Promise<Decision> {
    checkOptions(options, RULES)
    const { maxWaitMs = Infinity, lagMs, signal } = options
    const charge = { ...given(), isPaced: true }
    checkLocksNobodyOut(charge)
    if (lagMs !== undefined) checkSpaced(charge)
    const units = toUnits(charge)
    signal?.throwIfAborted()
    if (this.canNeverPass(units)) return this.charger.decide([charge])
    const waitsUntil = { dueAt: performance.now() + maxWaitMs, signal }
    for (let hasMissed = false; ; hasMissed = true) {
      const { decision, charge: by } = await this.queueOf(charge.key).join(charge, waitsUntil, hasMissed)
      if (lagMs === undefined || decision.chargedAt === null) return decision
      const leavesAt = decision.chargedAt + decision.delayMs + lagMs
      const isWaited = await passes(leavesAt - this.charger.now(), signal)
      if (isWaited && this.charger.now() - leavesAt <= maxLateMs(lagMs)) return decision
      const isBack = this.giveBack(by, decision)
      if (!isWaited) throw signal!.reason
      await isBack
    }
  }

  /** Units of the subject may have come back: whoever is first asks now. */
  wake(key: string): void {
    this.queues.get(key)?.wake()
  }

  /** Resolves once what was charged for aborted requests is given back. */
  async close(): Promise<void> {
    await Promise.all(this.returning)
  }

  private queueOf(key: string): WaitQueue {
    const queue =
      this.queues.get(key) ??
      new WaitQueue(
        this.charger,
        this.lookAgainMs,
        (charge, decision) => this.giveBack(charge, decision),
        () => this.queues.delete(key),
      )
    this.queues.set(key, queue)
    return queue
  }

  /** What cannot be given back stays charged: the subject gets less than its due, never more. */
  private async giveBack(charge: Charge, { chargedAt, delayMs }: Decision): Promise<void> {
    if (chargedAt === null) return
    const refund = this.charger.refund(charge, { chargedAt, delayMs }).catch(() => {})
    this.returning.add(refund)
    await refund
    this.returning.delete(refund)
    this.wake(charge.key)
  }

  /** Whether not even a subject that has used nothing may take so much at once. */
  private canNeverPass(units: Charge): boolean {
    const now = this.charger.now()
    return units.policies.some(
      (policy) => policy.counter.step({}, unitsOf(units, policy), now).verdict.retryAfterMs === Infinity,
    )
  }
}

/** Calls that go at once are crowded on their way, whatever time they leave. */
function checkSpaced({ policies }: Charge): void {
  const wanted =
    'lagMs needs policies that space calls (sliding-log, a leaky-bucket in mode "queue", or burst 1), ' +
    'strict, without action or overrun'
  const crowding = policies.find(({ isSpaced }) => !isSpaced)
  if (crowding) throw new ConfigError([new Mistake('fields_conflict', `${wanted}; got policy "${crowding.name}"`)])
  const [log, queue] = [policies.find(({ drains }) => !drains), policies.find(isQueue)]
  if (!log || !queue) return
  const message = `lagMs does not go with mode "queue" beside a sliding-log, got policy "${queue.name}"`
  throw new ConfigError([new Mistake('fields_conflict', message)])
}

const isQueue = ({ written }: CompiledPolicy): boolean => 'mode' in written && written.mode === 'queue'

/** @returns whether that time has passed; not if the signal was aborted before. */
function passes(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false)
  if (ms <= 0) return Promise.resolve(true)
  return new Promise((resolve) => {
    const end = (hasPassed: boolean): void => {
      clearTimeout(timer)
      ignore()
      resolve(hasPassed)
    }
    const timer = setTimeout(() => end(true), Math.ceil(ms))
    const ignore = onAbort(signal, () => end(false))
  })
}

/** A request that waits would be denied while it does. */
function checkLocksNobodyOut({ policies }: Charge): void {
  const locking = policies.find(({ counter }) => counter.unlocked)
  if (!locking) return
  const message = `blockFor does not go with waitFor, which policy "${locking.name}" would lock out: use take`
  throw new ConfigError([new Mistake('fields_conflict', message)])
}
