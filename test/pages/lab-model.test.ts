import fc from 'fast-check'
import { parse } from 'yaml'
import { itemBytes } from '../../bench/item-size'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { fieldsBytes } from '../../limiter/algorithms/stored-size'
import type { AlgorithmName } from '../../limiter/policies/policy'
import { fromLink, toLink } from '../../pages/lab/link'
import { explain } from '../../pages/lab/model/explain'
import { Retries } from '../../pages/lab/model/retries'
import { durationText, policyOf, rowsOf, yamlOf } from '../../pages/lab/model/rows'
import { type Run, run } from '../../pages/lab/model/run'
import { scenarioOf, settingOf, tooMuch } from '../../pages/lab/model/scenarios'
import { CURVE_PARTS, NUMBER_FIELDS, NUMBERS, SCENARIO_IDS, type Setting } from '../../pages/lab/model/setting'
import { along } from '../../pages/lab/model/traffic'

const rowOf = ({ rows }: Run, algorithm: AlgorithmName) => rows.find((row) => row.algorithm === algorithm)!
const figuresOf = (made: Run, algorithm: AlgorithmName) => rowOf(made, algorithm).figures

const anyNumber = (field: keyof typeof NUMBERS, most = NUMBERS[field].most) =>
  fc.integer({ min: NUMBERS[field].least, max: most })
const anySetting: fc.Arbitrary<Setting> = fc.record({
  scenario: fc.constantFrom(...SCENARIO_IDS),
  limit: anyNumber('limit', 20),
  window: anyNumber('window'),
  rate: anyNumber('rate', 400),
  windows: anyNumber('windows', 6),
  burst: anyNumber('burst', 40),
  spread: anyNumber('spread', 40),
  seed: anyNumber('seed'),
  curve: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: CURVE_PARTS, maxLength: CURVE_PARTS }),
})

