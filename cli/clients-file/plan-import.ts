import { isDeepStrictEqual } from 'node:util'
import { keepExact, type StoredItem } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { checkTierIn } from '../callers/client-records'
import { checkOverridesIn } from '../callers/overrides'
import { UserError } from '../exit'
import type { Configuration } from '../facade/policies'
import { printed } from '../facade/values'
import { FIELDS, SHARED } from './columns'
import type { Mistakes, Row } from './read-rows'

/** What becomes of one client: its records are written together. */
export interface ClientChange {
  readonly id: string
  readonly added: number
  readonly changed: number
  /** Names of fields that change in a record that exists. */
  readonly fields: readonly string[]
  readonly writes: readonly GuardedWrite[]
}

export interface ImportPlan {
  readonly changes: readonly ClientChange[]
  readonly added: number
  readonly changed: number
  readonly unchanged: number
}

type Item = Readonly<Record<string, unknown>>

/** A row beside the record of its credential. */
interface Planned {
  readonly row: Row
  readonly before: StoredItem | undefined
  readonly after: Item
  readonly fields: readonly string[]
}

/**
 * Works out what makes the table's clients those of the rows. Records that no row names stay as they are.
 *
 * @param pages the records of all clients, a page after another.
 * @throws UserError with every mistake by line and column.
 */
export async function planImport(
  rows: readonly Row[],
  pages: AsyncIterable<readonly StoredItem[]>,
  configuration: Configuration,
  mistakes: Mistakes,
): Promise<ImportPlan> {
  const [records, others] = await recordsFor(rows, pages)
  const byId = new Map<string, Planned[]>()
  for (const row of rows) {
    const planned = planRow(row, records.get(row.key.pk))
    const same = byId.get(row.id)
    if (same) same.push(planned)
    else byId.set(row.id, [planned])
  }
  const check = checkerFor(configuration, mistakes)
  const changes: ClientChange[] = []
  for (const [id, all] of byId) {
    checkAlike(all, others.get(id) ?? [], mistakes)
    const due = all.filter(({ fields }) => fields.length > 0)
    if (due.length === 0) continue
    for (const one of due) check(one)
    const added = due.filter(({ before }) => !before).length
    changes.push({
      id,
      added,
      changed: due.length - added,
      fields: [...new Set(due.flatMap(({ before, fields }) => (before ? fields : [])))],
      writes: due.map(({ row: { key }, before, after }) => ({
        key,
        before: before?.exact,
        after: keepExact(after, before),
      })),
    })
  }
  mistakes.end()
  const sum = (count: (change: ClientChange) => number) => changes.reduce((all, change) => all + count(change), 0)
  const [added, changed] = [sum((one) => one.added), sum((one) => one.changed)]
  return { changes, added, changed, unchanged: rows.length - added - changed }
}

/** The records of the rows' credentials, and by their id those of the same clients that no row names. */
async function recordsFor(
  rows: readonly Row[],
  pages: AsyncIterable<readonly StoredItem[]>,
): Promise<[Map<string, StoredItem>, Map<string, Item[]>]> {
  const keys = new Set(rows.map(({ key }) => key.pk))
  const ids = new Set(rows.map(({ id }) => id))
  const records = new Map<string, StoredItem>()
  const others = new Map<string, Item[]>()
  for await (const page of pages) {
    for (const stored of page) {
      const { pk, id } = stored.item as Item & { readonly pk: string }
      if (keys.has(pk)) records.set(pk, stored)
      else if (typeof id === 'string' && ids.has(id)) others.set(id, [...(others.get(id) ?? []), stored.item])
    }
  }
  return [records, others]
}

/** A field that is false or empty is as one that is not there. */
const valueIn = (item: Item, field: string): unknown =>
  item[field] === false || item[field] === '' ? undefined : item[field]

const differs = (one: Item, other: Item, field: string): boolean =>
  !isDeepStrictEqual(valueIn(one, field), valueIn(other, field))

function planRow(row: Row, before: StoredItem | undefined): Planned {
  const { key, fields } = row
  if (!before) return { row, before, after: { ...fields, ...key }, fields: FIELDS }
  const item: Item = before.item
  const changed = Object.keys(fields).filter((field) => differs({ ...fields }, item, field))
  const after = { ...item, ...Object.fromEntries(changed.map((field) => [field, fields[field as never]])) }
  return { row, before, after, fields: changed }
}

/** All credentials of a client must say the same of it, those among them that only the table has. */
function checkAlike([first, ...more]: readonly Planned[], others: readonly Item[], mistakes: Mistakes): void {
  for (const { row, after } of more) {
    const field = SHARED.find((name) => differs(after, first!.after, name))
    if (field !== undefined)
      mistakes.add(row.line, field, `it differs from line ${first!.row.line}, which is the same client`)
  }
  for (const other of others) {
    const field = SHARED.find((name) => differs(other, first!.after, name))
    if (field === undefined) continue
    const { line, id } = first!.row
    const what = `client ${printed(id)} has another credential in the table, for which it would differ`
    mistakes.add(line, field, `${what}: add that credential to the file`)
    return
  }
}

/** Checks a tier and overrides against the table's policies, each combination once. */
function checkerFor(configuration: Configuration, mistakes: Mistakes): (planned: Planned) => void {
  const known = new Map<string, string | undefined>()
  return ({ row, before, after }) => {
    const overrides = (after.overrides ?? {}) as Readonly<Record<string, object>>
    const had = (before?.item as Item | undefined)?.overrides ?? {}
    const added = Object.keys(overrides).filter((name) => !Object.hasOwn(had as object, name))
    const [tier, id] = [String(after.tier), row.id]
    const check = (what: string, column: string, work: () => void) => {
      if (!known.has(what)) known.set(what, messageOf(work))
      const message = known.get(what)
      if (message !== undefined) mistakes.add(row.line, column, message)
      return message === undefined
    }
    if (!check(tier, 'tier', () => checkTierIn(configuration.policies, tier)) || added.length === 0) return
    check(JSON.stringify([tier, overrides, added]), 'overrides', () =>
      checkOverridesIn(configuration, id, tier, overrides, added),
    )
  }
}

function messageOf(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.message.replace(/^--override /, '')
  }
}
