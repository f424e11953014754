import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { type ExactItem, type StoredItem, withoutItemKey } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { UserError } from '../exit'
import { CONFIG_TABLE } from '../facade/tables'
import type { ConfigTable } from '../tables/config-table'
import type { Calls } from './calls'
import type { AttachJournal, Attachment, Step } from './steps'

const HEADER = 'journal'
const partition = (apiId: string) => `attachment#${apiId}`
const headerOf = (attachment: Attachment) => ({ pk: partition(attachment.apiId), sk: HEADER, ...attachment })

/** `step#method#GET /pets`: a repeated step overwrites its own item. */
function stepKey(step: Step): string {
  const detail = { method: 'key', integration: 'id', deployment: 'stage' } as const
  const field =
    step.kind in detail ? (step as unknown as Record<string, string>)[detail[step.kind as 'method']] : undefined
  return `step#${step.kind}${field === undefined ? '' : `#${field}`}`
}

/**
 * Reads and writes the journal of an API in the config table: one item for the attachment and one per step, in a
 * partition of its own. A step is recorded before it is done, so a crash leaves no step unrecorded.
 */
export class JournalStore {
  private readonly resource: string

  constructor(
    private readonly table: ConfigTable,
    private readonly calls: Calls,
  ) {
    this.resource = `table/${table.name}`
  }

  async read(apiId: string): Promise<AttachJournal | undefined> {
    const stored = await this.make('Query', () => this.table.partition(partition(apiId)))
    const header = stored.find(({ item }) => item.sk === HEADER)
    if (!header) return undefined
    const steps = stored.filter(({ item }) => item.sk.startsWith('step#'))
    // A label step restores an item's fields, so they have to be exact. Other steps are compared with what an API has.
    const fieldsOf = ({ item, exact }: StoredItem) => withoutItemKey(item.kind === 'label' ? exact : item)
    return {
      attachment: withoutItemKey(header.item) as unknown as Attachment,
      steps: steps.map(fieldsOf) as unknown as Step[],
    }
  }

  /** All attachments on record, by API id: of every limiter that has this config table. Reads the whole table. */
  async list(): Promise<Attachment[]> {
    const stored = await this.calls.make('dynamodb:Scan', this.resource, () =>
      this.table.scan('begins_with(#pk, :journals) AND #sk = :header', {
        names: { '#pk': CONFIG_TABLE.partitionKey, '#sk': CONFIG_TABLE.sortKey },
        values: { ':journals': partition(''), ':header': HEADER },
      }),
    )
    return stored
      .map(({ item }) => withoutItemKey(item) as unknown as Attachment)
      .sort((one, other) => (one.apiId < other.apiId ? -1 : 1))
  }

  /** Records an attachment before its first step. @throws UserError when another attach started meanwhile. */
  async begin(attachment: Attachment): Promise<void> {
    try {
      await this.put(headerOf(attachment), 'attribute_not_exists(pk)')
    } catch (error) {
      if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
      throw new UserError(`another attach of API ${attachment.apiId} started just now: nothing was changed`)
    }
  }

  /** Records the phase of an attachment. */
  async update(attachment: Attachment): Promise<void> {
    await this.put(headerOf(attachment))
  }

  /** Records a step: before it is done, and again with the ids that it created. */
  async note({ apiId }: Attachment, step: Step): Promise<void> {
    await this.put({ pk: partition(apiId), sk: stepKey(step), ...step })
  }

  /**
   * The write that records a step, for steps that are recorded in one transaction with their change. @param step
   * nothing: the record is deleted.
   */
  noteWrite({ apiId }: Attachment, step: Step | undefined, before: Step | undefined): GuardedWrite {
    const key = { pk: partition(apiId), sk: stepKey((step ?? before)!) }
    const toItem = (one: Step | undefined) => one && { ...key, ...one }
    return { key, before: toItem(before), after: toItem(step) }
  }

  /** Deletes the journal of an API, the header last: without it, steps that are left would never be found. */
  async forget({ attachment: { apiId }, steps }: AttachJournal): Promise<void> {
    for (const sk of [...steps.map(stepKey), HEADER]) {
      const Key = { pk: partition(apiId), sk }
      await this.make('DeleteItem', () =>
        this.table.documents.send(new DeleteCommand({ TableName: this.table.name, Key })),
      )
    }
  }

  private async put(Item: ExactItem, ConditionExpression?: string): Promise<void> {
    await this.make('PutItem', () =>
      this.table.documents.send(new PutCommand({ TableName: this.table.name, Item, ConditionExpression })),
    )
  }

  private make<T>(action: string, send: () => Promise<T>): Promise<T> {
    return this.table.named(() => this.calls.make(`dynamodb:${action}`, this.resource, send))
  }
}
