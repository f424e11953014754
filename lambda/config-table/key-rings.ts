import type { Clock } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { errorDetails, type Log } from '../telemetry/log'
import type { BegunReading } from './first-readings'
import { fromAttributes } from './items/config-items'
import { type KeyRing, parseKeyRing, RING_KEY_LEAD_MS, type RingKind } from './items/key-ring'
import { SIGNING_RING, type SigningKeys } from './items/signing-keys'
import { type KeyRingItems, readKeyRingItems } from './key-ring-items'
import { Refresher, SECOND_READING_AFTER_MS } from './refresher'
import { HMAC_RING, type SubjectKeys } from './subject-keys'

export interface KeyRingsOptions {
  readonly calls: ItemCalls
  readonly tableName: string
  readonly clock: Clock
  /** Time for one reading, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
  /** Which began before any request. @default none */
  readonly first?: BegunReading<KeyRingItems>
}

/** The age from which the secrets are read again in the background. */
const REFRESH_MS = 60_000

/**
 * The age from which a request waits for the reading: a secret that was written since may become active a minute later.
 * That minute allows for clocks that differ.
 */
const MAX_AGE_MS = RING_KEY_LEAD_MS - 60_000

/**
 * The deployment's secrets in the config table, both rings by one call. An instance that has read them within nine
 * minutes knows of every change before it is due; one that was frozen for longer reads them before it decides.
 *
 * An unreadable or invalid item is never taken for "no secret": an instance keeps the secrets that it knew, and a new
 * one knows of none. Without the HMAC keys it decides nothing; without the signing keys it decides all the same.
 */
export class KeyRings {
  /** What is in force, the same object while nothing changes; `undefined` while nothing could be read. */
  readonly subjectKeys: { current(): Promise<SubjectKeys | undefined> }
  readonly signingKeys: { current(): Promise<SigningKeys | undefined> }

  constructor(options: KeyRingsOptions) {
    const { calls, clock, deadlineMs, log, tableName, first } = options
    const [hmac, signing] = [readRing(HMAC_RING, options), readRing(SIGNING_RING, options)]
    const refresher = new Refresher<KeyRingItems>({
      clock,
      refreshMs: REFRESH_MS,
      maxAgeMs: MAX_AGE_MS,
      deadlineMs,
      first,
      read: (_, begun) => {
        if (begun) return begun
        const secondAfterMs = hmac.known() && SECOND_READING_AFTER_MS
        return readKeyRingItems(calls, { tableName, deadlineMs, awaited: true, secondAfterMs })
      },
      apply: (items) => {
        signing.take(items)
        return hmac.take(items)
      },
      onError: (error) => log('error', 'hmac_key_unreadable', { table: tableName, ...errorDetails(error) }),
    })
    this.subjectKeys = { current: () => refresher.refresh().then(hmac.known) }
    this.signingKeys = { current: () => refresher.refresh().then(signing.known) }
  }
}

/** One ring, as it was read last. */
function readRing<Ring extends KeyRing>(kind: RingKind<Ring>, { log, tableName }: KeyRingsOptions) {
  let ring: Ring | undefined
  let text: string | undefined
  let issues: readonly Mistake[] = []
  return {
    known: () => ring,
    /** @returns whether the secrets, or that there are none, are known. */
    take(items: KeyRingItems): boolean {
      const item = items.get(kind.name)
      const now = JSON.stringify(item ?? null)
      if (text !== now) {
        const found: Mistake[] = []
        const parsed = parseKeyRing(kind, item && fromAttributes(item), found)
        if (!item && ring?.keys.length) log('error', kind.missing, { table: tableName }, 'ConfigErrors')
        if (found.length === 0) ring = parsed
        issues = found
        text = now
      }
      if (issues.length > 0) log('error', 'config_item_invalid', { item: kind.name, issues }, 'ConfigErrors')
      return ring !== undefined
    },
  }
}