describe('the lab', () => {
  it('finds no wrong decision in the row of the exact log, whatever the setting', () => {
    fc.assert(
      fc.property(anySetting, (setting) => {
        const { wronglyAllowed, wronglyDenied, mostInWindow } = figuresOf(run(setting), 'sliding-log')
        expect({ wronglyAllowed, wronglyDenied }).toEqual({ wronglyAllowed: 0, wronglyDenied: 0 })
        expect(mostInWindow).toBeLessThanOrEqual(setting.limit)
      }),
      { numRuns: 30 },
    )
  })

  it('never sees more in a window than docs/algorithms.md promises of each algorithm', () => {
    fc.assert(
      fc.property(anySetting, (setting) => {
        const { limit, burst, spread } = setting
        const most: Record<AlgorithmName, number> = {
          'fixed-window': 2 * limit,
          'anchored-window': 2 * limit,
          'sliding-window': 2 * limit,
          'sliding-buckets': 2 * limit,
          'sliding-log': limit,
          'token-bucket': burst + limit,
          'leaky-bucket': burst + limit,
          gcra: spread + limit,
        }
        for (const { algorithm, figures } of run(setting).rows) {
          expect([algorithm, figures.mostInWindow <= most[algorithm]]).toEqual([algorithm, true])
          expect(figures.admitted + figures.denied).toBe(figures.requests)
          expect(figures.writes).toBe(figures.admitted)
        }
      }),
      { numRuns: 30 },
    )
  })

  it('admits all six of three late and three early by fixed windows, and three by an exact log', () => {
    const made = run(settingOf('three-and-three'))
    expect(figuresOf(made, 'fixed-window')).toMatchObject({ admitted: 6, mostInWindow: 6, wronglyAllowed: 3 })
    expect(figuresOf(made, 'sliding-log')).toMatchObject({ admitted: 3, mostInWindow: 3 })
  })

  it('denies the request at 25 % after nine and five, and says the weighted count', () => {
    const setting = settingOf('nine-and-five')
    const made = run(setting)
    expect(rowOf(made, 'sliding-window').allowed.at(-1)).toBe(0)
    expect(rowOf(made, 'sliding-log').allowed.at(-1)).toBe(0)
    expect(rowOf(made, 'fixed-window').allowed.at(-1)).toBe(1)
    const [said] = explain(
      setting,
      made.rows.map(({ algorithm }) => (algorithm === 'sliding-window' ? 14 : -1)),
    )
    expect(said!.sentence).toContain(
      'The window before had 9, which weigh 75 %: 6. With 4 in this one, 10 of 10 are used',
    )
  })

  it('admits twice the limit at the edge of fixed windows alone', () => {
    const made = run(settingOf('window-edge'))
    const most = made.rows.filter(({ figures }) => figures.mostInWindow > 11).map(({ algorithm }) => algorithm)
    expect(most).toEqual(['fixed-window'])
    expect(figuresOf(made, 'fixed-window').mostInWindow).toBe(20)
  })

  it('denies no request of ten clients because an eleventh hammers', () => {
    for (const { figures } of run(settingOf('one-hammers')).rows) {
      expect(figures.othersDenied).toBe(0)
      expect(figures.denied).toBeGreaterThan(100)
    }
  })

  it('sends more and serves no more when clients try again at once', () => {
    const [once, told] = [run(settingOf('retry-at-once')), run(settingOf('retry-as-told'))]
    for (const algorithm of ['fixed-window', 'anchored-window', 'sliding-log', 'gcra'] as const) {
      expect(figuresOf(once, algorithm).requests).toBeGreaterThan(figuresOf(told, algorithm).requests / 2)
      expect(figuresOf(told, algorithm).gaveUp).toBeLessThan(figuresOf(once, algorithm).gaveUp)
    }
    expect(figuresOf(told, 'fixed-window')).toMatchObject({ requests: 60, admitted: 30, gaveUp: 0 })
  })

  it('tries again in the order of time, and of one moment who came first', () => {
    const retries = new Retries()
    for (const [client, at] of [5, 3, 5, 4, 3].entries()) retries.add({ at, client, since: 0, denials: 1 })
    const order: number[] = []
    for (let next = retries.before(9); next; next = retries.before(9)) order.push(next.client)
    expect(order).toEqual([1, 4, 3, 0, 2])
  })

  it('gives the same figures each time, and others for another seed', () => {
    const setting = settingOf('random')
    expect(run(setting)).toEqual(run(setting))
    expect(run({ ...setting, seed: 2 }).rows[0]!.times).not.toEqual(run(setting).rows[0]!.times)
  })

  it('follows a curve to the request', () => {
    expect(along([2, 0, 4], 3000)).toEqual([500, 1000, 2250, 2500, 2750, 2999])
    expect(along([0.5, 0.5], 2000)).toEqual([1999])
    expect(along([0, 0], 2000)).toEqual([])
  })

  it('tells its progress up to the end', () => {
    const shares: number[] = []
    run(settingOf('random'), (share) => shares.push(share))
    expect(shares.at(-1)).toBe(1)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
  })

  it('counts bytes as DynamoDB does', () => {
    const fields = { w: 29_922_494, htcce: 100, l: [1_767_225_600_123, 1_767_225_600_124], u: 0, t: 17 }
    const { l, ...numbers } = fields
    const attributes = Object.fromEntries(Object.entries(numbers).map(([name, n]) => [`p6J8${name}`, { N: String(n) }]))
    const bytes = itemBytes({ ...attributes, p6J8l: { L: l.map((n) => ({ N: String(n) })) } })
    expect(fieldsBytes(4, fields)).toBe(bytes)
  })
})

