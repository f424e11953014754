import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { apiKey, CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { LABELS_VERSION, labelIssues, nextLabelsVersion } from '../../provisioning/api-labels'
import type { AuditTrail } from '../../provisioning/audit-trail'
import { type ItemKey, readPartition, type StoredItem, withNumbers, withoutItemKey } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { contentHash, type PolicySetItem } from '../../provisioning/tiers-file'
import { retried, write } from './retried'
import { SEED_PARTITION } from './seed-partition'

type Fields = Readonly<Record<string, unknown>>

/** A label that a stack requests. */
export interface LabelRequest {
  readonly id: string
  readonly name?: string
  readonly label: string
  /** The stack and the resource in it. */
  readonly owner: string
  /** The API that this resource labelled before, if it is another one: the new one takes the label over. */
  readonly replaced?: string
  /** Whether an existing label of another writer is an error. @default it is kept, as with tiers */
  readonly isNew?: boolean
}

/**
 * Beside an API's item, under the same sort key: which resource wrote the item, what it wrote, and whose it was before.
 */
interface Note extends PolicySetItem {
  readonly hash: string
  readonly owner: string
  /**
   * The resource that labelled the API before this one, and the fields that it had written. They are restored if this
   * resource is deleted first, as in a rollback.
   */
  readonly from?: { readonly owner: string; readonly item: Fields }
}

const noteKey = (id: string) => ({ pk: SEED_PARTITION, sk: apiKey(id).sk })

/** The labels in the config table, read in an order that makes a conditional write fail if one is given meanwhile. */
async function read(documents: DynamoDBDocumentClient, table: string) {
  // Read first: every later label increments it.
  const versions = await readPartition(documents, table, LABELS_VERSION.pk)
  const items = await readPartition(documents, table, CONFIG_TABLE.policySet)
  const notes = await readPartition(documents, table, SEED_PARTITION)
  const find = (stored: readonly StoredItem[], sk: string) => stored.find(({ item }) => item.sk === sk)
  const version = find(versions, LABELS_VERSION.sk)
  return {
    items: items.map(({ item }) => item),
    item: (id: string) => find(items, apiKey(id).sk),
    note: (id: string) => find(notes, apiKey(id).sk),
    /** The fields of a note. */
    noted: (id: string) => find(notes, apiKey(id).sk)?.item as Note | undefined,
    /** Whether an API's item still is what a deployment wrote. */
    isOurs(id: string): boolean {
      const item = this.item(id)?.item
      return item !== undefined && contentHash(item) === this.noted(id)?.hash
    },
    /** The write that makes a concurrent label fail. */
    nextVersion: (): GuardedWrite => ({
      key: LABELS_VERSION,
      before: version?.exact,
      after: nextLabelsVersion(version?.item),
    }),
    /** The writes of an API's item and of its note; a missing field deletes. */
    writesOf(id: string, after: { readonly item?: Fields; readonly note?: Fields }): GuardedWrite[] {
      return [this.writeOf(apiKey(id), this.item(id), after.item), this.writeOf(noteKey(id), this.note(id), after.note)]
    },
    writeOf: (key: ItemKey, before: StoredItem | undefined, fields?: Fields): GuardedWrite => ({
      key,
      before: before?.exact,
      after: fields && { ...key, ...fields },
    }),
  }
}

/**
 * Gives an API its label, and removes it from the API that it replaces: both or neither.
 *
 * @returns the result; `kept`: another writer's label stays.
 * @throws if the label cannot be given; then nothing is written.
 */
export async function giveLabel(
  documents: DynamoDBDocumentClient,
  table: string,
  request: LabelRequest,
  trail?: AuditTrail,
): Promise<'written' | 'unchanged' | 'kept'> {
  const { id, name, label, owner, replaced, isNew = false } = request
  return retried(async () => {
    const now = await read(documents, table)
    const [item, noted] = [now.item(id)?.item, now.noted(id)]
    const fields = { ...(name && { name }), label }
    const moved =
      replaced !== undefined && now.isOurs(replaced) && now.noted(replaced)!.owner === owner ? replaced : undefined

    const others = now.items.filter(({ sk }) => moved === undefined || sk !== apiKey(moved).sk)
    const issues = labelIssues(others, id, fields)
    if (issues.length > 0) throw new Error(issues.join('; '))
    const isOurs = now.isOurs(id) && (item?.label === label || stackOf(noted!.owner) === stackOf(owner))
    if (item?.label !== undefined && !isOurs) {
      if (item.label !== label && isNew)
        throw new Error(
          `API ${id} already has the label "${item.label}", which this stack did not set: run sluice apis remove ${id}, or set as: '${item.label}'`,
        )
      return item.label === label ? 'unchanged' : 'kept'
    }
    const isTakenOver = isOurs && noted!.owner !== owner
    const from = isTakenOver
      ? { owner: noted!.owner, item: withoutItemKey(now.item(id)!.exact) }
      : noted?.owner === owner
        ? now.note(id)!.exact.from
        : undefined
    const note = { hash: contentHash(fields), owner, ...(from && { from }) }
    const isWritten = item && contentHash(item) === note.hash && noted && contentHash(noted) === hashOf(note)
    if (isWritten && moved === undefined) return 'unchanged'
    await write(
      documents,
      table,
      [
        now.nextVersion(),
        ...now.writesOf(id, { item: fields, note }),
        ...(moved === undefined ? [] : now.writesOf(moved, {})),
      ],
      trail,
    )
    return 'written'
  })
}

/**
 * Removes a label that still is as this resource gave it. If this resource had taken the API over from another one, the
 * other one's label is restored.
 */
export async function takeLabel(
  documents: DynamoDBDocumentClient,
  table: string,
  id: string,
  owner: string,
  trail?: AuditTrail,
): Promise<'removed' | 'restored' | 'kept'> {
  return retried(async () => {
    const now = await read(documents, table)
    const [note, noted] = [now.note(id), now.noted(id)]
    if (noted?.from?.owner === owner) {
      const { from: _, ...rest } = withoutItemKey(note!.exact)
      await write(documents, table, [now.writeOf(noteKey(id), note, rest)])
    }
    if (noted?.owner !== owner) return 'kept'
    if (!now.isOurs(id)) {
      await write(documents, table, [now.writeOf(noteKey(id), note)])
      return 'kept'
    }
    if (noted.from && labelIssues(now.items, id, noted.from.item as { readonly label: string }).length === 0) {
      const fields = note!.exact.from.item as Fields
      await write(
        documents,
        table,
        [
          now.nextVersion(),
          ...now.writesOf(id, { item: fields, note: { hash: hashOf(fields), owner: noted.from.owner } }),
        ],
        trail,
      )
      return 'restored'
    }
    await write(documents, table, now.writesOf(id, {}), trail)
    return 'removed'
  })
}

const stackOf = (owner: string): string => owner.split(' ', 1)[0]!

const hashOf = (fields: Fields): string => contentHash(withNumbers(fields) as Fields)
