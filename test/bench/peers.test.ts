import { PRODUCTS } from '../../bench/peers/contenders'
import { EXPERIMENTS, mostWithin } from '../../bench/peers/experiments'
import { parsePeersOptions } from '../../bench/peers/options'
import { headOf, howText, markdownTable, replaceGenerated, speedRows } from '../../bench/peers/table'
import { formatMarkdown } from '../../lib/format-markdown'
import { generatedPart, PAGE, tableOf } from './comparison-page'

const withoutVersion = (head: string): string => head.replace(/ [\d.]+$/, '')

const QUESTIONS = [...speedRows(new Map()), ...EXPERIMENTS].map(({ question }) => question)

describe('docs/comparison.md', () => {
  it('has an answer of each contender to each question, as the run wrote them', () => {
    const [head, , ...rows] = tableOf(generatedPart('bench:peers'), '|  |')
    expect(head!.slice(1).map(withoutVersion)).toEqual(PRODUCTS.map(({ name }) => headOf({ name, version: '' })))
    expect(rows.map(([question]) => question)).toEqual(QUESTIONS) // npm run bench:peers -- --write
    for (const [question, ...cells] of rows)
      expect([question, cells.length, cells.every((cell) => cell !== '')]).toEqual([question, PRODUCTS.length, true])
  })

  it('says how each question was asked', () => {
    expect(generatedPart('bench:peers')).toContain(formatMarkdown(howText(EXPERIMENTS)).trim())
  })

  it('cites a page with its date for each product that was not run', () => {
    const [, , ...rows] = tableOf(PAGE, '| product |')
    const products = ['Bucket4j', 'Envoy ratelimit', 'API Gateway usage plans', 'AWS WAF rate-based rules']
    expect(rows.map(([product]) => product)).toEqual(products)
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
    const written = replaceGenerated(page, 'bench:peers', 'new')
    expect(written).toBe('before\n<!-- bench:peers -->\n\nnew\n\n<!-- /bench:peers -->\nafter\n')
    expect(generatedPart('bench:peers', written)).toBe('new')
    expect(replaceGenerated(written, 'bench:peers', 'new')).toBe(written)
    expect(() => replaceGenerated('no markers', 'bench:peers', 'new')).toThrow('must hold <!-- bench:peers -->')
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
    programs: false,
    engine: undefined,
  })
  expect(() => parsePeersOptions(['--json'])).toThrow(
    "Unknown option '--json': npm run bench:peers -- --help lists the options",
  )
})
