import { setTimeout as pause } from 'node:timers/promises'
import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { apiKey, CONFIG_TABLE } from '../../lambda/config-table/items/config-items'
import { LABELS_VERSION, labelIssues, nextLabelsVersion } from '../../provisioning/api-labels'
import { contentHash, type PolicySetItem, withoutKeys } from '../../provisioning/tiers-file'
import { readPartition, SEED_PARTITION } from './seed-items'

type Client = Pick<DynamoDBClient, 'send'>
type Fields = Readonly<Record<string, unknown>>

/** A label as a stack asks for it. */
export interface LabelRequest {
  readonly id: string
  readonly name?: string
  readonly label: string
  /** The stack and the resource in it. */
  readonly owner: string
  /** The API that this resource labelled until now, where it is another one: its replacement takes the label over. */
  readonly replaced?: string
  /** Whether somebody else's label is an error. @default it is kept, as with tiers */
  readonly isNew?: boolean
}

/** Beside an API's item, under the same sort key: who wrote it and what, and whose it was before. */
interface Note extends PolicySetItem {
  readonly hash: string
  readonly owner: string
  /**
   * The resource from which this one took the API over, and what that had written; it comes back if this one goes
   * first, as in a rollback.
   */
  readonly from?: { readonly owner: string; readonly item: Fields }
}

const noteKey = (id: string) => ({ pk: SEED_PARTITION, sk: apiKey(id).sk })

/** Others may give labels at the same time, such as for all APIs of an app; tries last for a minute. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 400

/**
 * What the config table holds of labels, read so that a write on the condition that it still does sees who came in
 * between.
 */
async function read(client: Client, table: string) {
  // first: whoever gives a label after this raises it
  const versions = await readPartition(client, table, LABELS_VERSION.pk)
  const items = await readPartition(client, table, CONFIG_TABLE.policySet)
  const notes = await readPartition(client, table, SEED_PARTITION)
  return {
    version: versions.get(LABELS_VERSION.sk),
    items,
    item: (id: string) => items.get(apiKey(id).sk),
    note: (id: string) => notes.get(apiKey(id).sk) as Note | undefined,
    /** Whether an API's item is as a deployment wrote it. */
    isOurs(id: string): boolean {
      const [item, note] = [this.item(id), this.note(id)]
      return item !== undefined && note !== undefined && contentHash(item) === note.hash
    },
  }
}

/**
 * Gives an API its label, and the API that it replaces none: all or nothing.
 *
 * @returns what became of it: `kept` is somebody else's label.
 * @throws where the label cannot be given; nothing is written then.
 */
export async function giveLabel(
  client: Client,
  table: string,
  request: LabelRequest,
): Promise<'written' | 'unchanged' | 'kept'> {
  const { id, name, label, owner, replaced, isNew = false } = request
  return retried(async () => {
    const now = await read(client, table)
    const [item, note] = [now.item(id), now.note(id)]
    const fields = { ...(name && { name }), label }
    const wanted = { ...apiKey(id), ...fields }
    const moved =
      replaced !== undefined && now.isOurs(replaced) && now.note(replaced)!.owner === owner ? replaced : undefined

    const issues = labelIssues(
      [...now.items.values()].filter(({ sk }) => moved === undefined || sk !== apiKey(moved).sk),
      id,
      fields,
    )
    if (issues.length > 0) throw new Error(issues.join('; '))
    const isOurs = now.isOurs(id) && (item?.label === label || stackOf(note!.owner) === stackOf(owner))
    if (item?.label !== undefined && !isOurs) {
      if (item.label !== label && isNew)
        throw new Error(
          `API ${id} is called "${item.label}" already, and this stack did not call it so: sluice apis remove ${id}, or say as: '${item.label}'`,
        )
      return item.label === label ? 'unchanged' : 'kept'
    }
    const isTakenOver = isOurs && note!.owner !== owner
    const from = isTakenOver
      ? { owner: note!.owner, item: withoutKeys(item!) }
      : note?.owner === owner
        ? note.from
        : undefined
    const noted = { ...noteKey(id), hash: contentHash(wanted), owner, ...(from && { from }) }
    if (
      item &&
      note &&
      contentHash(item) === noted.hash &&
      contentHash(note) === contentHash(noted) &&
      moved === undefined
    )
      return 'unchanged'
    await write(client, table, [
      [now.version, nextLabelsVersion(now.version)],
      [item, wanted],
      [note, noted],
      ...(moved === undefined
        ? []
        : ([
            [now.item(moved), undefined],
            [now.note(moved), undefined],
          ] as const)),
    ])
    return 'written'
  })
}

