import { printed } from '../limiter/errors'
import { recordsOf } from './client-records'
import type { Answering, Session } from './command'
import { type ConfigTable, type StoredItem, toAttributes } from './config-table'
import { UserError } from './exit'
import { ChangedMeanwhile, type ItemWrite } from './item-writes'

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
    records.map(({ item, attributes }) => {
      const after = change(
        item,
        records.map((record) => record.item),
      )
      return { key: { pk: item.pk, sk: item.sk }, before: attributes, ...(after && { after: toAttributes(after) }) }
    }),
  )
}

/** Writes records of a client, to the end whatever is pressed. */
export async function writeRecords(
  session: Session,
  table: ConfigTable,
  id: string,
  writes: readonly ItemWrite[],
): Promise<void> {
  try {
    await session.io.interrupts.during(() => table.write(writes))
  } catch (error) {
    throw error instanceof ChangedMeanwhile
      ? new UserError(`somebody changed client ${printed(id)} just now: look at it and try again`)
      : error
  }
}

/** Says what was done, to people or to scripts. */
export function tell({ print }: Session, { json }: Answering, sentence: string, value: Fields): void {
  if (json) print.json(value)
  else print.line(sentence)
}
