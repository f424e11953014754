import type { EpochMs } from '../clock'
import type { WriteId } from '../state/store'
import { type CompiledPolicy, idOf } from './compiled-policy'
import { allStepsAllow, type States, statesAfter, statesOf, stepAll, type Verdicts, verdictsOf } from './plan'
import type { TakeLoop } from './take-loop'
import type { Way } from './way'

/** What is counted here of one subject under some policies. */
interface Ledger {
  readonly key: string
  policies: readonly CompiledPolicy[]
  /** The store's state when it was last seen, and all that was admitted here since. */
  states: States
  /** Units admitted here that the store has not been told of. */
  pending: number
  /** Units that it was told of without an answer, so that nobody knows: they are sent again as they were. */
  unsure?: { readonly units: number; readonly at: EpochMs; readonly id: WriteId }
  /** When the last of them was admitted. */
  pendingAt: EpochMs
  triedAt: EpochMs
  syncedAt: EpochMs
  syncing?: Promise<void>
  /** Why the last sync failed. */
  failure?: unknown
}

/** Syncs that may fail before the store counts as away; more time than a table needs to recover from a hiccup. */
const PATIENCE = 5
const LEAST_PATIENCE_MS = 2000

/**
 * Counts in memory, and adds what it has counted to the store every `syncMs` beside the requests, none of which waits for a call.
 *
 * What an instance does not know is what the others have admitted since they last told. So the bound: all together admit at most the limit and, for each
 * instance, its units of one interval. An instance that nobody asks any more, and so is frozen, may keep the units of its last interval to itself.
 */
export class Eventual implements Way {
  /** The one used longest ago first. */
  private readonly ledgers = new Map<string, Ledger>()

  constructor(
    private readonly loop: TakeLoop,
    private readonly maxSubjects: number,
  ) {}

  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    const ledger = this.ledgers.get(ledgerId(key, policies))
    if (!ledger) return undefined
    const now = this.loop.now()
    const steps = stepAll(ledger.states, policies, cost, now)
    if (allStepsAllow(steps)) return undefined
    this.syncIfDue(ledger, key, policies)
    return verdictsOf(steps, ledger.states, policies, now)
  }

  async take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const ledger = this.ledgerOf(key, policies)
    this.throwIfOutOfTouch(ledger, key, policies)
    const now = this.loop.now()
    const steps = stepAll(ledger.states, policies, cost, now)
    if (allStepsAllow(steps)) {
      ledger.states = statesAfter(ledger.states, steps)
      ledger.pending += cost
      ledger.pendingAt = now
    }
    this.syncIfDue(ledger, key, policies)
    return verdictsOf(steps, ledger.states, policies, now)
  }

  async look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const ledger = this.ledgers.get(ledgerId(key, policies))
    if (!ledger) return this.loop.look(key, policies, cost)
    const now = this.loop.now()
    return verdictsOf(stepAll(ledger.states, policies, cost, now), ledger.states, policies, now)
  }

  async giveBack(key: string, policies: readonly CompiledPolicy[], cost: number, chargedAt: EpochMs): Promise<void> {
    const ledger = this.ledgers.get(ledgerId(key, policies))
    if (!ledger || ledger.pending < cost) return this.loop.refund(key, policies, cost, chargedAt)
    ledger.pending -= cost // the next sync brings states without it
  }

  /** Adds what is pending, as far as the store can be asked: for a program that stops. */
  async close(): Promise<void> {
    const ledgers = [...this.ledgers.values()]
    this.ledgers.clear()
    await Promise.all(ledgers.map((ledger) => this.tellRest(ledger)))
  }

  private ledgerOf(key: string, policies: readonly CompiledPolicy[]): Ledger {
    const id = ledgerId(key, policies)
    const found = this.ledgers.get(id)
    const ledger = found ?? {
      key,
      policies,
      states: statesOf(this.loop.view(key), policies),
      pending: 0,
      pendingAt: 0,
      triedAt: -Infinity,
      syncedAt: this.loop.now(),
    }
    ledger.policies = policies
    this.ledgers.delete(id)
    this.ledgers.set(id, ledger)
    if (this.ledgers.size > this.maxSubjects) this.forgetOldest()
    return ledger
  }

  /** Its units are not forgotten: who asks for enough other subjects would get the limit anew. */
  private forgetOldest(): void {
    const [[id, ledger]] = this.ledgers as Iterable<[string, Ledger]> as [[string, Ledger]]
    this.ledgers.delete(id)
    void this.tellRest(ledger)
  }

  private async tellRest(ledger: Ledger): Promise<void> {
    await ledger.syncing
    for (let tries = 0; tries < 2 && (ledger.unsure || ledger.pending > 0); tries++) await this.sync(ledger, ledger.key, ledger.policies)
  }

  private throwIfOutOfTouch(ledger: Ledger, key: string, policies: readonly CompiledPolicy[]): void {
    if (ledger.failure === undefined) return
    const patienceMs = Math.max(LEAST_PATIENCE_MS, PATIENCE * syncMsOf(policies))
    if (Math.abs(this.loop.now() - ledger.syncedAt) < patienceMs) return
    this.syncIfDue(ledger, key, policies)
    throw ledger.failure
  }

  private syncIfDue(ledger: Ledger, key: string, policies: readonly CompiledPolicy[]): void {
    const now = this.loop.now()
    if (ledger.syncing || Math.abs(now - ledger.triedAt) < syncMsOf(policies)) return
    ledger.triedAt = now
    ledger.syncing = this.sync(ledger, key, policies).finally(() => {
      ledger.syncing = undefined
    })
  }

  /** Adds what is pending, under no limit since it was admitted already, and takes over what the others have added. */
  private async sync(ledger: Ledger, key: string, policies: readonly CompiledPolicy[]): Promise<void> {
    const startedAt = this.loop.now()
    const unlimited = policies.map((policy) => policy.unlimited())
    if (!ledger.unsure && ledger.pending > 0) {
      ledger.unsure = { units: ledger.pending, at: ledger.pendingAt, id: this.loop.nextId() }
      ledger.pending = 0
    }
    try {
      const { unsure } = ledger
      if (unsure) await this.loop.settle(key, unlimited, [unsure.units], unsure)
      else await this.loop.look(key, policies, 0)
      ledger.unsure = undefined
      const states = statesOf(this.loop.view(key), policies)
      const meanwhile = stepAll(states, unlimited, ledger.pending, this.loop.now())
      ledger.states = statesAfter(states, meanwhile)
      ledger.syncedAt = startedAt
      ledger.failure = undefined
    } catch (error) {
      ledger.failure = error // told by a take, if it does not pass
    }
  }
}

const ledgerId = (key: string, policies: readonly CompiledPolicy[]): string => `${key} ${idOf(policies)}`

const syncMsOf = (policies: readonly CompiledPolicy[]): number => Math.min(...policies.map(({ syncMs }) => syncMs))
