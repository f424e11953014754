import { type StoredItem, withoutItemKey } from '../../provisioning/documents'
import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import { UserError } from '../exit'
import { apiKey } from '../facade/tables'
import { apiItem, labelWrites, type ReadLabels, readLabels } from '../tables/api-labels'
import type { ConfigTable } from '../tables/config-table'
import type { Calls } from './calls'
import type { JournalStore } from './journal'
import { type ApiItem, calledText, isSameItem } from './plan-label'
import type { Attachment, LabelStep } from './steps'
import { ApiChangedError } from './unchanged-check'

/**
 * The label of an API in the config table. Label and journal entry are written and deleted in one transaction, so the
 * journal always knows which label attach set. Without transactions (not on AWS), the journal entry is written first.
 */
export class ApiLabel {
  private shown: Pick<ReadLabels, 'items'> | undefined

  constructor(
    private readonly table: ConfigTable,
    private readonly calls: Calls,
    private readonly journal: JournalStore,
    private readonly apiId: string,
  ) {}

  /** Reads the label that is shown to the user. Later writes replace this version only. */
  async read(): Promise<ApiItem> {
    this.shown = { items: await this.policySet() }
    return fieldsIn(this.shown, this.apiId)
  }

  /** @throws UserError for an invalid label, or one that another API has. */
  check(label: string, name?: string): void {
    labelWrites({ ...this.unchanged, version: undefined }, this.apiId, label, name)
  }

  /**
   * @param noted what was noted before. @throws UserError where somebody changed it since it was shown, or gave the
   * label to another API.
   */
  async give(attachment: Attachment, step: LabelStep, noted: LabelStep | undefined): Promise<void> {
    const { label, name } = step.after
    const item = (key: GuardedWrite['key']) =>
      this.calls.make('dynamodb:GetItem', this.resource, () => this.table.item(key))
    const now = await readLabels({ item, policySet: () => this.policySet() })
    this.compare(now)
    const writes = labelWrites(now, this.apiId, String(label), name === undefined ? undefined : String(name))
    await this.write('PutItem', [this.journal.noteWrite(attachment, step, noted), ...writes])
  }

  /** Restores the label from before attach, and deletes the journal entry. */
  async revert(attachment: Attachment, noted: LabelStep): Promise<void> {
    const now = { items: await this.policySet() }
    this.compare(now)
    const key = apiKey(this.apiId)
    const after = noted.before && { ...key, ...noted.before }
    const forgotten = this.journal.noteWrite(attachment, undefined, noted)
    await this.write('DeleteItem', [{ key, before: apiItem(now, this.apiId)?.exact, after }, forgotten])
  }

  private get unchanged(): Pick<ReadLabels, 'items'> {
    if (!this.shown) throw new Error('a label must be read before it is changed')
    return this.shown
  }

  private compare(now: Pick<ReadLabels, 'items'>): void {
    const fields = fieldsIn(now, this.apiId)
    if (!isSameItem(fields, fieldsIn(this.unchanged, this.apiId)))
      throw new ApiChangedError(calledText(this.apiId, fields))
  }

  private policySet(): Promise<StoredItem[]> {
    return this.calls.make('dynamodb:Query', this.resource, () => this.table.policySet())
  }

  private async write(action: string, writes: readonly GuardedWrite[]): Promise<void> {
    try {
      await this.calls.make(`dynamodb:${action}`, this.resource, () => this.table.write(writes))
    } catch (error) {
      if (!(error instanceof WriteConflictError)) throw error
      throw new UserError('a label was changed at the same moment, and was kept: try again')
    }
  }

  private get resource(): string {
    return `table/${this.table.name}`
  }
}

function fieldsIn(read: Pick<ReadLabels, 'items'>, apiId: string): ApiItem {
  const found = apiItem(read, apiId)
  return found && withoutItemKey(found.exact)
}
