import { apply, type Fields } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import { lateWrite } from '../late-charge'
import { Untold } from '../pending-charges'
import { allStepsAllow, isCharged, type States, statesAfter, stepAll, type Verdicts, verdictsOf } from '../plan'
import type { TakeLoop } from '../take-loop'
import type { Charged, Way } from './strategy'

/** What is counted here of one subject under one policy. */
interface Entry {
  policy: CompiledPolicy
  /**
   * The store's state of the policy when it was last seen, and all that was admitted here since; `undefined` where it
   * was never seen.
   */
  fields: Fields | undefined
}

/** What is counted here of one subject. */
interface Ledger {
  /** By the policy's code. */
  readonly entries: Map<string, Entry>
  readonly untold: Untold
  triedAt: EpochMs
  syncing?: Promise<void>
  /** Syncs that failed in a row, and why the last one did. */
  failures: number
  failure?: unknown
}

/**
 * Syncs that may fail in a row before the store counts as away; more time than a table needs to recover from a hiccup.
 */
const PATIENCE = 5
const LEAST_PATIENCE_MS = 2000

/**
 * Counts in memory, and adds what it has counted to the store every `syncMs` beside the requests, none of which waits
 * for a call.
 *
 * What an instance does not know is what the others have admitted since they last told. So the bound: all together
 * admit at most the limit and, for each instance, its units of one interval. An instance that nobody asks any more, and
 * so is frozen, may keep the units of its last interval to itself; what it tells later counts where it was admitted,
 * and nowhere once that window is over.
 */
export class Eventual implements Way {
  /** By subject, the one used longest ago first. */
  private readonly ledgers = new Map<string, Ledger>()

