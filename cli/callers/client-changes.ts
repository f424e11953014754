import { keepExact, type StoredItem } from '../../provisioning/documents'
import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import type { OutputOptions, Session } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { recordsOf } from './client-records'
import { signatureDeletions } from './signatures'

type Fields = Readonly<Record<string, unknown>>

/**
 * Changes every record of a client, all or none where the engine can.
 *
 * @param change the fields of a record as they shall be, `undefined` deletes it; gets all records of the client beside.
 */
export async function changeClient(
  session: Session,
  table: ConfigTable,
  id: string,
  change: (item: StoredItem['item'], all: readonly StoredItem['item'][]) => Fields | undefined,
): Promise<void> {
  const records = await recordsOf(table, id)
  await writeRecords(
    session,
    table,
    id,
    records.map((stored) => {
      const { item, exact } = stored
      const after = change(
        item,
        records.map((record) => record.item),
      )
      return { key: { pk: item.pk, sk: item.sk }, before: exact, ...(after && { after: keepExact(after, stored) }) }
    }),
  )
}

/** Writes records of a client, and deletes what is beside those that it deletes. Ctrl-C does not interrupt it. */
export async function writeRecords(
  session: Session,
  table: ConfigTable,
  id: string,
  writes: readonly GuardedWrite[],
): Promise<void> {
  try {
    const deleted = writes.flatMap(({ key, after }) => (after ? [] : [key.pk]))
    const signatures = await signatureDeletions(table, deleted)
    await session.io.interrupts.during(() => table.write([...writes, ...signatures]))
  } catch (error) {
    throw error instanceof WriteConflictError
      ? new UserError(`client ${printed(id)} was changed at the same moment: check it and try again`)
      : error
  }
}

/** Says what was done, to people or to scripts. */
export function tell({ print }: Session, { json }: OutputOptions, sentence: string, value: Fields): void {
  if (json) print.json(value)
  else print.line(sentence)
}
