import { apply, type Fields } from './algorithms/conditional-write'
import type { Charge } from './charge'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import { type Answer, compose } from './compose'
import type { Charged } from './consistency/strategy'
import type { Decision } from './decision'
import { StoreUnavailableError } from './errors'
import { ForgottenCounts } from './evicted-counts'
import { Untold } from './pending-charges'
import { allStepsAllow, charged, type States, statesAfter, stepAll, type Verdicts, verdictsOf } from './plan'
import { refundsOf } from './refunds'
import type { TakeLoop } from './take-loop'

/**
 * What to answer when the store cannot be asked; every such decision says `degraded`.
 * - `local`: the same policies, counted in this instance's memory, which admits its share of each limit.
 * - `allow`: let everything pass.
 * - `deny`: let nothing pass.
 * - `throw`: no answer, the caller gets the `StoreUnavailableError`.
 */
export type FailureMode = 'local' | 'allow' | 'deny' | 'throw'
export const FAILURE_MODES: readonly FailureMode[] = ['local', 'allow', 'deny', 'throw']

/** When a caller turned away for want of a store may ask again. */
const RETRY_AFTER_MS = 1000

/** From one try to tell the store of a subject to the next. */
const TELL_EVERY_MS = 1000

/** What this instance admitted of a subject by itself. */
interface LocalCount {
  /** By the policy's code. Only time and refunds make any of it smaller. */
  readonly counts: Map<string, { policy: CompiledPolicy; fields: Fields }>
  readonly untold: Untold
  /** When the last unit was admitted here. */
  admittedAt: EpochMs
  toldAt: EpochMs
}

/**
 * What was last seen of a subject in the store, and counted in memory on top of it, under each policy; `undefined`
 * where nothing is known.
 */
export type LastSeen = (key: string, policies: readonly CompiledPolicy[]) => States

/**
 * Decides without the store.
 *
 * Under `local` all instances together admit, within a window, at most the limit and each its share of it, whatever the
 * store does: what an instance has admitted by itself stays counted here until its window ends, however often the store
 * comes and goes. Once the store answers again for a subject it is told what was admitted without it.
 */
export class Fallback {
  /** The subject asked for longest ago first. */
  private readonly subjects = new Map<string, LocalCount>()
  private readonly forgotten = new ForgottenCounts()
  private readonly shares = new WeakMap<
    readonly CompiledPolicy[],
    { readonly share: number; readonly policies: readonly CompiledPolicy[] }
  >()

  constructor(
    private readonly loop: TakeLoop,
    private readonly lastSeen: LastSeen,
    private readonly maxSubjects: number,
  ) {}

  /** @param share the part of each limit that this instance admits by itself, above 0 and up to 1. */
  decide(charges: readonly Charge[], mode: Exclude<FailureMode, 'throw'>, share: number): Decision {
    if (mode === 'local') {
      const decision = this.locally(charges, share)
      while (this.subjects.size > this.maxSubjects) this.forgetOldest()
      return decision
    }
    const allowed = mode === 'allow'
    const answers = charges.map(({ policies, cost }) => {
      const whole = stepAll([], policies, allowed ? cost : 0, this.loop.now())
      const verdicts: Verdicts = whole.map(({ verdict }, i) =>
        allowed || policies[i]!.lenient
          ? { ...verdict, allowed: true, retryAfterMs: 0 }
          : { ...verdict, allowed, retryAfterMs: RETRY_AFTER_MS },
      )
      return { policies, verdicts }
    })
    return compose(answers, true)
  }

  /**
   * Tells the store what was admitted here of these subjects, if it has answered for them since: at most one call in a
   * second for each. `undefined` where there is nothing to tell.
   */
  tell(charges: readonly Charge[]): Promise<unknown> | undefined {
    if (this.subjects.size === 0) return undefined
    const now = this.loop.now()
    this.dropWhole(now)
    const told = charges.flatMap(({ key }) => {
      const local = this.subjects.get(key)
      const view = this.loop.view(key)
      if (!local || local.untold.isEmpty || !view || view.seenAt < local.admittedAt) return []
      if (Math.abs(now - local.toldAt) < TELL_EVERY_MS) return []
      local.toldAt = now
      return [tellOne(this.loop, key, local.untold)]
    })
    return told.length > 0 ? Promise.all(told) : undefined
  }

  /** Tells the store all of it, as far as it can be asked: for a program that stops. */
  async close(): Promise<void> {
    await Promise.all([...this.subjects].map(([key, { untold }]) => tellOne(this.loop, key, untold)))
  }

  /**
   * Gives back units that were admitted here, and that the store has not been told of; how many. The others are the
   * store's.
   */
  giveBack({ key, policies, cost }: Charge, when: Charged): number {
    const local = this.subjects.get(key)
    if (!local || when.at > local.admittedAt) return 0
    const units = local.untold.takeBack(policies, cost, when.at)
    if (units === 0) return 0
    const counts = policies.map(({ code }) => local.counts.get(code)!)
    const own = counts.map(({ policy }) => policy)
    const states = counts.map(({ fields }) => fields)
    for (const { code, write } of refundsOf(own, states, units, when, this.loop.now())) {
      const { policy, fields } = local.counts.get(code)!
      count(local, policy, apply(write, fields))
    }
    return units
  }

  /** Forgets a subject that is reset. Resolves once nothing of it is on its way to the store. */
  async forget(key: string): Promise<void> {
    const local = this.subjects.get(key)
    this.subjects.delete(key)
    await local?.untold.quiet()
  }

