import { type AttributeValue, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import { assertDynamoDbResponse } from '../../limiter/stores/dynamodb-response'
import { errorDetails, type Log } from '../telemetry/log'
import { CONFIG_TABLE, fromAttributes } from './items/config-items'
import { type KeyRing, parseKeyRing, RING_KEY_LEAD_MS, type RingKind, ringKey } from './items/key-ring'
import { readWithRetry } from './read-with-retry'
import { Refresher, SECOND_READING_AFTER_MS } from './refresher'

export interface KeyRingReaderOptions {
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

/**
 * A ring of the deployment's secrets in the config table. An instance that has read it within nine minutes knows of
 * every change before it is due; one that was frozen for longer reads it before it decides.
 *
 * An unreadable or invalid item is never taken for "no secret": an instance keeps the secrets that it knew, and a new
 * one knows of none.
 */
export class KeyRingReader<Ring extends KeyRing> {
  private ring: Ring | undefined
  /** The item as it was read last. */
  private text: string | undefined
  private issues: readonly Mistake[] = []
  private readonly refresher: Refresher<Record<string, AttributeValue> | undefined>

  constructor(
    private readonly kind: RingKind<Ring>,
    private readonly options: KeyRingReaderOptions,
  ) {
    const { clock, deadlineMs, log, tableName } = options
    this.refresher = new Refresher({
      clock,
      refreshMs: REFRESH_MS,
      maxAgeMs: MAX_AGE_MS,
      deadlineMs,
      read: () => {
        const secondAfterMs = this.ring && SECOND_READING_AFTER_MS
        return readWithRetry({ tableName, deadlineMs, awaited: true, secondAfterMs }, (signal) => this.get(signal))
      },
      apply: (item) => this.take(item && fromAttributes(item), JSON.stringify(item ?? null)),
      onError: (error) => log('error', `${kind.code}_unreadable`, { table: tableName, ...errorDetails(error) }),
    })
  }

  /** What is in force, the same object while nothing changes; `undefined` only while nothing could ever be read. */
  async current(): Promise<Ring | undefined> {
    await this.refresher.refresh()
    return this.ring
  }

  private async get(abortSignal: AbortSignal): Promise<Record<string, AttributeValue> | undefined> {
    const { client, tableName } = this.options
    const { pk, sk } = ringKey(this.kind)
    const Key = { [CONFIG_TABLE.partitionKey]: { S: pk }, [CONFIG_TABLE.sortKey]: { S: sk } }
    const command = new GetItemCommand({ TableName: tableName, Key, ConsistentRead: true })
    return assertDynamoDbResponse(await client.send(command, { abortSignal })).Item
  }

  /** @returns whether the secrets, or that there are none, are known. */
  private take(item: Readonly<Record<string, unknown>> | undefined, text: string): boolean {
    const { log, tableName } = this.options
    const { kind } = this
    if (this.text !== text) {
      const issues: Mistake[] = []
      const parsed = parseKeyRing(kind, item, issues)
      if (!item && this.ring?.keys.length) log('error', `${kind.code}_missing`, { table: tableName }, 'ConfigErrors')
      if (issues.length === 0) this.ring = parsed
      this.issues = issues
      this.text = text
    }
    if (this.issues.length > 0)
      log('error', 'config_item_invalid', { item: kind.name, issues: this.issues }, 'ConfigErrors')
    return this.ring !== undefined
  }
}
