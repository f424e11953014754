import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Part } from '../../bench/peers/table'

export const PAGE = readFileSync(join(__dirname, '..', '..', 'docs', 'comparison.md'), 'utf8')

/** What the bench wrote into a page: the part between its markers. */
export function generatedPart(part: Part, page = PAGE): string {
  const begin = `<!-- ${part} -->`
  return page.slice(page.indexOf(begin) + begin.length, page.indexOf(`<!-- /${part} -->`)).trim()
}

/** The rows of the table whose head begins so, each a list of cells. */
export function tableOf(text: string, head: string): string[][] {
  const lines = text.split('\n')
  const from = lines.findIndex((line) => line.startsWith(head))
  const until = lines.findIndex((line, i) => i > from && !line.startsWith('|'))
  return lines.slice(from, until < 0 ? undefined : until).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
