import { toFigure } from '../../bench/figure'
import { itemBytes } from '../../bench/item-size'
import { parseOptions } from '../../bench/options'
import { mixedSet, windowSet } from '../../bench/policies'
import { partText } from '../../bench/report'
import { interleaved, median, ratios } from '../../bench/statistics'
import { createLimiter, MemoryStore } from '../../limiter'

describe('the item size by the rules of DynamoDB', () => {
  test.each([
    ['a string is its name and its bytes', { pk: { S: 'ä' } }, 2 + 2],
    ['a number is a byte per two digits and one more', { w: { N: '12345' } }, 1 + 3 + 1],
    ['zeroes at either end take no room', { w: { N: '1200' } }, 1 + 1 + 1],
    ['zero itself is one byte', { w: { N: '0' } }, 1 + 1],
    ['a list is three bytes, and one beside each entry', { l: { L: [{ N: '12' }, { N: '34' }] } }, 1 + 3 + 2 * (1 + 2)],
  ])('%s', (_, item, bytes) => {
    expect(itemBytes(item)).toBe(bytes)
  })
})

describe('statistics', () => {
  test('the median of an even number of rounds lies between the middle two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(median([3, 1, 2])).toBe(2)
  })

  test('arms take turns in both orders after a round that is not counted', async () => {
    const order: string[] = []
    const arm = (name: string) => async () => order.push(name)
    const measured = await interleaved({ a: arm('a'), b: arm('b') }, { most: 3, least: 1, budgetMs: 60_000 })
    expect(order.join('')).toBe('ab' + 'ab' + 'ba' + 'ab')
    expect(measured).toEqual({ a: [3, 6, 7], b: [4, 5, 8] })
    expect(ratios(measured.a, measured.b)).toEqual([3 / 4, 6 / 5, 7 / 8])
  })

  test('the minimum of rounds is run even when the time is up', async () => {
    const { a } = await interleaved({ a: async () => 1 }, { most: 9, least: 2, budgetMs: 0 })
    expect(a).toHaveLength(2)
  })
})

describe('figures', () => {
  test('a goal is met up to its very bound, and a figure without one is neither met nor missed', () => {
    expect(toFigure('calls', { measured: 1.02, unit: 'calls', goal: { atMost: 1.02 } }).met).toBe(true)
    expect(toFigure('calls', { measured: 1.021, unit: 'calls', goal: { atMost: 1.02 } }).met).toBe(false)
    expect(toFigure('ratio', { measured: 2, unit: '×', goal: { atLeast: 2 } }).met).toBe(true)
    expect(toFigure('ratio', { measured: 1.9, unit: '×', goal: { atLeast: 2 } }).met).toBe(false)
    expect(toFigure('ratio', { measured: 1, unit: '×' })).toMatchObject({ goal: null, met: null })
  })

  test('a table shows what was measured, its goal and whether it is met, and the spread below', () => {
    const figures = [
      toFigure('calls', { measured: 1, unit: 'calls', goal: { atMost: 1.1 } }),
      toFigure('speed', { measured: 1.5, unit: '×', goal: { atLeast: 2 }, spread: { min: 1.25, max: 2.5 } }),
    ]
    expect(partText({ title: 'Title', figures, details: ['A detail.'] }).split('\n')).toEqual([
      'Title',
      '',
      '  figure   measured      goal     met',
      '  ───────────────────────────────────',
      '  calls    1.000 calls   ≤ 1.10   yes',
      '  speed    1.50×         ≥ 2×     no',
      '',
      '  speed: 1.25× to 2.50×',
      '  A detail.',
      '',
    ])
  })
})

describe('what the bench measures', () => {
  test.each([
    ['windows, 1', windowSet(1), 1],
    ['windows, 4', windowSet(4), 4],
    ['mixed, 30', mixedSet(30), 30],
  ])('%s policies are ones that the limiter takes', async (_, policies, count) => {
    const limiter = createLimiter({ store: new MemoryStore(), policies })
    const { allowed, policies: standings } = await limiter.take('client:1')
    expect(allowed).toBe(true)
    expect(Object.keys(standings)).toHaveLength(count)
  })
})

describe('the command line', () => {
  test('measures everything by default', () => {
    expect(parseOptions([])).toMatchObject({ quick: false, json: false, engine: undefined })
    expect(parseOptions([]).only).toHaveLength(13)
    expect(parseOptions(['--quick', '--json', '--only', 'calls,fleet', '--engine', 'dynalite'])).toEqual({
      help: false,
      quick: true,
      json: true,
      only: ['calls', 'fleet'],
      engine: 'dynalite',
    })
  })

  test.each([
    [['--fast'], "Unknown option '--fast': npm run bench -- --help lists the options"],
    [
      ['--only', 'speed'],
      '--only must be one of calls, fleet, leases, shares, denials, contention, throughput, cpu, overhead, bundle, config, scaling, size, simulate, got "speed"',
    ],
    [['--engine', 'sqlite'], '--engine must be one of dynoxide, dynalite, got "sqlite"'],
    [['fleet'], 'unexpected argument "fleet": npm run bench -- --help lists the options'],
  ])('%j is one line that says what is wrong', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})