  private locally(charges: readonly Charge[], share: number): Decision {
    const now = this.loop.now()
    const answers: Answer[] = []
    const before: Answer[] = [] // how those stand that are not charged after all
    const after: (() => void)[] = []
    const current = new Map<string, Fields>() // a subject may be charged more than once
    for (const { key, policies, cost } of charges) {
      const own = this.shareOf(policies, share)
      const local = this.localCount(key)
      this.raise(key, local, policies, own, share, now)
      const states = own.map(({ code }) => current.get(`${key} ${code}`) ?? local.counts.get(code)!.fields)
      const steps = stepAll(states, own, cost, now)
      const verdicts = verdictsOf(steps, states, own, now).map((verdict) =>
        cost > 0 ? charged(verdict, now) : verdict,
      )
      answers.push({
        policies,
        verdicts: verdicts.map((verdict, i) => (cost > policies[i]!.limit ? verdict : passable(verdict))),
      })
      if (!allStepsAllow(steps)) {
        for (const [i, { verdict, write }] of steps.entries())
          if (!verdict.allowed && write) count(local, own[i]!, apply(write, states[i]!))
        return compose([...before, answers.at(-1)!], true, answers.length < charges.length)
      }
      before.push({ policies, verdicts: stepAll(states, own, 0, now).map(({ verdict }) => verdict) })
      const counted = statesAfter(states, steps)
      for (const [i, { code }] of own.entries()) current.set(`${key} ${code}`, counted[i]!)
      if (cost > 0) after.push(() => admit(local, policies, own, counted, cost, now))
    }
    for (const admitted of after) admitted()
    return compose(answers, true)
  }

  private shareOf(policies: readonly CompiledPolicy[], share: number): readonly CompiledPolicy[] {
    if (share >= 1) return policies
    let own = this.shares.get(policies)
    if (own?.share !== share) own = { share, policies: policies.map((policy) => policy.shareOf(share)) }
    this.shares.set(policies, own)
    return own.policies
  }

  private localCount(key: string): LocalCount {
    const local = this.subjects.get(key) ?? {
      counts: new Map(),
      untold: new Untold(),
      admittedAt: -Infinity,
      toldAt: -Infinity,
    }
    this.subjects.delete(key)
    this.subjects.set(key, local)
    return local
  }

  /** One subject whose windows are over, so that nothing is kept for ever. */
  private dropWhole(now: EpochMs): void {
    const [[key, { counts, untold }]] = this.subjects as Iterable<[string, LocalCount]> as [[string, LocalCount]]
    const isWhole = [...counts.values()].every(
      ({ policy, fields }) => verdictOf(policy, fields, now).resetAfterMs === 0,
    )
    if (isWhole && untold.isEmpty) this.subjects.delete(key)
  }

  private forgetOldest(): void {
    const now = this.loop.now()
    const [[key, { counts }]] = this.subjects as Iterable<[string, LocalCount]> as [[string, LocalCount]]
    this.subjects.delete(key)
    for (const [code, { policy, fields }] of counts) {
      const { remaining, resetAfterMs } = verdictOf(policy, fields, now)
      const whole = verdictOf(policy, {}, now).remaining
      if (remaining < whole)
        this.forgotten.remember(`${key} ${code}`, (whole - remaining) / whole, now + resetAfterMs, now)
    }
  }

  /**
   * An outage begins with this instance's share of what was left when the store was last seen: the count is raised to
   * that, and never lowered.
   */
  private raise(
    key: string,
    local: LocalCount,
    policies: readonly CompiledPolicy[],
    own: readonly CompiledPolicy[],
    share: number,
    now: EpochMs,
  ): void {
    const seen = this.lastSeen(key, policies)
    for (const [i, mine] of own.entries()) {
      const known = local.counts.get(mine.code)
      const fields = known?.fields ?? {}
      const left = verdictOf(mine, fields, now).remaining
      const most = Math.min(
        known ? Infinity : left - Math.ceil(left * this.forgotten.usedOf(`${key} ${mine.code}`, now)),
        seen[i] ? part(verdictOf(policies[i]!, seen[i], now).remaining, share) : Infinity,
      )
      const { write } = mine.algorithm.step(fields, mine.quota, Math.max(0, left - most), now)
      count(local, mine, write ? apply(write, fields) : fields)
    }
  }
}

const verdictOf = ({ algorithm, quota }: CompiledPolicy, fields: Fields, now: EpochMs) =>
  algorithm.step(fields, quota, 0, now).verdict

const part = (units: number, share: number): number => (units === 0 ? 0 : Math.max(1, Math.floor(units * share)))

const count = (local: LocalCount, policy: CompiledPolicy, fields: Fields): void =>
  void local.counts.set(policy.code, { policy, fields })

function admit(
  local: LocalCount,
  policies: readonly CompiledPolicy[],
  own: readonly CompiledPolicy[],
  counted: States,
  cost: number,
  now: EpochMs,
): void {
  for (const [i, policy] of policies.entries()) {
    count(local, own[i]!, counted[i]!)
    local.untold.add(policy, cost, now)
  }
  local.admittedAt = now
}

/** What cannot be told now is told later, or has no weight any more by then. */
async function tellOne(loop: TakeLoop, key: string, untold: Untold): Promise<void> {
  try {
    await untold.tell(loop, key)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}

/** What would pass were it not for the share passes once the store can be asked again. */
const passable = (verdict: Verdicts[number]): Verdicts[number] =>
  verdict.retryAfterMs === Infinity ? { ...verdict, retryAfterMs: RETRY_AFTER_MS } : verdict
