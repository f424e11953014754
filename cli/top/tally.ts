import type { EpochMs } from '../facade/values'
import type { Denial } from './denial'
import type { News } from './source'

/** By what denials can be told apart. */
export const FIELDS = ['client', 'tier', 'policy', 'reason', 'route', 'api'] as const
export type Field = (typeof FIELDS)[number]

/** Denials that have the same values of some fields. */
export interface Row {
  /** By field; `undefined` for a route that no line names. `client` is a hash, or who it is where the log says so. */
  readonly values: { readonly [Name in Field]?: string | undefined }
  readonly denials: number
  /** When the last one was that has a line of its own. */
  readonly last: EpochMs
  /** The routes of its lines. */
  readonly routes: readonly string[]
}

/** What was denied within a time. */
export interface Summary {
  readonly from: EpochMs
  readonly denials: number
  /** Whether there may have been more than `denials`, in all and in each row. */
  readonly isLowerBound: boolean
  /** Requests of which the lines say that no line names their callers. Some may be older, or were allowed. */
  readonly notLogged: number
  readonly rows: readonly Row[]
}

/** How many lines are kept: about 40 MB. What is older is given up then, and the numbers are lower bounds. */
export const MAX_LINES = 200_000

/**
 * Adds up the denials of the last while. No denial counts twice, and none that may be older: what a line says of
 * denials without lines counts where the line before it is within the time as well.
 */
export class Tally {
  private denials: Denial[] = []
  private others: News['others'] = []
  private completeFrom: EpochMs = 0

  constructor(private readonly most = MAX_LINES) {}

  add({ denials, others, completeFrom }: News): void {
    this.denials = this.denials.concat(denials)
    this.others = this.others.concat(others)
    this.completeFrom = Math.max(this.completeFrom, completeFrom)
  }

  /** Sums by these fields of what was denied from then on; what is older is forgotten. */
  summary(from: EpochMs, by: readonly Field[]): Summary {
    this.forgetBefore(from)
    const rows = new Map<string, Row & { denials: number; last: EpochMs; routes: string[] }>()
    let all = 0
    const count = (denial: Denial, route: string | undefined, denials: number) => {
      const values = valuesOf(denial, route, by)
      const key = JSON.stringify(by.map((field) => values[field] ?? null))
      let row = rows.get(key)
      if (!row) {
        row = { values, denials: 0, last: 0, routes: [] }
        rows.set(key, row)
      }
      all += denials
      row.denials += denials
      row.last = Math.max(row.last, denial.at)
      if (!row.routes.includes(denial.route)) row.routes.push(denial.route)
    }
    for (const denial of this.denials) {
      count(denial, denial.route, 1)
      if (denial.before > 0 && denial.since !== undefined && denial.since >= from && denial.since <= denial.at)
        count(denial, undefined, denial.before)
    }
    return {
      from,
      denials: all,
      isLowerBound: from < this.completeFrom,
      notLogged: this.others.reduce((sum, one) => sum + one.count, 0),
      rows: [...rows.values()],
    }
  }

  private forgetBefore(from: EpochMs): void {
    this.others = this.others.filter(({ at }) => at >= from)
    this.denials = this.denials.filter(({ at }) => at >= from)
    const excess = this.denials.length - this.most
    if (excess <= 0) return
    this.denials.sort((a, b) => a.at - b.at)
    this.completeFrom = Math.max(this.completeFrom, this.denials[excess - 1]!.at + 1)
    this.denials = this.denials.slice(excess)
  }
}

const valuesOf = (denial: Denial, route: string | undefined, by: readonly Field[]): Row['values'] =>
  Object.fromEntries(
    by.map((field) => [
      field,
      field === 'client' ? (denial.caller ?? denial.subject) : field === 'route' ? route : denial[field],
    ]),
  )

const ORDERS = {
  denials: (a: Row, b: Row) => b.denials - a.denials,
  recent: (a: Row, b: Row) => b.last - a.last,
} as const
export type Order = keyof typeof ORDERS
export const ORDER_NAMES = Object.keys(ORDERS) as Order[]

/** Rows in an order that stays where they are alike. */
export const sorted = (rows: readonly Row[], order: Order): Row[] =>
  [...rows].sort((a, b) => ORDERS[order](a, b) || ORDERS.denials(a, b) || (keyOf(a) < keyOf(b) ? -1 : 1))

const keyOf = ({ values }: Row): string => JSON.stringify(values)
