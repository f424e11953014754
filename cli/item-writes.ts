import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { ACCESS_FIELDS } from '../lambda/config-table/items/access-list'
import { CLIENT_FIELDS } from '../lambda/config-table/items/client-item'
import { CONFIG_TABLE } from '../lambda/config-table/items/config-items'
import { API_FIELDS } from '../lambda/config-table/items/scopes'
import { SETTINGS_FIELDS, SWITCH_FIELDS } from '../lambda/config-table/items/settings'
import { GLOBAL_FIELDS, ROUTE_FIELDS, TIER_FIELDS } from '../lambda/config-table/items/tiers'

export type Attributes = Record<string, AttributeValue>

/** One item's way from what it was when somebody looked to what it shall be. */
export interface ItemWrite {
  readonly key: { readonly pk: string; readonly sk: string }
  /** `undefined`: there was none. */
  readonly before?: Attributes
  /** `undefined`: it shall go. */
  readonly after?: Attributes
}

/** Items that were not what they had been when the change was worked out. Nothing of these was written. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile'

  constructor(readonly keys: readonly ItemWrite['key'][]) {
    super(`changed meanwhile: ${keys.map(({ sk }) => sk).join(', ')}`)
  }
}

/**
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
 * 100 items and 4 MB
 */
const MOST_ITEMS = 100
const MOST_BYTES = 3_500_000

/** All fields that an item of the config table may have; a write looks that those which were absent still are. */
const FIELDS: ReadonlySet<string> = new Set(
  [
    TIER_FIELDS,
    ROUTE_FIELDS,
    GLOBAL_FIELDS,
    SETTINGS_FIELDS,
    ACCESS_FIELDS,
    CLIENT_FIELDS,
    API_FIELDS,
    SWITCH_FIELDS,
  ].flatMap((fields) => Object.keys(fields)),
)

export const fitOneTransaction = (writes: readonly ItemWrite[]): boolean =>
  writes.length <= MOST_ITEMS && JSON.stringify(writes).length <= MOST_BYTES

/**
 * Writes all or nothing.
 *
 * @returns false, with nothing written, where the engine knows no transactions.
 * @throws ChangedMeanwhile when an item is no longer what it was; nothing is written.
 */
export async function writeTogether(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  writes: readonly ItemWrite[],
): Promise<boolean> {
  const TransactItems = writes.map((write) =>
    write.after
      ? { Put: { TableName: tableName, Item: write.after, ...condition(write) } }
      : { Delete: { TableName: tableName, Key: keyOf(write), ...condition(write) } },
  )
  try {
    await client.send(new TransactWriteItemsCommand({ TransactItems }))
    return true
  } catch (error) {
    const { name, CancellationReasons = [] } = error as {
      readonly name?: string
      readonly CancellationReasons?: readonly { Code?: string }[]
    }
    if (name !== undefined && /UnknownOperation|NotImplemented/.test(name)) return false
    const refused = writes.filter((_, i) => CancellationReasons[i]?.Code === 'ConditionalCheckFailed')
    throw refused.length > 0 ? new ChangedMeanwhile(refused.map(({ key }) => key)) : error
  }
}

/**
 * Writes one item, unless it is no longer what it was. A write whose answer was lost and that the SDK sent again is
 * found to have been done.
 *
 * @throws ChangedMeanwhile
 */
export async function writeAlone(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  write: ItemWrite,
): Promise<void> {
  if (await tryAlone(client, tableName, write, condition(write))) return
  const { Item } = await client.send(
    new GetItemCommand({ TableName: tableName, Key: keyOf(write), ConsistentRead: true }),
  )
  if (isSame(Item, write.after)) return
  // An item that is what it was should not have been refused: dynalite compares no lists and maps, so they are taken
  // apart for it.
  if (isSame(Item, write.before) && (await tryAlone(client, tableName, write, condition(write, true)))) return
  throw new ChangedMeanwhile([write.key])
}

async function tryAlone(
  client: Pick<DynamoDBClient, 'send'>,
  TableName: string,
  write: ItemWrite,
  guard: ReturnType<typeof condition>,
): Promise<boolean> {
  try {
    if (write.after) await client.send(new PutItemCommand({ TableName, Item: write.after, ...guard }))
    else await client.send(new DeleteItemCommand({ TableName, Key: keyOf(write), ...guard }))
    return true
  } catch (error) {
    if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
    return false
  }
}

const keyOf = ({ key: { pk, sk } }: ItemWrite): Attributes => ({ pk: { S: pk }, sk: { S: sk } })

/**
 * That the item is still what it was, attribute by attribute.
 *
 * @param apart says of lists and maps what is in them, which makes a long expression: DynamoDB takes 300 operators, and
 * compares them whole.
 */
function condition({ before }: ItemWrite, apart = false) {
  const names: Record<string, string> = { '#pk': CONFIG_TABLE.partitionKey }
  if (!before) return { ConditionExpression: 'attribute_not_exists(#pk)', ExpressionAttributeNames: names }
  const values: Attributes = {}
  const parts = ['attribute_exists(#pk)']
  const alias = (name: string) => {
    const known = Object.keys(names).find((one) => names[one] === name) ?? `#n${Object.keys(names).length}`
    names[known] = name
    return known
  }
  const equals = (operand: string, value: AttributeValue) => {
    const id = `:v${Object.keys(values).length}`
    values[id] = value
    parts.push(`${operand} = ${id}`)
  }
  const compare = (path: string, value: AttributeValue): void => {
    if (!apart || (value.L === undefined && value.M === undefined)) {
      equals(path, value)
      return
    }
    const inner = value.L
      ? value.L.map((one, i) => [`${path}[${i}]`, one] as const)
      : mapped(value.M!, (name) => `${path}.${alias(name)}`)
    equals(`size(${path})`, { N: String(inner.length) })
    for (const [at, one] of inner) compare(at, one)
  }
  for (const [name, value] of Object.entries(before)) {
    if (name !== CONFIG_TABLE.partitionKey && name !== CONFIG_TABLE.sortKey) compare(alias(name), value)
  }
  for (const name of FIELDS) if (before[name] === undefined) parts.push(`attribute_not_exists(${alias(name)})`)
  return {
    ConditionExpression: parts.join(' AND '),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  }
}

const mapped = (map: Attributes, path: (name: string) => string) =>
  Object.entries(map).map(([name, one]) => [path(name), one] as const)

function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length && keys.every((key) => isSame(one[key as never], other[key as never]))
  )
}
