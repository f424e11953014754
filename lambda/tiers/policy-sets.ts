import { type AttributeValue, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'
import type { Clock, EpochMs } from '../clock'
import { ANONYMOUS, checkAnonymous, type PolicySet, type Route, type Tier, toPolicySet } from '../policies/tiers'
import { errorDetails, type Log } from '../telemetry'
import { CONFIG_TABLE, fromAttributes, parsePolicyItem, tierKey } from './config-items'

export interface PolicySetsOptions {
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly tableName: string
  readonly clock: Clock
  /** How old a set may get before it is read again, in milliseconds. */
  readonly ttlMs: number
  /** Time for one reading, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

/** More items than this are a mistake: tiers and routes are written by hand. */
const MOST_ITEMS = 5000

const ANONYMOUS_ITEM = tierKey(ANONYMOUS).sk

/** Pause after a reading that failed, in milliseconds: a table in trouble is not asked for every request. */
const RETRY_AFTER_MS = 1000

/**
 * The policy set of the config table, always a whole one: read once at the start, and again in the background when it has grown old, while the old
 * one still serves. An item that is wrong keeps its last good version, and so does the tier of unknown callers when it is gone.
 */
export class PolicySets {
  private set: PolicySet | undefined
  private readAt: EpochMs = 0
  private failedAt: EpochMs | undefined
  private reading: Promise<void> | undefined
  private readonly lastGood = new Map<string, { readonly tier?: Tier; readonly route?: Route }>()

  constructor(private readonly options: PolicySetsOptions) {}

  /** The set in force; `undefined` only while none could ever be read. */
  async current(): Promise<PolicySet | undefined> {
    if (this.isOld() && !this.hasJustFailed()) this.reading ??= this.read()
    if (this.set === undefined) await this.reading
    return this.set
  }

  private isOld(): boolean {
    const age = this.options.clock() - this.readAt
    return this.set === undefined || age >= this.options.ttlMs || age < 0
  }

  private hasJustFailed(): boolean {
    const age = this.options.clock() - (this.failedAt ?? -Infinity)
    return age >= 0 && age < Math.min(RETRY_AFTER_MS, this.options.ttlMs)
  }

  private async read(): Promise<void> {
    try {
      this.take(await this.query())
      this.readAt = this.options.clock()
    } catch (error) {
      this.failedAt = this.options.clock()
      this.options.log('error', 'the config table cannot be read', { table: this.options.tableName, ...errorDetails(error) })
    } finally {
      this.reading = undefined
    }
  }

  private async query(): Promise<Record<string, AttributeValue>[]> {
    const abortSignal = AbortSignal.timeout(this.options.deadlineMs)
    const items: Record<string, AttributeValue>[] = []
    let ExclusiveStartKey: Record<string, AttributeValue> | undefined
    do {
      const command = new QueryCommand({
        TableName: this.options.tableName,
        KeyConditionExpression: `${CONFIG_TABLE.partitionKey} = :set`,
        ExpressionAttributeValues: { ':set': { S: CONFIG_TABLE.policySet } },
        ConsistentRead: true,
        ExclusiveStartKey,
      })
      const page = await this.options.client.send(command, { abortSignal })
      items.push(...(page.Items ?? []))
      ExclusiveStartKey = page.LastEvaluatedKey
    } while (ExclusiveStartKey && items.length <= MOST_ITEMS)
    if (items.length > MOST_ITEMS) throw new Error(`a policy set has at most ${MOST_ITEMS} tiers and routes, this one has more`)
    return items
  }

  private take(items: readonly Record<string, AttributeValue>[]): void {
    const found = items.map((attributes) => {
      const sk = attributes[CONFIG_TABLE.sortKey]?.S ?? ''
      const issues: string[] = []
      const parsed = parsePolicyItem({ ...fromAttributes(attributes), sk }, issues)
      if (issues.length > 0)
        this.options.log('error', 'an item of the config table is wrong, its last good version stays', { item: sk, issues })
      return { sk, parsed: issues.length === 0 ? parsed : this.lastGood.get(sk) }
    })
    const issues: string[] = []
    const anonymous = this.lastGood.get(ANONYMOUS_ITEM)
    this.lastGood.clear()
    for (const { sk, parsed } of found) if (parsed) this.lastGood.set(sk, parsed)
    checkAnonymous(
      [...this.lastGood.values()].map(({ tier }) => tier?.name ?? ''),
      [],
      issues,
    )
    if (anonymous && !this.lastGood.has(ANONYMOUS_ITEM)) this.lastGood.set(ANONYMOUS_ITEM, anonymous)

    const good = [...this.lastGood.values()]
    this.set = toPolicySet(
      good.flatMap(({ tier }) => tier ?? []),
      good.flatMap(({ route }) => route ?? []),
      [],
      issues,
    )
    if (issues.length > 0) this.options.log('error', 'the policy set has mistakes', { table: this.options.tableName, issues })
  }
}
