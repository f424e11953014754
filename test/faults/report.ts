import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../../lib/format-markdown'
import type { Matrix } from './matrix'

const PAGE = join(__dirname, 'results.md')
const [BEGIN, END] = ['<!-- what follows is written by npm run docs:reliability -->', '<!-- end -->'] as const

/**
 * The tables of results, as results.md has them. They contain no times, so the same code always gives the same
 * text.
 */
export function tablesOf(matrices: readonly Matrix[]): string {
  const cells = matrices.reduce((sum, { rows, columns }) => sum + rows.length * columns.length, 0)
  return formatMarkdown([`${cells} cells.`, ...matrices.map(tableOf)].join('\n\n')).trim()
}

function tableOf({ title, columns, rows }: Matrix): string {
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |`
  return [
    `## ${title}\n`,
    line(['fault', 'step', ...columns]),
    `|${'---|'.repeat(columns.length + 2)}`,
    ...merged(
      rows.map(({ fault, step, outcomes }) => ({
        fault,
        rest: line([
          step,
          ...outcomes.map(({ verdict, problems }) => (problems.length === 0 ? verdict : `**${verdict}, and wrong**`)),
        ]),
      })),
    ).map(({ faults, rest }) => `| ${faults.join('<br>')} ${rest}`),
  ].join('\n')
}

interface Line {
  readonly fault: string
  readonly rest: string
}

/** Faults whose results are the same are one line, where the first of them stood. */
function merged(lines: readonly Line[]): { readonly faults: readonly string[]; readonly rest: string }[] {
  const faults = new Map<string, string[]>()
  for (const { fault, rest } of lines) faults.set(rest, [...(faults.get(rest) ?? []), fault])
  return [...faults].map(([rest, same]) => ({ faults: same, rest }))
}

/** The tables that are in the page. */
export const tablesInPage = (): string => parts().tables

/** Writes the tables into the page. */
export function writeTables(tables: string): void {
  const { before, after } = parts()
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${tables}\n\n${END}${after}`)
}

function parts(): { before: string; tables: string; after: string } {
  const [before = '', rest = ''] = readFileSync(PAGE, 'utf8').split(BEGIN)
  const [tables = '', after = ''] = rest.split(END)
  return { before, tables: tables.trim(), after }
}
