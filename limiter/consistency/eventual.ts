import { isCharged, type Verdicts } from '../algorithms/algorithm'
import { apply } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import { fieldsOf } from '../compiled-policy'
import type { Decider } from '../decider'
import type { StoreUnavailableError } from '../errors'
import { type Charge, type ChargeTime, type Subject, unitsOf } from '../request'
import { allStepsAllow, type States, standAll, statesAfter, stepAll, verdictsOf } from '../steps'
import { type EventualCount, type EventualEntry, PendingCharges } from './counts'
import { lateWrite } from './late-charges'
import type { Strategy } from './strategy'

/**
 * Syncs that may fail in a row before the store counts as away, and how long they take at least, in milliseconds: more
 * time than a table needs to recover from a hiccup.
 */
const MAX_FAILURES = 5
const FAILING_FOR_MS = 2000

/**
 * Counts in memory, and adds what it has counted to the store every `syncMs` beside the requests, none of which waits
 * for a call.
 *
 * What an instance does not know is what the others have admitted since their last sync. So the bound: all together
 * admit at most the limit and, for each instance, its units of one interval. An instance that gets no more requests,
 * and so is frozen, may keep the units of its last interval to itself; when it syncs later they count where they were
 * admitted, and nowhere once that window is over.
 */
export class Eventual implements Strategy {
  constructor(private readonly items: Decider) {}

  cachedDenial(charge: Charge): Verdicts | undefined {
    const { key, policies } = charge
    const local = this.countIn(key)
    if (!local) return undefined
    const now = this.items.now()
    const states = this.statesOf(charge, local)
    const steps = stepAll(states, policies, charge, now)
    if (allStepsAllow(steps)) return undefined
    this.syncIfDue(charge, local)
    return verdictsOf(steps, states, policies, now)
  }

  async take(charge: Charge): Promise<Verdicts> {
    const { key, policies } = charge
    const local = this.countsOf(key)
    this.throwIfStale(charge, local)
    const now = this.items.now()
    const states = this.statesOf(charge, local)
    const steps = stepAll(states, policies, charge, now)
    const allowed = allStepsAllow(steps)
    if (allowed) {
      const after = statesAfter(states, steps)
      for (const [i, policy] of policies.entries()) {
        local.entries.set(policy.prefix, { policy, fields: after[i] })
        if (isCharged(steps[i]!.verdict)) local.pending.add(policy, unitsOf(charge, policy), now)
      }
    }
    this.syncIfDue(charge, local)
    return allowed
      ? steps.map(({ verdict }) => ({ ...verdict, chargedAt: now }))
      : verdictsOf(steps, states, policies, now)
  }

  async peek(charge: Charge): Promise<Verdicts> {
    const { key, policies } = charge
    const local = this.countIn(key)
    if (!local) return this.items.peek(charge)
    const now = this.items.now()
    const states = this.statesOf(charge, local)
    return verdictsOf(stepAll(states, policies, charge, now), states, policies, now)
  }

  /** How the store stood when it was last seen, and what was admitted here since. */
  lastSeen({ key, policies }: Subject): States {
    const local = this.countIn(key)
    const view = this.items.view(key)
    return policies.map((policy) => local?.entries.get(policy.prefix)?.fields ?? fieldsOf(view?.item, policy))
  }

  /** Takes units back here that are not in the store yet; others there, once it is known whether they arrived. */
  async giveBack(charge: Charge, charged: ChargeTime): Promise<void> {
    const { key, policies, cost: units } = charge
    const local = this.countIn(key)
    const here = local?.pending.takeBack(policies, units, charged.at) ?? 0
    for (const { prefix } of policies) uncharge(local?.entries.get(prefix), here, charged.at, this.items.now())
    if (here === units) return
    const there = units - here
    await local?.pending.confirmed()
    await this.items.refund({ key, policies, cost: there }, charged)
    for (const { prefix } of policies) uncharge(local?.entries.get(prefix), there, charged.at, this.items.now())
  }

  standing(subject: Subject): Verdicts | undefined {
    const local = this.countIn(subject.key)
    if (!local) return undefined
    const states = this.statesOf(subject, local)
    return standAll(states, subject.policies, this.items.now())
  }

  /** Writes what is pending, as far as the store can be asked: for a program that stops. */
  async close(): Promise<void> {
    const all: EventualCount[] = []
    for (const [, record] of this.items.subjects) {
      if (record.eventual) all.push(record.eventual)
      delete record.eventual
    }
    await Promise.all(all.map((local) => this.sendAll(local)))
  }

  private countIn(key: string): EventualCount | undefined {
    return this.items.subjects.get(key)?.eventual
  }

  private countsOf(key: string): EventualCount {
    const record = this.items.subjects.of(key)
    if (record.eventual) return record.eventual
    const local: EventualCount = {
      key,
      entries: new Map(),
      pending: new PendingCharges((late) => this.items.chargeLate(key, late)),
      triedAt: -Infinity,
      failures: 0,
      flush: () => {
        if (!local.pending.isEmpty) this.beginSync(local)
      },
      onEvicted: () => void this.sendAll(local),
    }
    record.eventual = local
    return local
  }

  private statesOf({ key, policies }: Subject, { entries }: EventualCount): States {
    return policies.map((policy) => {
      const entry = entries.get(policy.prefix)
      return entry ? entry.fields : fieldsOf(this.items.view(key)?.item, policy)
    })
  }

  /** Counts tries and not time, which goes on while an instance is frozen. */
  private throwIfStale(subject: Subject, local: EventualCount): void {
    const { failures, failure } = local
    const passes = (failure as Partial<StoreUnavailableError> | undefined)?.reason !== 'unusable-client'
    const most = passes ? Math.max(MAX_FAILURES, FAILING_FOR_MS / syncMsOf(subject)) : 1
    if (failures < most) return
    this.syncIfDue(subject, local)
    throw failure
  }

  private syncIfDue(subject: Subject, local: EventualCount): void {
    const now = this.items.now()
    if (Math.abs(now - local.triedAt) >= syncMsOf(subject)) this.beginSync(local)
  }

  private beginSync(local: EventualCount): void {
    if (local.syncing) return
    local.triedAt = this.items.now()
    local.syncing = this.sync(local).finally(() => {
      local.syncing = undefined
    })
  }

  private async sendAll(local: EventualCount): Promise<void> {
    await local.syncing
    for (let tries = 0; tries < 2 && !local.pending.isEmpty; tries++) await this.sync(local)
  }

  /** Adds what is pending, and takes over what the others have added. */
  private async sync(local: EventualCount): Promise<void> {
    const { key, entries, pending } = local
    try {
      if (!(await pending.flush())) await this.items.peek({ key, policies: [], cost: 0 })
      const now = this.items.now()
      const item = this.items.view(key)?.item
      for (const entry of entries.values()) {
        const fields = fieldsOf(item, entry.policy)
        const added = pending.pendingOf(entry.policy)
        const meanwhile = added && lateWrite(fields, added, now)
        entry.fields = meanwhile && fields ? apply(meanwhile, fields) : fields
      }
      local.failures = 0
    } catch (error) {
      local.failures++
      local.failure = error // thrown by a take, if it does not pass
    }
  }
}

function uncharge(entry: EventualEntry | undefined, units: number, chargedAt: EpochMs, now: EpochMs): void {
  if (!entry?.fields || units === 0) return
  const write = entry.policy.counter.refund(entry.fields, units, chargedAt, now)
  if (write) entry.fields = apply(write, entry.fields)
}

const syncMsOf = ({ policies }: Subject): number => Math.min(...policies.map(({ syncMs }) => syncMs))
