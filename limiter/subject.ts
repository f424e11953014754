import type { Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import type { EventualCount, OutageCount } from './consistency/counts'
import { isSpendable, type LeaseState } from './consistency/lease'
import type { Shares } from './consistency/shares'
import type { StoreUnavailableError } from './errors'
import type { Charge } from './request'
import type { Item } from './stores/store'
import type { View } from './view'

/** A request that waits for the write under way. */
export interface WaitingRequest extends Charge {
  readonly resolve: (verdicts: Verdicts) => void
  readonly reject: (error: unknown) => void
}

/** All that this instance remembers of a subject; what only some subjects have is optional. */
export interface SubjectRecord {
  view?: View
  /** Requests that wait for the write under way, and share the next one. */
  line?: WaitingRequest[] | undefined
  /** Why a write failed because of the item itself, and until when none is sent. */
  failed?: { readonly error: StoreUnavailableError; readonly until: EpochMs }
  /** Its item got more writes than DynamoDB takes: it is leased until then at least. */
  hotUntil?: EpochMs
  /** Units that are held, by the terms of the policies. */
  leases?: Map<string, LeaseState>
  /** Consistency `eventual`: what is counted here and synced. */
  eventual?: EventualCount
  /** What is known of the shares of its fair policies, by their prefixes. */
  shares?: Map<string, Shares>
  /** What was admitted without the store. */
  outage?: OutageCount | undefined
}

/** A subject that was not seen for so long competes for nothing, in milliseconds. */
const IDLE_MS = 120_000

/** The oldest records that are looked at for each new one: those that are needed are kept, and others go. */
const MAX_KEPT = 16

/**
 * The records of the subjects used last, `max` of them and a few more for a while.
 *
 * The one that was used longest ago is evicted. A flood of other subjects evicts none with a lease that can be spent,
 * with requests that wait, or with units that were counted here and not sent: those are sent first. What was admitted
 * without the store is remembered when its record goes (`OutageCount.onEvicted`). Where more than `max` subjects have
 * such things, up to twice as many are remembered; counts of others are sent all the same (`EventualCount.onEvicted`).
 */
export class Subjects {
  private readonly records = new Map<string, SubjectRecord>()
  /** The one used last, which need not be moved to the end. */
  private newest: string | undefined

  constructor(
    private readonly max: number,
    private readonly now: () => EpochMs,
  ) {}

  get size(): number {
    return this.records.size
  }

  [Symbol.iterator](): IterableIterator<[string, SubjectRecord]> {
    return this.records.entries()
  }

  /** What is remembered of a subject. */
  get(key: string): SubjectRecord | undefined {
    const record = this.records.get(key)
    if (record && key !== this.newest) this.touch(key, record)
    return record
  }

  /** The same; a new record where nothing is remembered. */
  of(key: string): SubjectRecord {
    const known = this.get(key)
    if (known) return known
    const record: SubjectRecord = {}
    this.touch(key, record)
    this.evictFor(key)
    return record
  }

  view(key: string): View | undefined {
    return this.get(key)?.view
  }

  /** Takes in what came back from the store. */
  learn(key: string, item: Item, seenAt: EpochMs): void {
    const record = this.of(key)
    const { shared = false, contention, seenAt: before = seenAt } = record.view ?? {}
    const isIdle = Math.abs(seenAt - before) > IDLE_MS
    record.view = { item, seenAt, shared, contention: isIdle ? undefined : contention }
  }

  /** Forgets a subject that is reset, except waiting requests. Resolves once no call of it is under way. */
  async forget(key: string): Promise<void> {
    const record = this.records.get(key)
    if (!record) return
    const { line, leases, eventual, outage } = record
    if (line) this.records.set(key, { line })
    else this.records.delete(key)
    for (const state of leases?.values() ?? []) {
      if (state.lease) state.lease.left = 0 // also for a lease that is on its way and counts on it
      state.forgotten = true
    }
    await Promise.all([eventual?.pending.idle(), outage?.pending.idle()])
  }

  private touch(key: string, record: SubjectRecord): void {
    this.records.delete(key)
    this.records.set(key, record)
    this.newest = key
  }

  /** Evicts what is too much for a new record. */
  private evictFor(made: string): void {
    for (let kept = 0; this.records.size > this.max && kept < MAX_KEPT; kept++) {
      const [[key, record]] = this.records as Iterable<[string, SubjectRecord]> as [[string, SubjectRecord]]
      if (key === made) return
      record.eventual?.flush()
      this.records.delete(key)
      this.newest = undefined // what is kept goes behind it
      if (isNeeded(record, this.now()) && (record.line || this.records.size < 2 * this.max))
        this.records.set(key, record)
      else {
        record.outage?.onEvicted(record.outage)
        record.eventual?.onEvicted()
      }
    }
  }
}

function isNeeded({ line, leases, eventual }: SubjectRecord, now: EpochMs): boolean {
  if (line || (eventual && !eventual.pending.isEmpty)) return true
  for (const { granting, lease } of leases?.values() ?? [])
    if (granting || (isSpendable(lease, now) && lease.left > 0)) return true
  return false
}
