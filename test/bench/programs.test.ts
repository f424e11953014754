import { buildProgram, countLines } from '../../bench/peers/build-program'
import { wrongPrograms } from '../../bench/peers/compare-programs'
import { PROGRAMS, titleOf } from '../../bench/peers/programs'
import { COLUMNS, callsText } from '../../bench/peers/programs-table'
import { howText } from '../../bench/peers/table'
import { type OutageResult, tryLimit } from '../../bench/peers/try-program'
import { startUpstashRedis, type UpstashRedis } from '../../bench/peers/upstash-redis'
import { formatMarkdown } from '../../lib/format-markdown'
import { generatedPart, tableOf } from './comparison-page'

const PART = generatedPart('bench:peers programs')
const [, , ...ROWS] = tableOf(PART, '|  | lines |')

/** The cell of a program in docs/comparison.md. Where it is false: npm run bench:peers -- --programs --write */
const cellOf = (program: (typeof PROGRAMS)[number], column: string): string =>
  ROWS[PROGRAMS.indexOf(program)]![1 + COLUMNS.findIndex(({ question }) => question === column)]!

describe('docs/comparison.md', () => {
  it('has a row for each program, by the versions of package-lock.json', () => {
    expect(ROWS.map(([title]) => title)).toEqual(PROGRAMS.map(titleOf))
    for (const row of ROWS) expect([row.length, row.every((cell) => cell !== '')]).toEqual([1 + COLUMNS.length, true])
  })

  it('says what each column is', () => {
    expect(PART).toContain(formatMarkdown(howText(COLUMNS)).trim())
  })

  it.each(PROGRAMS)('has the lines of $file', (program) => {
    expect(cellOf(program, 'lines')).toBe(String(countLines(program)))
  })
})

describe('a program', () => {
  let upstash: UpstashRedis
  beforeAll(async () => {
    upstash = await startUpstashRedis()
  })
  afterAll(() => upstash.stop())

  const withoutDynamoDb = PROGRAMS.filter(({ store }) => store !== 'DynamoDB')

  it.each(withoutDynamoDb)('holds its limit, calls its store and weighs as the page says: $file', async (program) => {
    const { script, start } = buildProgram(program)
    const calls = await tryLimit(script, program.store && upstash.endpoint)
    const { store } = program
    expect(store ? callsText(calls) : 'no store').toBe(cellOf(program, 'calls of the store'))
    const [, written] = /^(\d+) KB/.exec(cellOf(program, 'loaded at start'))!
    expect(Math.abs(start.bytes / 1000 / Number(written) - 1)).toBeLessThan(0.1)
  })
})

describe('a Sluice program without its store', () => {
  const crowds: [string, [number | undefined, number][]][] = [
    ['lets more than the limit pass', [[200, 101]]],
    [
      'fails',
      [
        [200, 100],
        [500, 30],
      ],
    ],
    [
      'does not answer',
      [
        [200, 100],
        [undefined, 30],
      ],
    ],
  ]
  const measured = (crowd: [number | undefined, number][]) => {
    const first = { status: 200, retryAfter: undefined, ms: 1 }
    const result: OutageResult = { first, slowest: first, crowd: new Map(crowd) }
    const [, program] = PROGRAMS
    return { program: program!, outages: { down: result, slow: result } }
  }

  it('is right if it limits', () => {
    expect(
      wrongPrograms([
        measured([
          [200, 100],
          [429, 30],
        ]),
      ]),
    ).toEqual([])
  })

  it.each(crowds)('is wrong if it %s', (_, crowd) => {
    expect(wrongPrograms([measured(crowd)])).toEqual(['sluice-dynamodb'])
  })
})
