import { hash as sha } from 'node:crypto'
import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { ItemCalls, ItemOperations } from '../../limiter/stores/item-calls'
import { errorDetails, type Log } from '../telemetry/log'
import { lastValidKey } from './items/config-keys'
import { itemsOf } from './policy-set-items'

type Attributes = Record<string, AttributeValue>

export interface LastValidOptions {
  readonly calls: ItemCalls
  readonly tableName: string
  /** Time for one call, or for reading all copies, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

/** Sort key of the item with the digest of all copies; no item of the policy set has such a key. */
const DIGEST = '#digest'

/**
 * Copies of the last valid version of each item of the policy set, in a partition of the config table that only the
 * authorizer writes. An instance that starts while an item is invalid reads from them what the other instances still
 * use.
 *
 * An instance that has read a valid set brings the copies up to date, once for all instances: a digest in the partition
 * says whether that is done, and each copy is written only if it has not changed since it was read. The copy of a
 * deleted item is deleted.
 */
export class LastValid {
  /** Digest of the copies as last read or written. */
  private kept: string | undefined
  private busy = false

  constructor(private readonly options: LastValidOptions) {}

  /** All copies, by the sort key of their item. */
  async read(): Promise<Map<string, Attributes>> {
    const copies = await this.query()
    return new Map([...copies].flatMap(([sk, { item }]) => (item?.M ? [[sk, item.M] as const] : [])))
  }

  /**
   * Brings the copies up to date. A failure is logged, and the next reading tries again: no request waits for it.
   *
   * @param valid the valid items, as they are stored.
   * @param present the sort keys of all items, invalid ones too.
   */
  async keep(valid: ReadonlyMap<string, Attributes>, present: ReadonlySet<string>): Promise<void> {
    if (this.busy) return
    this.busy = true
    try {
      const hashes = new Map([...valid].map(([sk, item]) => [sk, hashOf(item)]))
      const digest = digestOf(hashes)
      if (this.kept === digest || (await this.isDone(digest)) || (await this.replace(valid, hashes, present, digest)))
        this.kept = digest
    } catch (error) {
      this.options.log('warn', 'last_valid_unwritable', {
        table: this.options.tableName,
        ...errorDetails(error),
      })
    } finally {
      this.busy = false
    }
  }

  private async isDone(digest: string): Promise<boolean> {
    if (this.kept !== undefined) return false // something has changed since
    const { Item } = await this.call('GetItem', { ...this.at(DIGEST), ConsistentRead: true })
    return Item?.hash?.S === digest
  }

  /** False when another instance was writing at the same time; the next reading then compares again. */
  private async replace(
    valid: ReadonlyMap<string, Attributes>,
    hashes: ReadonlyMap<string, string>,
    present: ReadonlySet<string>,
    digest: string,
  ): Promise<boolean> {
    const copies = await this.query()
    const stored = (sk: string) => copies.get(sk)?.hash
    let whole = true
    for (const [sk, item] of valid) {
      const hash = hashes.get(sk)!
      if (stored(sk)?.S !== hash)
        whole = (await this.put(sk, { item: { M: item }, hash: { S: hash } }, stored(sk))) && whole
    }
    for (const sk of copies.keys()) if (!present.has(sk)) whole = (await this.remove(sk, stored(sk))) && whole
    return whole && this.put(DIGEST, { hash: { S: digest } })
  }

  private async query(): Promise<Map<string, Attributes>> {
    const { calls, tableName, deadlineMs } = this.options
    const signal = AbortSignal.timeout(deadlineMs) // for all pages
    const copies = await itemsOf(calls, tableName, lastValidKey('').pk, { signal })
    return new Map(copies.flatMap((copy) => (copy.sk?.S === DIGEST ? [] : [[copy.sk?.S ?? '', copy] as const])))
  }

  /**
   * @param seen the hash of the copy that it replaces; `undefined` where there was none. The digest is written
   * unconditionally.
   */
  private put(sk: string, attributes: Attributes, seen?: AttributeValue): Promise<boolean> {
    const names = Object.keys(attributes)
    const guarded = sk === DIGEST ? {} : { ConditionExpression: seen ? '#hash = :seen' : 'attribute_not_exists(#hash)' }
    return this.applied('UpdateItem', {
      ...this.at(sk),
      UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
      ...guarded,
      ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
      ExpressionAttributeValues: {
        ...Object.fromEntries(names.map((name) => [`:${name}`, attributes[name]!])),
        ...(seen && { ':seen': seen }),
      },
    })
  }

  private remove(sk: string, seen: AttributeValue | undefined): Promise<boolean> {
    return this.applied('DeleteItem', {
      ...this.at(sk),
      ConditionExpression: '#hash = :seen',
      ExpressionAttributeNames: { '#hash': 'hash' },
      ExpressionAttributeValues: { ':seen': seen ?? { S: '' } },
    })
  }

  private async applied<Operation extends 'UpdateItem' | 'DeleteItem'>(
    operation: Operation,
    input: ItemOperations[Operation]['input'],
  ): Promise<boolean> {
    try {
      await this.call(operation, input)
      return true
    } catch (error) {
      if ((error as { name?: string } | null)?.name === 'ConditionalCheckFailedException') return false
      throw error
    }
  }

  private at(sk: string) {
    const { pk } = lastValidKey(sk)
    return { TableName: this.options.tableName, Key: { pk: { S: pk }, sk: { S: sk } } }
  }

  private call: ItemCalls['call'] = (operation, input) =>
    this.options.calls.call(operation, input, { signal: AbortSignal.timeout(this.options.deadlineMs) })
}

const digestOf = (hashes: ReadonlyMap<string, string>): string =>
  sha256(
    [...hashes]
      .map(([sk, hash]) => `${sk} ${hash}`)
      .sort()
      .join('\n'),
  )

/** The same hash for the same content, whatever the order of its fields. */
const hashOf = (item: Attributes): string =>
  sha256(
    JSON.stringify(item, (_, value) => (isPlain(value) ? Object.fromEntries(Object.entries(value).sort()) : value)),
  )

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const sha256 = (text: string): string => sha('sha256', text, 'base64url')
