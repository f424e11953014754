import { type AttributeValue, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import { assertDynamoDbResponse } from '../../limiter/stores/dynamodb-response'
import { errorDetails, type Log } from '../telemetry/log'
import { CONFIG_TABLE, fromAttributes } from './items/config-items'
import { HMAC_KEY_ITEM, HMAC_KEY_LEAD_MS, parseHmacKeys } from './items/hmac-key-item'
import { readWithRetry } from './read-with-retry'
import { Refresher, SECOND_READING_AFTER_MS } from './refresher'
import type { SubjectKeys } from './subject-keys'

export interface HmacKeysOptions {
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
const MAX_AGE_MS = HMAC_KEY_LEAD_MS - 60_000

/**
 * The deployment's secrets in the config table, with which subjects' keys are hashed. An instance that has read them
 * within nine minutes knows of every change before it is due; one that was frozen for longer reads them before it
 * counts.
 *
 * An unreadable or invalid item is never taken for "no secret": an instance keeps the secrets that it knew, and a new
 * one knows none and decides nothing.
 */
export class HmacKeys {
  private keys: SubjectKeys | undefined
  /** The item as it was read last. */
  private text: string | undefined
  private issues: readonly Mistake[] = []
  private readonly refresher: Refresher<Record<string, AttributeValue> | undefined>

  constructor(private readonly options: HmacKeysOptions) {
    const { clock, deadlineMs, log, tableName } = options
    this.refresher = new Refresher({
      clock,
      refreshMs: REFRESH_MS,
      maxAgeMs: MAX_AGE_MS,
      deadlineMs,
      read: () => {
        const secondAfterMs = this.keys && SECOND_READING_AFTER_MS
        return readWithRetry({ tableName, deadlineMs, awaited: true, secondAfterMs }, (signal) => this.get(signal))
      },
      apply: (item) => this.take(item && fromAttributes(item), JSON.stringify(item ?? null)),
      onError: (error) => log('error', 'hmac_key_unreadable', { table: tableName, ...errorDetails(error) }),
    })
  }

  /** What is in force, the same object while nothing changes; `undefined` only while nothing could ever be read. */
  async current(): Promise<SubjectKeys | undefined> {
    await this.refresher.refresh()
    return this.keys
  }

  private async get(abortSignal: AbortSignal): Promise<Record<string, AttributeValue> | undefined> {
    const { client, tableName } = this.options
    const Key = {
      [CONFIG_TABLE.partitionKey]: { S: HMAC_KEY_ITEM.pk },
      [CONFIG_TABLE.sortKey]: { S: HMAC_KEY_ITEM.sk },
    }
    const command = new GetItemCommand({ TableName: tableName, Key, ConsistentRead: true })
    return assertDynamoDbResponse(await client.send(command, { abortSignal })).Item
  }

  /** @returns whether the secrets, or that there are none, are known. */
  private take(item: Readonly<Record<string, unknown>> | undefined, text: string): boolean {
    const { log, tableName } = this.options
    if (this.text !== text) {
      const issues: Mistake[] = []
      const parsed = parseHmacKeys(item, issues)
      if (!item && this.keys?.keys.length) log('error', 'hmac_key_missing', { table: tableName }, 'ConfigErrors')
      if (issues.length === 0) this.keys = parsed
      this.issues = issues
      this.text = text
    }
    if (this.issues.length > 0)
      log('error', 'config_item_invalid', { item: HMAC_KEY_ITEM.pk, issues: this.issues }, 'ConfigErrors')
    return this.keys !== undefined
  }
}
