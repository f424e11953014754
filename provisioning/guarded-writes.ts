import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  NumberValue,
  PutCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb'
import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import { type ExactItem, type ItemKey, isMap } from './documents'
import { STORED_FIELDS } from './item-kinds'

/** A change of one item that is applied only if the item still is as it was read. */
export interface GuardedWrite {
  readonly key: ItemKey
  /** The item as it was read; `undefined`: there was none. */
  readonly before?: ExactItem
  /** The item as it is to be, keys included; `undefined`: it is to be deleted. */
  readonly after?: ExactItem
}

/** Items that another writer changed after they were read. None of the writes was applied. */
export class WriteConflictError extends Error {
  override readonly name = 'WriteConflictError'

  /** @param isUnderWay whether another transaction was in progress at that moment, so its result is unknown. */
  constructor(
    readonly keys: readonly ItemKey[],
    readonly isUnderWay = false,
  ) {
    super(`changed at the same moment: ${keys.map(({ sk }) => sk).join(', ')}`)
  }
}

/**
 * What one transaction takes: 100 items and 4 MB.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
 */
export const MAX_ITEMS = 100
const MAX_BYTES = 3_500_000

/** Whether these writes fit one transaction. */
export function fitOneTransaction(writes: readonly GuardedWrite[]): boolean {
  const text = JSON.stringify(writes, (_, value) => (value instanceof Set ? [...value] : value))
  return writes.length <= MAX_ITEMS && Buffer.byteLength(text) <= MAX_BYTES
}

/**
 * Writes all items or none.
 *
 * @returns false, with nothing written, if the engine has no transactions.
 * @throws WriteConflictError when an item has changed, or another transaction is writing it at this moment.
 */
export async function writeTogether(
  documents: DynamoDBDocumentClient,
  tableName: string,
  writes: readonly GuardedWrite[],
): Promise<boolean> {
  const TransactItems = writes.map((write) =>
    write.after
      ? { Put: { TableName: tableName, Item: write.after, ...condition(write) } }
      : { Delete: { TableName: tableName, Key: write.key, ...condition(write) } },
  )
  try {
    await documents.send(new TransactWriteCommand({ TransactItems }))
    return true
  } catch (error) {
    const { name, CancellationReasons = [] } = error as {
      readonly name?: string
      readonly CancellationReasons?: readonly { readonly Code?: string }[]
    }
    if (name !== undefined && /UnknownOperation|NotImplemented/.test(name)) return false
    const lost = writes.filter((_, i) =>
      /^(ConditionalCheckFailed|TransactionConflict)$/.test(CancellationReasons[i]?.Code ?? ''),
    )
    if (lost.length === 0) throw error
    const isUnderWay = CancellationReasons.every(({ Code }) => Code !== 'ConditionalCheckFailed')
    throw new WriteConflictError(
      lost.map(({ key }) => key),
      isUnderWay,
    )
  }
}

/**
 * Writes one item, unless it has changed. If the answer of a write was lost and the SDK sent the write again, the
 * second one is refused; if the item then is as wanted, that counts as written.
 *
 * @throws WriteConflictError
 */
export async function writeAlone(
  documents: DynamoDBDocumentClient,
  tableName: string,
  write: GuardedWrite,
): Promise<void> {
  if (await tryWrite(documents, tableName, write)) return
  const item = await readItem(documents, tableName, write.key)
  if (isSame(item, write.after)) return
  // The condition should have held if the item is unchanged. dynalite does not compare lists and maps, so here they
  // are compared value by value.
  if (isSame(item, write.before) && (await tryWrite(documents, tableName, write, true))) return
  throw new WriteConflictError([write.key])
}

/** Whether an item is as a write would leave it. */
export const isWritten = async (
  documents: DynamoDBDocumentClient,
  tableName: string,
  { key, after }: GuardedWrite,
): Promise<boolean> => isSame(await readItem(documents, tableName, key), after)

async function readItem(documents: DynamoDBDocumentClient, TableName: string, Key: ItemKey): Promise<unknown> {
  const { Item } = await documents.send(new GetCommand({ TableName, Key, ConsistentRead: true }))
  return Item
}

/**
 * Sends one write.
 *
 * @param valueByValue compares what is in lists and maps, for engines that cannot compare them as one value. DynamoDB
 * can, and takes at most 300 operators in an expression.
 * @returns whether the item was unchanged, and so was written.
 */
export async function tryWrite(
  documents: DynamoDBDocumentClient,
  TableName: string,
  write: GuardedWrite,
  valueByValue = false,
): Promise<boolean> {
  const guard = condition(write, valueByValue)
  try {
    if (write.after) await documents.send(new PutCommand({ TableName, Item: write.after, ...guard }))
    else await documents.send(new DeleteCommand({ TableName, Key: write.key, ...guard }))
    return true
  } catch (error) {
    const { name } = error as Error
    if (name === 'TransactionConflictException') throw new WriteConflictError([write.key], true)
    if (name !== 'ConditionalCheckFailedException') throw error
    return false
  }
}

/** The condition that the item is unchanged, attribute by attribute. */
function condition({ before, after }: GuardedWrite, valueByValue = false) {
  const names: Record<string, string> = { '#pk': CONFIG_TABLE.partitionKey }
  if (!before) return { ConditionExpression: 'attribute_not_exists(#pk)', ExpressionAttributeNames: names }
  const values: Record<string, unknown> = {}
  const parts = ['attribute_exists(#pk)']
  const alias = (name: string) => {
    const known = Object.keys(names).find((one) => names[one] === name) ?? `#n${Object.keys(names).length}`
    names[known] = name
    return known
  }
  const equals = (operand: string, value: unknown) => {
    const id = `:v${Object.keys(values).length}`
    values[id] = value
    parts.push(`${operand} = ${id}`)
  }
  const compare = (path: string, value: unknown): void => {
    if (!valueByValue || !(Array.isArray(value) || isMap(value))) {
      equals(path, value)
      return
    }
    const inner = Array.isArray(value)
      ? value.map((one, i) => [`${path}[${i}]`, one] as const)
      : Object.entries(value).map(([name, one]) => [`${path}.${alias(name)}`, one] as const)
    equals(`size(${path})`, inner.length)
    for (const [at, one] of inner) compare(at, one)
  }
  const isKey = (name: string) => name === CONFIG_TABLE.partitionKey || name === CONFIG_TABLE.sortKey
  for (const [name, value] of Object.entries(before)) if (!isKey(name)) compare(alias(name), value)
  for (const name of new Set([...STORED_FIELDS, ...Object.keys(after ?? {})]))
    if (!isKey(name) && before[name] === undefined) parts.push(`attribute_not_exists(${alias(name)})`)
  return {
    ConditionExpression: parts.join(' AND '),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  }
}

/** Whether two documents are stored alike: a JavaScript number and a `NumberValue` of the same digits are. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, i) => isSame(value, other[i]))
  if (one instanceof Set && other instanceof Set)
    return one.size === other.size && [...one].every((value) => [...other].some((theirs) => isSame(value, theirs)))
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other) === 0
  if (isMap(one) && isMap(other))
    return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) => isSame(one[name], other[name]))
  if (isNumber(one) && isNumber(other)) return String(one) === String(other)
  return one === other
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || value instanceof NumberValue
