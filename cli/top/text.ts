import { iso } from '../arguments'
import type { Printer } from '../terminal/output'
import { duration } from '../terminal/output'
import type { Source } from './source'
import type { Field, Row, Summary } from './tally'

/** What is to be shown of a moment. */
export interface View {
  readonly source: Source
  readonly at: number
  readonly by: readonly Field[]
  readonly summary: Summary
  /** Those to show, in order; there may be more. */
  readonly rows: readonly Row[]
  readonly names: ReadonlyMap<string, string>
  /** Why the last reading failed. */
  readonly trouble?: string | undefined
}

/** For scripts. */
export function toJson({ source, at, summary, rows, names, trouble }: View) {
  const { from, denials, isLowerBound, notLogged } = summary
  const perSecond = (count: number) => (count * 1000) / (at - from)
  return {
    source: { kind: source.kind, name: source.name },
    from: iso(from),
    to: iso(at),
    denials,
    perSecond: perSecond(denials),
    isLowerBound,
    notLogged,
    rows: rows.map((row) => ({
      ...row.values,
      ...('client' in row.values && { client: nameIn(row, names) ?? null, subject: row.values.client ?? '' }),
      ...('route' in row.values ? { route: row.values.route ?? null } : { routes: row.routes }),
      denials: row.denials,
      perSecond: perSecond(row.denials),
      isLowerBound,
      last: iso(row.last),
    })),
    moreRows: summary.rows.length - rows.length,
    ...(trouble !== undefined && { trouble }),
  }
}

/** Whose hash it is, where somebody knows; the name itself where the log has it. */
const nameIn = ({ values }: Row, names: View['names']): string | undefined =>
  values.client === undefined || values.client === ''
    ? undefined
    : (names.get(values.client) ?? (/^[a-z][a-z0-9-]*[~#]/.test(values.client) ? undefined : values.client))

/** For people: what was denied, and a table of by whom and by what. */
export function toLines(view: View, print: Printer): string[] {
  const { source, at, by, summary, rows, names, trouble } = view
  const { from, denials, isLowerBound, notLogged } = summary
  const least = isLowerBound ? '≥ ' : ''
  const rate = (count: number) => `${least}${rateText((count * 1000) / (at - from), isLowerBound)}`
  const number = (count: number) => `${least}${count.toLocaleString('en-US')}`
  const head = `${iso(at)}  ${source.name}, the last ${duration(at - from)}`
  const total = `${number(denials)} denied, ${rate(denials)} a second${isLowerBound && trouble === undefined ? LOWER_BOUND[source.kind] : ''}`
  const more = summary.rows.length - rows.length
  const isByRoute = by.includes('route')
  const columns = ['DENIED', 'A SECOND', ...by.map((field) => field.toUpperCase()), ...(isByRoute ? [] : ['ROUTES'])]
  const cells = rows.map((row) => [
    number(row.denials),
    rate(row.denials),
    ...by.map((field) => cellOf(field, row, names)),
    ...(isByRoute ? [] : [routesText(row.routes)]),
  ])
  return [
    print.style('bold', head),
    total,
    ...(notLogged > 0
      ? [`${notLogged.toLocaleString('en-US')} more requests were in no line that names a caller`]
      : []),
    ...(trouble === undefined ? [] : [print.style('red', trouble)]),
    '',
    ...(rows.length === 0 ? ['no caller is denied'] : print.tableLines(columns, cells)),
    ...(more > 0 ? [`… and ${more} more: --limit`] : []),
  ]
}

const LOWER_BOUND = {
  log: '; at least, since the log does not have every denial',
  gateway: '; at least, since the gateway has forgotten some',
} as const

function cellOf(field: Field, row: Row, names: View['names']): string {
  if (field === 'client') return nameIn(row, names) ?? (row.values.client || '-')
  if (field === 'route' && row.values.route === undefined) return '(in no line)'
  return row.values[field] || '-'
}

const MAX_ROUTES = 2

const routesText = (routes: readonly string[]): string => {
  const shown = routes.slice(0, MAX_ROUTES).map((route) => route || '-')
  return `${shown.join(', ')}${routes.length > MAX_ROUTES ? ` and ${routes.length - MAX_ROUTES} more` : ''}`
}

/** `12`, `3.4`, `0.05`: two digits that say something, or more. A lower bound is rounded down, and stays one. */
function rateText(rate: number, isLowerBound: boolean): string {
  const round = isLowerBound ? Math.floor : Math.round
  const factor = rate > 0 ? 10 ** Math.max(0, 1 - Math.floor(Math.log10(rate))) : 1
  return (round(rate * factor) / factor).toLocaleString('en-US', { maximumSignificantDigits: 15 })
}
