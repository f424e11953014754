import type { Verdict, Verdicts } from '../algorithms/algorithm'
import { apply, type Fields } from '../algorithms/conditional-write'
import { lockedOutAs } from '../algorithms/lockout'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import type { Decider } from '../decider'
import { compose, type Decision } from '../decision'
import { ignoreUnavailable } from '../errors'
import { refundsOf } from '../give-back'
import type { FailureMode } from '../options'
import { type Charge, type ChargeTime, NO_UNITS, type Subject, takesNone, unitsOf } from '../request'
import { allStepsAllow, charged, type States, standAll, statesAfter, stepAll, verdictsOf } from '../steps'
import type { SubjectVerdicts } from '../view'
import { admit, count, end, type OutageCount, PendingCharges, verdictOf, withUnits } from './counts'
import { EvictedCounts } from './evicted-counts'

/** When a caller that is denied for want of a store may ask again, in milliseconds. */
const RETRY_AFTER_MS = 1000

/** Between two tries to write a subject's pending charges to the store, in milliseconds. */
const FLUSH_EVERY_MS = 1000

/**
 * What was last seen of a subject in the store, and counted in memory on top of it, under each policy; `undefined`
 * where nothing is known.
 */
export type LastSeen = (subject: Subject) => States

/**
 * Decides without the store.
 *
 * Under `local` all instances together admit, within a window, at most the limit and each its share of it, whatever the
 * store does: what an instance has admitted by itself stays counted here until its window ends, however often the store
 * comes and goes. Once the store answers again for a subject, what was admitted without it is written there.
 */
export class Fallback {
  private readonly evicted = new EvictedCounts()
  private readonly shares = new WeakMap<
    readonly CompiledPolicy[],
    { readonly share: number; readonly policies: readonly CompiledPolicy[] }
  >()

  constructor(
    private readonly items: Decider,
    private readonly lastSeen: LastSeen,
  ) {}

  /** @param share the part of each limit that this instance admits by itself, above 0 and up to 1. */
  decide(charges: readonly Charge[], mode: Exclude<FailureMode, 'throw'>, share: number): Decision {
    if (mode === 'local') return this.locally(charges, share)
    const allowed = mode === 'allow'
    const answers = charges.map((charge) => {
      const { policies } = charge
      const whole = stepAll([], policies, allowed ? charge : NO_UNITS, this.items.now())
      const verdicts: Verdicts = whole.map(({ verdict }, i) =>
        allowed || policies[i]!.nonBlocking
          ? { ...verdict, allowed: true, retryAfterMs: 0 }
          : { ...verdict, allowed, retryAfterMs: RETRY_AFTER_MS },
      )
      return { policies, verdicts }
    })
    return compose(answers, true)
  }

  /**
   * Writes to the store what was admitted here of these subjects, if it has answered for them since: at most one call
   * in a second for each. `undefined` where there is nothing to write.
   */
  flush(charges: readonly Charge[]): Promise<unknown> | undefined {
    const now = this.items.now()
    const flushed = charges.flatMap(({ key }) => {
      const record = this.items.subjects.get(key)
      if (!record?.outage) return []
      const { outage, view } = record
      if (isOver(outage, now)) record.outage = undefined
      if (outage.pending.isEmpty || !view || view.seenAt < outage.admittedAt) return []
      if (Math.abs(now - outage.flushedAt) < FLUSH_EVERY_MS) return []
      outage.flushedAt = now
      return [flushOne(outage)]
    })
    return flushed.length > 0 ? Promise.all(flushed) : undefined
  }

  /** Writes all of it to the store, as far as it can be asked: for a program that stops. */
  async close(): Promise<void> {
    const all = [...this.items.subjects].flatMap(([, { outage }]) => outage ?? [])
    await Promise.all(all.map(flushOne))
  }

  /** Gives back units that were admitted here and are not in the store; how many. The others are the store's. */
  giveBack(charge: Charge, charged: ChargeTime): number {
    const { key, policies, cost } = charge
    const local = this.countIn(key)
    if (!local || charged.at > local.admittedAt) return 0
    const units = local.pending.takeBack(policies, cost, charged.at)
    if (units === 0) return 0
    const counts = policies.map(({ prefix }) => local.counts.get(prefix)!)
    const own = counts.map(({ policy }) => policy)
    const states = counts.map(({ fields }) => fields)
    for (const { prefix, write } of refundsOf({ policies: own, cost: units }, states, charged, this.items.now())) {
      const { policy, fields } = local.counts.get(prefix)!
      count(local, policy, apply(write, fields))
    }
    return units
  }

  /** Ends what a request holds that was admitted here; false where it holds nothing. */
  end(key: string, id: string): boolean {
    const local = this.countIn(key)
    return local !== undefined && end(local, id, this.items.now())
  }

