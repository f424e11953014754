import * as v from 'valibot'
import { toUnits } from './check-charge'
import { type Clock, toEpochMs } from './clock'
import type { Charge } from './consistency/strategy'
import type { Decision, Standing } from './decision'
import { ConfigError, Mistake } from './errors'
import { onAbort } from './on-abort'
import { checkOptions, type FieldRules } from './policies/report'
import { unitsOf } from './units'
import { type Charger, WaitQueue } from './wait-queue'

/** How long a request waits. */
export interface WaitLimits {
  /**
   * The longest wait, in milliseconds, for units and for a queue's slot; a decision that is under way then is waited
   * for. 0 asks once. @default as long as it takes
   */
  readonly maxWaitMs?: number
  /** Ends the wait: the promise is rejected with its `reason`. @default nothing does */
  readonly signal?: AbortSignal
}

/** Node's timers take no more: 24 days. */
const LONGEST_MS = 2 ** 31 - 1

const RULES = {
  cost: { schema: v.any(), wanted: 'whole units', optional: true }, // checked with the charge
  costs: { schema: v.any(), wanted: 'whole units by name', optional: true },
  maxWaitMs: {
    schema: v.pipe(v.number(), v.minValue(0), v.maxValue(LONGEST_MS)),
    wanted: `milliseconds from 0 to ${LONGEST_MS}`,
    optional: true,
  },
  signal: {
    schema: v.custom<AbortSignal>((signal) => signal instanceof AbortSignal),
    wanted: 'an AbortSignal',
    optional: true,
  },
} as const satisfies FieldRules

/** @throws ConfigError with every mistake in the options. */
export const checkWaitOptions = (options: unknown): void => checkOptions(options, RULES)

/** Lets requests wait for their turn, a queue for each subject. */
export class WaitQueues {
  private readonly queues = new Map<string, WaitQueue>()
  private readonly returning = new Set<Promise<void>>()

  /** @param lookAgainMs how often a request looks for what other processes gave back. */
  constructor(
    private readonly charger: Charger,
    private readonly clock: Clock,
    private readonly lookAgainMs: number,
  ) {}

  /** See `Limiter.waitFor`. */
  async waitFor(given: Charge, { maxWaitMs = Infinity, signal }: WaitLimits): Promise<Decision> {
    checkLocksNobodyOut(given)
    const charge = { ...given, costs: given.costs && { ...given.costs } } // its caller may change it meanwhile
    const units = toUnits(charge)
    signal?.throwIfAborted()
    if (this.canNeverPass(units)) return this.charger.decide([charge])
    const startedAt = performance.now()
    const decision = await this.queueOf(charge.key).join(charge, maxWaitMs, signal)
    if (!decision.allowed || decision.delayMs === 0) return decision
    const leftMs = Math.max(0, maxWaitMs - (performance.now() - startedAt))
    if (decision.delayMs > leftMs) {
      await this.giveBack(charge, decision)
      return tooLate(decision, leftMs)
    }
    if (!(await passes(decision.delayMs, signal))) {
      void this.giveBack(charge, decision)
      throw signal!.reason
    }
    return decision
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
        (charge, decision) => void this.giveBack(charge, decision),
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
    const now = toEpochMs(this.clock())
    return units.policies.some(
      (policy) => policy.counter.step({}, unitsOf(units, policy), now).verdict.retryAfterMs === Infinity,
    )
  }
}

/** A request that waits would be denied while it does. */
function checkLocksNobodyOut({ policies }: Charge): void {
  const locking = policies.find(({ counter }) => counter.unlocked)
  if (!locking) return
  const message = `blockFor does not go with waitFor, which policy "${locking.name}" would lock out: use take`
  throw new ConfigError([new Mistake('fields_conflict', message)])
}

/** @returns whether that time has passed; not if the signal was aborted before. */
function passes(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const end = (hasPassed: boolean): void => {
      clearTimeout(timer)
      ignore()
      resolve(hasPassed)
    }
    const timer = setTimeout(() => end(true), ms)
    const ignore = onAbort(signal, () => end(false))
  })
}

/** The denial of a request whose slot in a queue lies later than it would wait. */
function tooLate(decision: Decision, leftMs: number): Decision {
  const late = ({ delayMs }: Standing): boolean => delayMs > leftMs
  const deny = (standing: Standing): Standing => ({
    ...standing,
    allowed: false,
    delayMs: 0,
    retryAfterMs: Math.ceil(standing.delayMs - leftMs),
  })
  const policies = Object.entries(decision.policies).map(
    ([name, standing]) => [name, late(standing) ? deny(standing) : standing] as const,
  )
  const [policy, standing] = policies.find(([, { allowed }]) => !allowed)!
  return {
    ...decision,
    ...standing,
    policy,
    retryAfterMs: Math.ceil(decision.delayMs - leftMs),
    chargedAt: null,
    waitMs: 0,
    overrun: false,
    observed: false,
    priority: 'normal',
    policies: Object.fromEntries(policies),
  }
}
