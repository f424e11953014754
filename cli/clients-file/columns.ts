import type { ItemKey } from '../../provisioning/documents'
import { ownKey } from '../callers/client-records'
import { UserError } from '../exit'
import { clientKey } from '../facade/tables'
import { nearest, printed } from '../facade/values'

/** The columns by which a row says whose credential it is: one of them has a value. */
const CREDENTIALS = ['key', 'keyHash', 'credential'] as const

/** The columns that are fields of a client's item. */
export const FIELDS = [
  'id',
  'tier',
  'name',
  'overrides',
  'disabled',
  'expiresAt',
  'notes',
  'usageIdentifierKey',
] as const
export type Field = (typeof FIELDS)[number]
type Column = Field | (typeof CREDENTIALS)[number]

const COLUMNS: readonly Column[] = [...FIELDS.slice(0, 2), ...CREDENTIALS, ...FIELDS.slice(2)]

/** What is exported: a key itself is nowhere, and a usage identifier key only where somebody asks for it. */
export const EXPORTED: readonly Column[] = COLUMNS.filter((name) => name !== 'key' && name !== 'usageIdentifierKey')

/** Fields that all credentials of a client share. */
export const SHARED = ['tier', 'name', 'overrides', 'disabled', 'notes', 'usageIdentifierKey'] as const

/** A mistake in a row, with the column that it is in. */
export class CellError extends Error {
  constructor(
    readonly column: string,
    message: string,
  ) {
    super(message)
  }
}

/** The columns of a file. @throws UserError that names each that is wrong */
export function columnsOf(headings: readonly string[]): readonly Column[] {
  const names = headings.map((heading) => heading.trim())
  const unknown = names.filter((name) => !COLUMNS.includes(name as Column))
  const twice = names.filter((name, i) => names.indexOf(name) < i)
  const missing = [
    ...(['id', 'tier'] as const).filter((name) => !names.includes(name)),
    ...(CREDENTIALS.some((name) => names.includes(name)) ? [] : [CREDENTIALS.join(' or ')]),
  ]
  const wrong = [
    ...unknown.map((name) => {
      const near = nearest(name, COLUMNS)
      return `column ${printed(name)} is unknown${near === undefined ? '' : `, did you mean "${near}"?`}`
    }),
    ...twice.map((name) => `column ${printed(name)} appears twice`),
    ...missing.map((name) => `column ${name} is missing`),
  ]
  if (wrong.length > 0) throw new UserError(`line 1: ${wrong.join('; ')}; known are ${COLUMNS.join(', ')}`)
  return names as Column[]
}

export type Cells = Readonly<Partial<Record<Column, string>>>

/** A credential that is no API key, as the table names it. */
const OTHER_CREDENTIAL = /^(?:(?:user|client)(?:@[^:\s]{1,1024})?|api-gateway-key|client-certificate):.{1,1024}$/s
const HASH = /^[0-9a-f]{64}$/

/**
 * The key of the record that a row is about. A key is hashed here, and goes no further.
 *
 * @throws CellError that says nothing of the value, which may be a key in any of the columns.
 */
export function recordKeyOf(cells: Cells): ItemKey {
  const given = CREDENTIALS.filter((name) => cells[name] !== undefined && cells[name]!.trim() !== '')
  const [column, other] = given
  if (column === undefined) throw new CellError(CREDENTIALS.join(' or '), 'a value is missing')
  if (other !== undefined) throw new CellError(other, `it has a value as well as ${column}: give only one`)
  const text = cells[column]!.trim()
  if (column === 'key') {
    if (!/^[ -~]{1,512}$/.test(text)) throw new CellError(column, 'it must be an API key of 1 to 512 ASCII characters')
    return ownKey(text)
  }
  if (column === 'keyHash') {
    if (!HASH.test(text)) throw new CellError(column, 'it must be a SHA-256 in 64 lower-case hexadecimal digits')
    return clientKey(text)
  }
  if (!OTHER_CREDENTIAL.test(text))
    throw new CellError(
      column,
      'it must look like "api-gateway-key:a1b2c3d4e5", "user:42", "client:acme" or "client-certificate:<SHA-256>"',
    )
  return clientKey(text)
}

/** The fields that a row sets: `undefined` removes one; a field without a column is left as it is. */
export function fieldsOf(cells: Cells): Partial<Record<Field, unknown>> {
  const fields: Partial<Record<Field, unknown>> = {}
  for (const name of FIELDS) {
    const text = cells[name]
    const toValue = VALUES[name]
    if (text !== undefined) fields[name] = text === '' ? undefined : toValue ? toValue(text) : text
  }
  return fields
}

const VALUES: Partial<Record<Field, (text: string) => unknown>> = {
  overrides(text) {
    try {
      return JSON.parse(text)
    } catch {
      throw new CellError('overrides', `it must be JSON such as {"per-minute":{"limit":600}}, got ${printed(text)}`)
    }
  },
  // spreadsheets write TRUE and FALSE
  disabled(text) {
    if (/^true$/i.test(text)) return true
    if (/^false$/i.test(text)) return undefined
    throw new CellError('disabled', `it must be true, false or empty, got ${printed(text)}`)
  },
  usageIdentifierKey: (text) => (/^true$/i.test(text) ? true : text),
}

/** The cells of a record, in the order of the columns. */
export function cellsOf(item: Readonly<Record<string, unknown>> & ItemKey, columns: readonly Column[]): string[] {
  const credential = item.pk.slice('client#'.length)
  return columns.map((column) => {
    if (column === 'keyHash') return HASH.test(credential) ? credential : ''
    if (column === 'credential') return HASH.test(credential) ? '' : credential
    const value = item[column]
    return value === undefined || value === false ? '' : typeof value === 'object' ? JSON.stringify(value) : `${value}`
  })
}