/**
 * Takes a label away that is still as this resource gave it; another resource that it took the API over from has its
 * own back.
 */
export async function takeLabel(
  client: Client,
  table: string,
  id: string,
  owner: string,
): Promise<'removed' | 'restored' | 'kept'> {
  return retried(async () => {
    const now = await read(client, table)
    const [item, note] = [now.item(id), now.note(id)]
    if (note?.from?.owner === owner) {
      const { from: _, ...rest } = note
      await write(client, table, [[note, rest]])
    }
    if (note?.owner !== owner) return 'kept'
    const from = note.from && { fields: note.from.item as { readonly label: string }, owner: note.from.owner }
    if (!now.isOurs(id)) {
      await write(client, table, [[note, undefined]])
      return 'kept'
    }
    if (from && labelIssues([...now.items.values()], id, from.fields).length === 0) {
      const before = { ...apiKey(id), ...from.fields }
      await write(client, table, [
        [now.version, nextLabelsVersion(now.version)],
        [item, before],
        [note, { ...noteKey(id), hash: contentHash(before), owner: from.owner }],
      ])
      return 'restored'
    }
    await write(client, table, [
      [item, undefined],
      [note, undefined],
    ])
    return 'removed'
  })
}

const stackOf = (owner: string): string => owner.split(' ', 1)[0]!

type Change = readonly [before: PolicySetItem | undefined, after: PolicySetItem | undefined]

/** Writes all of it, or nothing where one item is no longer what it was. */
async function write(client: Client, table: string, changes: readonly Change[]): Promise<void> {
  const TransactItems = changes.map(([before, after]): TransactWriteItem => {
    const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
      (name) => name !== 'pk' && name !== 'sk',
    )
    const parts = fields.map((name, i) =>
      before?.[name] === undefined ? `attribute_not_exists(#${i})` : `#${i} = :${i}`,
    )
    const values = Object.fromEntries(
      fields.flatMap((name, i) => (before?.[name] === undefined ? [] : [[`:${i}`, before[name]]])),
    )
    const guard = before
      ? {
          ConditionExpression: ['attribute_exists(pk)', ...parts].join(' AND '),
          ExpressionAttributeNames: Object.fromEntries(fields.map((name, i) => [`#${i}`, name])),
          ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: marshall(values) }),
        }
      : { ConditionExpression: 'attribute_not_exists(pk)' }
    if (after) return { Put: { TableName: table, Item: marshall(after, { removeUndefinedValues: true }), ...guard } }
    return { Delete: { TableName: table, Key: marshall({ pk: before!.pk, sk: before!.sk }), ...guard } }
  })
  await client.send(new TransactWriteItemsCommand({ TransactItems }))
}

/** Does it again from the start where somebody came in between. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const { CancellationReasons = [] } = error as {
        readonly CancellationReasons?: readonly { readonly Code?: string }[]
      }
      const isConflict = CancellationReasons.some(({ Code = '' }) =>
        /ConditionalCheckFailed|TransactionConflict/.test(Code),
      )
      if (!isConflict || Date.now() > until) throw error
      await pause(Math.random() * PAUSE_MS)
    }
  }
}
