import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PRODUCTS } from '../../bench/peers/contenders'
import { EXPERIMENTS, mostWithin } from '../../bench/peers/experiments'
import { parsePeersOptions } from '../../bench/peers/options'
import { headOf, howText, markdownTable, replaceGenerated, speedRows } from '../../bench/peers/table'
import { formatMarkdown } from '../../lib/format-markdown'

const PAGE = readFileSync(join(__dirname, '..', '..', 'docs', 'comparison.md'), 'utf8')

/** The rows of the table whose head begins so, each a list of cells. */
function tableOf(text: string, head: string): string[][] {
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

const [BEGIN, END] = ['<!-- bench:peers -->', '<!-- /bench:peers -->']

/** What the bench wrote into a page: the part between its markers. */
const generatedPart = (page: string): string => page.slice(page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)).trim()

const withoutVersion = (head: string): string => head.replace(/ [\d.]+$/, '')

const QUESTIONS = [...speedRows(new Map()), ...EXPERIMENTS].map(({ question }) => question)

describe('docs/comparison.md', () => {
  it('has an answer of each contender to each question, as the run wrote them', () => {
    const [head, , ...rows] = tableOf(generatedPart(PAGE), '|  |')
    expect(head!.slice(1).map(withoutVersion)).toEqual(PRODUCTS.map(({ name }) => headOf({ name, version: '' })))
    expect(rows.map(([question]) => question)).toEqual(QUESTIONS) // npm run bench:peers -- --write
    for (const [question, ...cells] of rows)
      expect([question, cells.length, cells.every((cell) => cell !== '')]).toEqual([question, PRODUCTS.length, true])
  })

  it('says how each question was asked', () => {
    expect(generatedPart(PAGE)).toContain(formatMarkdown(howText(EXPERIMENTS)).trim())
  })

  it('cites a page with its date for each product that was not run', () => {
    const [, , ...rows] = tableOf(PAGE, '| product |')
    expect(rows.length).toBeGreaterThanOrEqual(5)
    for (const cells of rows) {
      expect(cells).toHaveLength(5)
      expect(cells.every((cell) => cell !== '')).toBe(true)
      expect(cells[4]).toMatch(/\]\(https:\/\/[^)]+\).*\(\d{4}-\d{2}-\d{2}\)$/)
    }
  })
})

describe('the table', () => {
  const present = { name: 'sluice', version: '' } as never
  const absent = { name: 'zae-limiter', version: '0.17.0', missing: 'Python 3 is not there' }

  it('has the reason in each cell of whoever did not run, and keeps bars inside cells', () => {
    const rows = [{ question: 'a or b', cells: new Map([['sluice', 'a|b']]) }]
    expect(markdownTable([present, absent], rows).split('\n')).toEqual([
      '|  | Sluice | zae-limiter 0.17.0 |',
      '| --- | --- | --- |',
      '| a or b | a\\|b | not run: Python 3 is not there |',
    ])
  })

  it('goes between its markers and leaves the rest alone', () => {
    const page = 'before\n<!-- bench:peers -->\nold\n<!-- /bench:peers -->\nafter\n'
    const written = replaceGenerated(page, 'new')
    expect(written).toBe('before\n<!-- bench:peers -->\n\nnew\n\n<!-- /bench:peers -->\nafter\n')
    expect(generatedPart(written)).toBe('new')
    expect(replaceGenerated(written, 'new')).toBe(written)
    expect(() => replaceGenerated('no markers', 'new')).toThrow('must hold <!-- bench:peers -->')
  })
})

describe('the most within an interval', () => {
  it('counts what lies less than its length apart', () => {
    expect(mostWithin([], 10)).toBe(0)
    expect(mostWithin([30, 0, 9, 10, 19, 20], 10)).toBe(2)
    expect(mostWithin([0, 9, 10], 11)).toBe(3)
  })
})

it('bench:peers takes its switches and no others', () => {
  expect(parsePeersOptions(['--write', '--smoke'])).toEqual({
    help: false,
    smoke: true,
    write: true,
    engine: undefined,
  })
  expect(() => parsePeersOptions(['--json'])).toThrow(
    "Unknown option '--json': npm run bench:peers -- --help lists the options",
  )
})