  constructor(
    private readonly loop: TakeLoop,
    private readonly maxSubjects: number,
  ) {}

  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    const ledger = this.ledgers.get(key)
    if (!ledger) return undefined
    const now = this.loop.now()
    const states = this.statesOf(key, ledger, policies)
    const steps = stepAll(states, policies, cost, now)
    if (allStepsAllow(steps)) return undefined
    this.syncIfDue(key, ledger, policies)
    return verdictsOf(steps, states, policies, now)
  }

  async take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const ledger = this.ledgerOf(key)
    this.throwIfOutOfTouch(key, ledger, policies)
    const now = this.loop.now()
    const states = this.statesOf(key, ledger, policies)
    const steps = stepAll(states, policies, cost, now)
    const allowed = allStepsAllow(steps)
    if (allowed) {
      const after = statesAfter(states, steps)
      for (const [i, policy] of policies.entries()) {
        ledger.entries.set(policy.code, { policy, fields: after[i] })
        if (isCharged(steps[i]!.verdict)) ledger.untold.add(policy, cost, now)
      }
    }
    this.syncIfDue(key, ledger, policies)
    return allowed
      ? steps.map(({ verdict }) => ({ ...verdict, chargedAt: now }))
      : verdictsOf(steps, states, policies, now)
  }

  async look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const ledger = this.ledgers.get(key)
    if (!ledger) return this.loop.look(key, policies, cost)
    const now = this.loop.now()
    const states = this.statesOf(key, ledger, policies)
    return verdictsOf(stepAll(states, policies, cost, now), states, policies, now)
  }

  /** How the store stood when it was last seen, and what was admitted here since. */
  lastSeen(key: string, policies: readonly CompiledPolicy[]): States {
    const ledger = this.ledgers.get(key)
    const view = this.loop.view(key)
    return policies.map((policy) => ledger?.entries.get(policy.code)?.fields ?? fieldsOf(view?.item, policy))
  }

  /**
   * Units that the store has not been told of are taken back here; others there, once it is known whether they arrived.
   */
  async giveBack(key: string, policies: readonly CompiledPolicy[], units: number, charged: Charged): Promise<void> {
    const ledger = this.ledgers.get(key)
    const here = ledger?.untold.takeBack(policies, units, charged.at) ?? 0
    for (const { code } of policies) uncharge(ledger?.entries.get(code), here, charged.at, this.loop.now())
    if (here === units) return
    await ledger?.untold.settled(this.loop, key)
    await this.loop.refund(key, policies, units - here, charged)
    for (const { code } of policies) uncharge(ledger?.entries.get(code), units - here, charged.at, this.loop.now())
  }

  standing(key: string, policies: readonly CompiledPolicy[]): Verdicts | undefined {
    const ledger = this.ledgers.get(key)
    if (!ledger) return undefined
    return stepAll(this.statesOf(key, ledger, policies), policies, 0, this.loop.now()).map(({ verdict }) => verdict)
  }

  /** Adds what is pending, as far as the store can be asked: for a program that stops. */
  async close(): Promise<void> {
    const ledgers = [...this.ledgers]
    this.ledgers.clear()
    await Promise.all(ledgers.map(([key, ledger]) => this.tellRest(key, ledger)))
  }

  async forget(key: string): Promise<void> {
    const ledger = this.ledgers.get(key)
    this.ledgers.delete(key)
    await ledger?.untold.quiet()
  }

  private ledgerOf(key: string): Ledger {
    const ledger = this.ledgers.get(key) ?? {
      entries: new Map(),
      untold: new Untold(),
      triedAt: -Infinity,
      failures: 0,
    }
    this.ledgers.delete(key)
    this.ledgers.set(key, ledger)
    if (this.ledgers.size > this.maxSubjects) this.forgetOldest()
    return ledger
  }

  private statesOf(key: string, { entries }: Ledger, policies: readonly CompiledPolicy[]): States {
    return policies.map((policy) => {
      const entry = entries.get(policy.code)
      return entry ? entry.fields : fieldsOf(this.loop.view(key)?.item, policy)
    })
  }

  /** Its units are not forgotten: who asks for enough other subjects would get the limit anew. */
  private forgetOldest(): void {
    const [[key, ledger]] = this.ledgers as Iterable<[string, Ledger]> as [[string, Ledger]]
    this.ledgers.delete(key)
    void this.tellRest(key, ledger)
  }

  private async tellRest(key: string, ledger: Ledger): Promise<void> {
    await ledger.syncing
    for (let tries = 0; tries < 2 && !ledger.untold.isEmpty; tries++) await this.sync(key, ledger)
  }

  /** Counted in tries and not by the clock, which goes on while an instance is frozen. */
  private throwIfOutOfTouch(key: string, ledger: Ledger, policies: readonly CompiledPolicy[]): void {
    if (ledger.failures < Math.max(PATIENCE, LEAST_PATIENCE_MS / syncMsOf(policies))) return
    this.syncIfDue(key, ledger, policies)
    throw ledger.failure
  }

  private syncIfDue(key: string, ledger: Ledger, policies: readonly CompiledPolicy[]): void {
    const now = this.loop.now()
    if (ledger.syncing || Math.abs(now - ledger.triedAt) < syncMsOf(policies)) return
    ledger.triedAt = now
    ledger.syncing = this.sync(key, ledger).finally(() => {
      ledger.syncing = undefined
    })
  }

  /** Adds what is pending, and takes over what the others have added. */
  private async sync(key: string, ledger: Ledger): Promise<void> {
    const { entries, untold } = ledger
    try {
      if (!(await untold.tell(this.loop, key))) await this.loop.look(key, [], 0)
      const now = this.loop.now()
      const item = this.loop.view(key)?.item
      for (const entry of entries.values()) {
        const fields = fieldsOf(item, entry.policy)
        const pending = untold.pendingOf(entry.policy)
        const meanwhile = pending && lateWrite(fields, pending, now)
        entry.fields = meanwhile && fields ? apply(meanwhile, fields) : fields
      }
      ledger.failures = 0
    } catch (error) {
      ledger.failures++
      ledger.failure = error // told by a take, if it does not pass
    }
  }
}

function uncharge(entry: Entry | undefined, units: number, chargedAt: EpochMs, now: EpochMs): void {
  if (!entry?.fields || units === 0) return
  const { algorithm, quota } = entry.policy
  const write = algorithm.refund(entry.fields, quota, units, chargedAt, now)
  if (write) entry.fields = apply(write, entry.fields)
}

const syncMsOf = (policies: readonly CompiledPolicy[]): number => Math.min(...policies.map(({ syncMs }) => syncMs))
