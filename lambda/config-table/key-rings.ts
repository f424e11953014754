import type { AttributeValue, BatchGetItemInput, KeysAndAttributes } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { errorDetails, type Log } from '../telemetry/log'
import { fromAttributes } from './items/config-items'
import { CONFIG_TABLE, ringKey } from './items/config-keys'
import { type KeyRing, parseKeyRing, RING_KEY_LEAD_MS, type RingKind } from './items/key-ring'
import { SIGNING_RING, type SigningKeys } from './items/signing-keys'
import { readWithRetry } from './read-with-retry'
import { Refresher, SECOND_READING_AFTER_MS } from './refresher'
import { HMAC_RING, type SubjectKeys } from './subject-keys'

export interface KeyRingsOptions {
  readonly calls: ItemCalls
  readonly tableName: string
  readonly clock: Clock
  /** Time for one reading, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

/** The age from which the secrets are read again in the background. */
const REFRESH_MS = 60_000

/**
 * The age from which a request waits for the reading: a secret that was written since may become active a minute later.
 * That minute allows for clocks that differ.
 */
const MAX_AGE_MS = RING_KEY_LEAD_MS - 60_000

/** Items by partition key. */
type Items = ReadonlyMap<string, Record<string, AttributeValue>>

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

  constructor(private readonly options: KeyRingsOptions) {
    const { clock, deadlineMs, log, tableName } = options
    const [hmac, signing] = [readRing(HMAC_RING, options), readRing(SIGNING_RING, options)]
    const refresher = new Refresher<Items>({
      clock,
      refreshMs: REFRESH_MS,
      maxAgeMs: MAX_AGE_MS,
      deadlineMs,
      read: () => {
        const secondAfterMs = hmac.known() && SECOND_READING_AFTER_MS
        return readWithRetry({ tableName, deadlineMs, awaited: true, secondAfterMs }, (signal) => this.get(signal))
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

  private async get(signal: AbortSignal): Promise<Items> {
    const { calls, tableName } = this.options
    const items = new Map<string, Record<string, AttributeValue>>()
    let Keys: KeysAndAttributes['Keys'] = [HMAC_RING, SIGNING_RING].map((kind) => {
      const { pk, sk } = ringKey(kind)
      return { [CONFIG_TABLE.partitionKey]: { S: pk }, [CONFIG_TABLE.sortKey]: { S: sk } }
    })
    while (Keys?.length) {
      const input: BatchGetItemInput = { RequestItems: { [tableName]: { Keys, ConsistentRead: true } } }
      const { Responses, UnprocessedKeys } = await calls.call('BatchGetItem', input, { signal })
      for (const item of Object.values(Responses ?? {}).flat()) items.set(item.pk?.S ?? '', item)
      Keys = Object.values(UnprocessedKeys ?? {})[0]?.Keys
    }
    return items
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
    take(items: Items): boolean {
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