describe('why', () => {
  it.each(SCENARIO_IDS)('is said of each request of %s as the run decided it', (scenario) => {
    const setting = settingOf(scenario)
    const made = run(setting)
    for (const part of [0, 0.3, 0.7, 1]) {
      const indexes = made.rows.map(({ times }) => Math.floor((times.length - 1) * part))
      const said = explain(setting, indexes)
      expect(said.map(({ allowed }) => Number(allowed))).toEqual(
        made.rows.map(({ allowed }, i) => allowed[indexes[i]!]),
      )
      for (const { sentence } of said) expect(sentence).toMatch(/^[A-Z0-9].*\.$/)
    }
  })

  it('is said of the eleventh request of ten', () => {
    const setting = { ...settingOf('idle-then-all'), spread: 3 }
    const said = explain(
      setting,
      rowsOf(setting).map(() => 10),
    )
    expect(said.map(({ sentence }) => sentence)).toMatchInlineSnapshot(`
     [
       "10 of 10 are used in the window that began 30.4 s ago. Retry-After: 29.6 s.",
       "10 of 10 are used in the window that a request opened 400 ms ago. Retry-After: 59.6 s.",
       "The window before had 0, which weigh 49 %: 0. With 10 in this one, 10 of 10 are used. Retry-After: 29.6 s.",
       "10 of 10 are used in the 60 newest sub-windows. Retry-After: 59.6 s.",
       "10 of 10 are used in the last 60 s, the oldest 400 ms ago. Retry-After: 59.6 s.",
       "The bucket has 0 of 10 tokens, one comes back every 6 s, and a request takes a whole one. Retry-After: 5.6 s.",
       "The queue is full: 9.9 of 10 are in it, and one leaves every 6 s. Retry-After: 5.6 s.",
       "The pace is one every 6 s. This request is 17.6 s early, and 12 s would be permitted. Retry-After: 5.6 s.",
     ]
    `)
  })
})

describe('a policy of the lab', () => {
  it('is accepted by the parser of tiers files, as it is copied', () => {
    fc.assert(
      fc.property(anySetting, (setting) => {
        const list = rowsOf(setting).map(({ policy }) => yamlOf(policy).replace(/^/gm, '      ').trimEnd())
        const text = `tiers:\n  anonymous:\n    policies:\n${list.join('\n')}\n`
        const tier = parseTiersFile(parse(text), 'tiers.yaml').tiers.get('anonymous')!
        expect(tier.policies.map(({ written }) => written)).toEqual(rowsOf(setting).map(({ policy }) => policy))
      }),
      { numRuns: 20 },
    )
  })

  it('has the longest unit that the window is whole in, and as many buckets as divide it', () => {
    expect([1, 60, 90, 3600, 86_400].map(durationText)).toEqual(['1s', '1m', '90s', '1h', '1d'])
    const bucketsOf = (window: number) => policyOf('sliding-buckets', { ...settingOf('random'), window }).buckets
    expect([1, 60, 7].map(bucketsOf)).toEqual([50, undefined, 56])
  })
})

describe('a link', () => {
  it('brings back the setting that it was made of', () => {
    fc.assert(
      fc.property(anySetting, (setting) => {
        const curve = setting.scenario === 'drawn' ? setting.curve : settingOf(setting.scenario).curve
        expect(fromLink(toLink(setting))).toEqual({ setting: { ...setting, curve }, mistakes: [] })
      }),
    )
  })

  it.each([
    ['', []],
    ['scenario=none', ['scenario must be one of half-the-limit, ']],
    ['limit=0', ['Limit must be a whole number from 1 to 1,000, got 0']],
    ['limit=ten&rate=50', ['Limit must be a whole number from 1 to 1,000, got "ten"']],
    ['colour=red', ['"colour" is nothing that the lab knows']],
    ['scenario=drawn&curve=1-2', ['curve must have 24 parts, got 2']],
    ['scenario=random&limit=1000&windows=1000', ['limit × rate × length makes 1,000,000 requests, and 100,000']],
    ['scenario=toString', ['scenario must be one of']],
    ['%%%=%', ['"%%%" is nothing']],
  ])('that is wrong, %p, says so and has defaults', (link, mistakes) => {
    const linked = fromLink(link)
    expect(linked.mistakes.map((one, i) => one.slice(0, mistakes[i]?.length))).toEqual(mistakes)
    expect(tooMuch(linked.setting)).toBeUndefined()
    for (const field of NUMBER_FIELDS) expect(linked.setting[field]).toBeGreaterThanOrEqual(NUMBERS[field].least)
    expect(scenarioOf(linked.setting).title).toBeTruthy()
  })
})
