import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DynamoDBDocumentClient,
  type NativeAttributeValue,
  NumberValue,
  QueryCommand,
  type QueryCommandOutput,
} from '@aws-sdk/lib-dynamodb'
import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import type { PolicySetItem } from './tiers-file'

/** The primary key of an item of the config table. */
export interface ItemKey {
  readonly pk: string
  readonly sk: string
}

/**
 * An item exactly as DynamoDB stores it: each number is a `NumberValue`, which has all of its up to 38 digits. Sets,
 * bytes and attributes that Sluice does not know are in it as well.
 */
export type ExactItem = Readonly<Record<string, NativeAttributeValue>>

/** An item that was read from the config table, in two forms. */
export interface StoredItem {
  /** As the authorizer reads it, with JavaScript numbers: to be checked, compared and shown. */
  readonly item: PolicySetItem
  /** As it is stored: to be written back, and to be compared with by conditional writes. */
  readonly exact: ExactItem
}

/**
 * A document client that reads items exactly and leaves out fields without a value when it writes.
 *
 * One for each `DynamoDBClient`: the SDK keeps these options in the client, so a second document client with other
 * options would change what this one reads.
 */
export const documentsOf = (client: DynamoDBClient): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true },
    unmarshallOptions: { wrapNumbers: true },
  })

/** Both forms of an item that was read. */
export const toStoredItem = (exact: ExactItem): StoredItem => ({ exact, item: withNumbers(exact) as PolicySetItem })

/** Reads all items of one partition of the config table. */
export async function readPartition(
  documents: DynamoDBDocumentClient,
  tableName: string,
  partition: string,
): Promise<StoredItem[]> {
  return allPages((ExclusiveStartKey) =>
    documents.send(
      new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: '#pk = :partition',
        ExpressionAttributeNames: { '#pk': CONFIG_TABLE.partitionKey },
        ExpressionAttributeValues: { ':partition': partition },
        ConsistentRead: true,
        ExclusiveStartKey,
      }),
    ),
  )
}

/** Reads page after page of a query or a scan. */
export async function allPages(
  read: (from: ExactItem | undefined) => Promise<Pick<QueryCommandOutput, 'Items' | 'LastEvaluatedKey'>>,
): Promise<StoredItem[]> {
  const found: StoredItem[] = []
  let from: ExactItem | undefined
  do {
    const { Items = [], LastEvaluatedKey } = await read(from)
    found.push(...Items.map(toStoredItem))
    from = LastEvaluatedKey
  } while (from)
  return found
}

/**
 * A changed copy of a stored item, ready to be written: unchanged fields are written exactly as they are stored.
 * Without this, a number with more digits than a double holds would be rounded by a change of another field.
 *
 * @param changed made from `stored.item`, for example `{ ...stored.item, disabled: true }`.
 */
export const keepExact = (changed: Readonly<Record<string, unknown>>, stored: StoredItem | undefined): ExactItem =>
  (stored ? keep(changed, stored.item, stored.exact) : changed) as ExactItem

function keep(changed: unknown, read: unknown, exact: unknown): unknown {
  if (Object.is(changed, read)) return exact
  if (Array.isArray(changed) && Array.isArray(read))
    return changed.map((one, i) => keep(one, read[i], (exact as readonly unknown[])[i]))
  if (isMap(changed) && isMap(read))
    return mapValues(changed, (one, name) => keep(one, read[name], (exact as Readonly<Record<string, unknown>>)[name]))
  return changed
}

/** The fields of an item beside its key, as they are stored. */
export const withoutItemKey = ({ pk: _pk, sk: _sk, ...fields }: ExactItem): ExactItem => fields

/** The same value with JavaScript numbers. One with too many digits becomes the nearest, which checks reject. */
export function withNumbers(value: unknown): unknown {
  if (value instanceof NumberValue) return Number(value.toString())
  if (Array.isArray(value)) return value.map(withNumbers)
  if (value instanceof Set) return new Set([...value].map(withNumbers))
  return isMap(value) ? mapValues(value, withNumbers) : value
}

/** Whether a value of a document is a map: neither a list, a set, bytes nor a number. */
export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' &&
  value !== null &&
  ![Array, Set, Uint8Array, NumberValue].some((kind) => value instanceof kind)

const mapValues = (map: Readonly<Record<string, unknown>>, change: (value: unknown, name: string) => unknown) =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value, name)]))
