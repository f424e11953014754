import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { type ExactItem, type StoredItem, withoutItemKey } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { UserError } from '../exit'
import type { ConfigTable } from '../tables/config-table'
import type { Calls } from './calls'
import type { AttachJournal, Attachment, Step } from './steps'

const HEADER = 'journal'
const partition = (apiId: string) => `attachment#${apiId}`
const headerOf = (attachment: Attachment) => ({ pk: partition(attachment.apiId), sk: HEADER, ...attachment })

/** `step#method#GET /pets`: a step done again remembers in the same place. */
function stepKey(step: Step): string {
  const detail = { method: 'key', integration: 'id', deployment: 'stage' } as const
  const field =
    step.kind in detail ? (step as unknown as Record<string, string>)[detail[step.kind as 'method']] : undefined
  return `step#${step.kind}${field === undefined ? '' : `#${field}`}`
}

/**
 * What attach did to an API, in the config table: an item about the attachment and one for each step, in a partition of
 * its own. A step is written before it is done, so a death at any moment leaves nothing done that is not recorded.
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

  /** Remembers an attachment before its first step. @throws UserError when another attach began meanwhile. */
  async begin(attachment: Attachment): Promise<void> {
    try {
      await this.put(headerOf(attachment), 'attribute_not_exists(pk)')
    } catch (error) {
      if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
      throw new UserError(`another attach of API ${attachment.apiId} started just now: nothing was changed`)
    }
  }

  /** Remembers what is under way, or that nothing is. */
  async update(attachment: Attachment): Promise<void> {
    await this.put(headerOf(attachment))
  }

  /** Remembers a step: before it is done, and with what it made when it is. */
  async note({ apiId }: Attachment, step: Step): Promise<void> {
    await this.put({ pk: partition(apiId), sk: stepKey(step), ...step })
  }

  /**
   * The write that remembers a step, for those that are recorded with what they do in one transaction. @param step
   * nothing: it is forgotten.
   */
  noteWrite({ apiId }: Attachment, step: Step | undefined, before: Step | undefined): GuardedWrite {
    const key = { pk: partition(apiId), sk: stepKey((step ?? before)!) }
    const toItem = (one: Step | undefined) => one && { ...key, ...one }
    return { key, before: toItem(before), after: toItem(step) }
  }

  /** Forgets an API, what it is last: steps without their beginning would be looked for by nobody. */
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
