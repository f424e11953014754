import { createHash } from 'node:crypto'
import { number } from './numbers'
import { escaped } from './plots'

/** A cell: a text, or what it shows, and by what its column sorts. */
export type Cell = string | { readonly html: string; readonly sort: string | number }

export const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`

export const count = (of: number): Cell => ({ html: number(of), sort: of })
export const share = (of: number): Cell => ({ html: percent(of), sort: of })
/** A time of the log, to the second; its title has the milliseconds. */
export const time = (at: string | null): Cell => ({
  html: at === null ? '' : `<time datetime="${at}" title="${at}">${secondOf(at)}</time>`,
  sort: at ?? '',
})

/** `2026-11-25 09:00:10`. */
export const secondOf = (at: string): string => at.slice(0, 19).replace('T', ' ')

/**
 * A table. Columns whose heading begins with `#` are numbers.
 *
 * @param label what it has, for who does not see the heading above it.
 */
export function table(label: string, head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isNumber = head.map((one) => one.startsWith('#'))
  const kind = (i: number) => (isNumber[i] ? ' class="n"' : '')
  const names = head.map((one, i) => `<th scope="col"${kind(i)}>${escaped(one.replace(/^#/, ''))}</th>`).join('')
  const lines = rows.map((row) => `<tr>${row.map((cell, i) => cellHtml(cell, kind(i))).join('')}</tr>`)
  const sorts = rows.length > 1 ? ' class="sorts"' : ''
  return `<div class="scroll" role="region" tabindex="0" aria-label="${escaped(label)}"><table${sorts}><thead><tr>${names}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`
}

function cellHtml(cell: Cell, attributes: string): string {
  if (typeof cell === 'string') return `<td${attributes}>${escaped(cell)}</td>`
  return `<td${attributes} data-sort="${escaped(String(cell.sort))}">${cell.html}</td>`
}

/**
 * Makes the headings of tables buttons that sort. Numbers begin with the largest, texts with the first; a second press
 * turns the order round. Rows that are the same in a column stay in the order in which they stand.
 */
export const SORT_SCRIPT = `
for (const table of document.querySelectorAll('table.sorts')) {
  const [body] = table.tBodies
  const heads = [...table.tHead.rows[0].cells]
  heads.forEach((head, column) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.append(...head.childNodes)
    head.append(button)
    head.ariaSort = 'none'
    const isNumber = head.classList.contains('n')
    const valueOf = ({ cells }) => {
      const text = cells[column].dataset.sort ?? cells[column].textContent
      return isNumber ? Number(text) : text
    }
    button.addEventListener('click', () => {
      const order = head.ariaSort === 'none' ? (isNumber ? 'descending' : 'ascending')
        : head.ariaSort === 'ascending' ? 'descending' : 'ascending'
      for (const one of heads) one.ariaSort = one === head ? order : 'none'
      const sign = order === 'ascending' ? 1 : -1
      const compare = (a, b) => isNumber ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true })
      body.append(...[...body.rows].sort((a, b) => sign * compare(valueOf(a), valueOf(b))))
    })
  })
}
`

/** The one script that the page may run. */
export const SORT_SCRIPT_HASH = `sha256-${createHash('sha256').update(SORT_SCRIPT).digest('base64')}`