  private locally(charges: readonly Charge[], share: number): Decision {
    const now = this.items.now()
    const answers: SubjectVerdicts[] = []
    const before: SubjectVerdicts[] = [] // how those stand that are not charged after all
    const after: (() => void)[] = []
    const current = new Map<string, Fields>() // a subject may be charged more than once
    for (const charge of charges) {
      const { key, policies } = charge
      const own = this.shareOf(policies, share)
      const local = this.countOf(key)
      this.seedFromCache(charge, local, own, share, now)
      const states = own.map(({ prefix }) => current.get(`${key} ${prefix}`) ?? local.counts.get(prefix)!.fields)
      const steps = stepAll(states, own, charge, now)
      const verdicts = verdictsOf(steps, states, own, now).map((verdict) =>
        takesNone(charge) ? verdict : charged(verdict, now),
      )
      answers.push({
        policies,
        verdicts: verdicts.map((verdict, i) =>
          unitsOf(charge, policies[i]!) > policies[i]!.limit ? verdict : passable(verdict),
        ),
      })
      if (!allStepsAllow(steps)) {
        for (const [i, { verdict, write }] of steps.entries())
          if (!verdict.allowed && write) count(local, own[i]!, apply(write, states[i]!))
        return compose([...before, answers.at(-1)!], true, answers.length < charges.length)
      }
      before.push({ policies, verdicts: standAll(states, own, now) })
      const counted = statesAfter(states, steps)
      for (const [i, { prefix }] of own.entries()) current.set(`${key} ${prefix}`, counted[i]!)
      // another of them may have had it evicted, where they are more than `maxSubjects`
      if (!takesNone(charge)) after.push(() => admit(this.countOf(key), charge, own, counted, now))
    }
    for (const admitted of after) admitted()
    return compose(answers, true)
  }

  private shareOf(policies: readonly CompiledPolicy[], share: number): readonly CompiledPolicy[] {
    if (share >= 1 && policies.every(({ counter }) => !counter.unlocked)) return policies
    let own = this.shares.get(policies)
    if (own?.share !== share) own = { share, policies: policies.map((policy) => policy.shareOf(share)) }
    this.shares.set(policies, own)
    return own.policies
  }

  private countIn(key: string): OutageCount | undefined {
    return this.items.subjects.get(key)?.outage
  }

  private countOf(key: string): OutageCount {
    const record = this.items.subjects.of(key)
    record.outage ??= {
      counts: new Map(),
      pending: new PendingCharges((late) => this.items.chargeLate(key, late)),
      admittedAt: -Infinity,
      flushedAt: -Infinity,
      onEvicted: ({ counts }) => this.rememberUsed(key, counts),
    }
    return record.outage
  }

  private rememberUsed(key: string, counts: OutageCount['counts']): void {
    const now = this.items.now()
    for (const [prefix, { policy, fields }] of counts) {
      const { remaining, resetAfterMs } = verdictOf(policy, fields, now)
      const whole = verdictOf(policy, {}, now).remaining
      this.evicted.remember(`${key} ${prefix}`, (whole - remaining) / whole, now + resetAfterMs, now)
    }
  }

  /**
   * An outage begins with this instance's share of what was left when the store was last seen: the count is raised to
   * that, and never lowered. Who was locked out stays so.
   */
  private seedFromCache(
    subject: Subject,
    local: OutageCount,
    own: readonly CompiledPolicy[],
    share: number,
    now: EpochMs,
  ): void {
    const { key, policies } = subject
    const seen = this.lastSeen(subject)
    for (const [i, mine] of own.entries()) {
      const known = local.counts.get(mine.prefix)
      const fields = known?.fields ?? {}
      const left = verdictOf(mine, fields, now).remaining
      const most = Math.min(
        known ? Infinity : left - Math.ceil(left * this.evicted.usedOf(`${key} ${mine.prefix}`, now)),
        seen[i] ? part(verdictOf(policies[i]!, seen[i], now).remaining, share) : Infinity,
      )
      const counted = withUnits(mine, fields, seen[i], Math.max(0, left - most), now)
      count(local, mine, seen[i] ? lockedOutAs(seen[i], counted) : counted)
    }
  }
}

const part = (units: number, share: number): number => (units === 0 ? 0 : Math.max(1, Math.floor(units * share)))

/** Whether all windows are over and all is written, so that nothing of it matters any more. */
const isOver = ({ counts, pending }: OutageCount, now: EpochMs): boolean =>
  pending.isEmpty &&
  [...counts.values()].every(({ policy, fields }) => verdictOf(policy, fields, now).resetAfterMs === 0)

/** What cannot be written now is written later, or does not count any more by then. */
async function flushOne({ pending }: OutageCount): Promise<void> {
  try {
    await pending.flush()
  } catch (error) {
    ignoreUnavailable(error)
  }
}

/** What would pass were it not for the share passes once the store can be asked again. */
const passable = (verdict: Verdict): Verdict =>
  verdict.retryAfterMs === Infinity ? { ...verdict, retryAfterMs: RETRY_AFTER_MS } : verdict
