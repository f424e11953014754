import type { Summary } from '../statistics'
import type { Entrant } from './contenders'
import type { Experiment } from './experiments'
import type { Speed } from './speed'

/** A question, and each contender's answer to it. */
export interface Row {
  readonly question: string
  /** By the contender's name; absent for one that did not run. */
  readonly cells: ReadonlyMap<string, string>
}

const HEADS: Readonly<Record<string, string>> = {
  sluice: 'Sluice',
  'sluice with the SDK': 'Sluice, by a client of the SDK',
  'rate-limiter-flexible with memory': 'the same, with `inMemoryBlockOnConsumed` and `insuranceLimiter`',
}

/** The contender as the table calls it. */
export const headOf = ({ name, version }: Pick<Entrant, 'name' | 'version'>): string =>
  HEADS[name] ?? `${name} ${version}`.trim()

export function speedRows(speeds: ReadonlyMap<string, Speed>): Row[] {
  const row = (question: string, text: (speed: Speed) => string): Row => ({
    question,
    cells: new Map([...speeds].map(([name, speed]) => [name, text(speed)])),
  })
  const ratio = ({ measured, spread }: Summary) =>
    `${measured.toFixed(2)}× (${spread.min.toFixed(2)} to ${spread.max.toFixed(2)})`
  return [
    row('calls per allowed decision', ({ callsPerDecision }) => callsPerDecision.toFixed(2)),
    row("decisions/s against Sluice's, one at a time", ({ single }) => ratio(single)),
    row("decisions/s against Sluice's, 16 in flight", ({ many }) => ratio(many)),
    row('p50 and p99, one at a time', ({ p50Ms, p99Ms }) => `${p50Ms.toFixed(1)} ms, ${p99Ms.toFixed(1)} ms`),
  ]
}

/** A table in Markdown. A contender that did not run has the reason in each cell. */
export function markdownTable(entrants: readonly Entrant[], rows: readonly Row[]): string {
  const cell = (entrant: Entrant, { cells }: Row) =>
    'missing' in entrant ? `not run: ${entrant.missing}` : cells.get(entrant.name)!
  return markdownLines(
    ['', ...entrants.map(headOf)],
    rows.map((row) => [row.question, ...entrants.map((entrant) => cell(entrant, row))]),
  )
}

/** A table in Markdown of a head and rows. */
export function markdownLines(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** How each question was asked, an entry of a list each. */
export const howText = (questions: readonly Pick<Experiment, 'question' | 'how'>[]): string =>
  questions.map(({ question, how }) => entry(`*${question}*: ${how}`)).join('\n')

const LINE = 160

/** An entry of a list in Markdown, in lines no longer than the documents' own. */
function entry(text: string): string {
  const lines = ['-']
  for (const word of text.split(' ')) {
    if (lines.at(-1)!.length + 1 + word.length > LINE) lines.push(' ')
    lines[lines.length - 1] += ` ${word}`
  }
  return lines.join('\n')
}

/** The tables of the document, by the names of their markers. */
export type Part = 'bench:peers' | 'bench:peers programs'

/** The document with what stands between a part's markers replaced. */
export function replaceGenerated(document: string, part: Part, generated: string): string {
  const [begin, end] = [`<!-- ${part} -->`, `<!-- /${part} -->`]
  const [from, to] = [document.indexOf(begin), document.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the document must hold ${begin} and, below it, ${end}`)
  return `${document.slice(0, from)}${begin}\n\n${generated}\n\n${document.slice(to)}`
}
