import { type AttributeValue, BatchGetItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import { assertDynamoDbResponse } from '../../limiter/stores/dynamodb-response'
import { errorDetails, type Log } from '../telemetry/log'
import { CONFIG_TABLE, fromAttributes } from './items/config-items'
import { type KeyRing, parseKeyRing, RING_KEY_LEAD_MS, type RingKind, ringKey } from './items/key-ring'
import { SIGNING_RING, type SigningKeys } from './items/signing-keys'
import { readWithRetry } from './read-with-retry'
import { Refresher, SECOND_READING_AFTER_MS } from './refresher'
import { HMAC_RING, type SubjectKeys } from './subject-keys'

export interface KeyRingsOptions {
  readonly client: Pick<DynamoDBClient, 'send'>
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
  private readonly hmac: ReadRing<SubjectKeys>
  private readonly signing: ReadRing<SigningKeys>
  private readonly refresher: Refresher<Items>

  /** `current`: what is in force, the same object while nothing changes; `undefined` while nothing could be read. */
  readonly subjectKeys = { current: () => this.current(this.hmac) }
  readonly signingKeys = { current: () => this.current(this.signing) }

  constructor(private readonly options: KeyRingsOptions) {
    const { clock, deadlineMs, log, tableName } = options
    this.hmac = new ReadRing(HMAC_RING, options)
    this.signing = new ReadRing(SIGNING_RING, options)
    this.refresher = new Refresher({
      clock,
      refreshMs: REFRESH_MS,
      maxAgeMs: MAX_AGE_MS,
      deadlineMs,
      read: () => {
        const secondAfterMs = this.hmac.ring && SECOND_READING_AFTER_MS
        return readWithRetry({ tableName, deadlineMs, awaited: true, secondAfterMs }, (signal) => this.get(signal))
      },
      apply: (items) => {
        this.signing.take(items)
        return this.hmac.take(items)
      },
      onError: (error) => log('error', 'hmac_key_unreadable', { table: tableName, ...errorDetails(error) }),
    })
  }

  private async current<Ring extends KeyRing>(read: ReadRing<Ring>): Promise<Ring | undefined> {
    await this.refresher.refresh()
    return read.ring
  }

  private async get(abortSignal: AbortSignal): Promise<Items> {
    const { client, tableName } = this.options
    const items = new Map<string, Record<string, AttributeValue>>()
    let Keys: Record<string, AttributeValue>[] | undefined = [HMAC_RING, SIGNING_RING].map((kind) => {
      const { pk, sk } = ringKey(kind)
      return { [CONFIG_TABLE.partitionKey]: { S: pk }, [CONFIG_TABLE.sortKey]: { S: sk } }
    })
    while (Keys?.length) {
      const command: BatchGetItemCommand = new BatchGetItemCommand({
        RequestItems: { [tableName]: { Keys, ConsistentRead: true } },
      })
      const { Responses, UnprocessedKeys } = assertDynamoDbResponse(await client.send(command, { abortSignal }))
      for (const item of Object.values(Responses ?? {}).flat()) items.set(item.pk?.S ?? '', item)
      Keys = Object.values(UnprocessedKeys ?? {})[0]?.Keys
    }
    return items
  }
}

/** One ring, as it was read last. */
class ReadRing<Ring extends KeyRing> {
  ring: Ring | undefined
  private text: string | undefined
  private issues: readonly Mistake[] = []

  constructor(
    private readonly kind: RingKind<Ring>,
    private readonly options: Pick<KeyRingsOptions, 'log' | 'tableName'>,
  ) {}

  /** @returns whether the secrets, or that there are none, are known. */
  take(items: Items): boolean {
    const { log, tableName } = this.options
    const { kind } = this
    const item = items.get(kind.name)
    const text = JSON.stringify(item ?? null)
    if (this.text !== text) {
      const issues: Mistake[] = []
      const parsed = parseKeyRing(kind, item && fromAttributes(item), issues)
      if (!item && this.ring?.keys.length) log('error', kind.missing, { table: tableName }, 'ConfigErrors')
      if (issues.length === 0) this.ring = parsed
      this.issues = issues
      this.text = text
    }
    if (this.issues.length > 0)
      log('error', 'config_item_invalid', { item: kind.name, issues: this.issues }, 'ConfigErrors')
    return this.ring !== undefined
  }
}
