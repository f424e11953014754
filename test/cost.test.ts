import fc from 'fast-check'
import { parseCost } from '../lambda/config-table/items/cost'
import { costKey } from '../lambda/config-table/items/cost-names'
import { parseTiersFile } from '../lambda/config-table/items/parse-tiers-file'
import { NO_FACTS, unitsFor } from '../lambda/cost'
import type { CostFacts } from '../lambda/cost-readings'
import { rulesOf } from '../lambda/rules'
import { ConfigError, type Mistake } from '../limiter/errors'
import { takenFrom } from '../limiter/request'
import { runs } from './runs'

const set = (cost: unknown) =>
  parseTiersFile({ tiers: { anonymous: { policies: [] } }, routes: { 'GET /a': { cost } } }, 'f')
const costFor = (cost: unknown, facts: Partial<CostFacts>) =>
  unitsFor(rulesOf(set(cost), 'GET', '/a').costs, { ...NO_FACTS, ...facts }).cost
const query = (...entries: [string, string][]) => ({ query: new Map(entries) })
const many = (count: number) => Array.from({ length: count }, (_, i): [string, string] => [`x${i}`, '1'])
const length = (value?: string, ...more: [string, string][]) => ({
  method: 'PUT',
  headers: new Map([...(value === undefined ? [] : [['content-length', value] as [string, string]]), ...more]),
})
const withRows = (more: Partial<CostFacts>, rows: string) => ({ ...query(['rows', rows]), ...more })
const ROWS = { query: 'rows', default: 10, max: 1000 }

describe('a cost by a value of the request', () => {
  it.each<[string, Partial<CostFacts>, number]>([
    ['is the value', query(['rows', '25']), 25],
    ['is the default without the value', {}, 10],
    ['is the most for 0, by which many mean all', query(['rows', '0']), 1000],
    ['is the most for a negative value', query(['rows', '-5']), 1000],
    ['is the most for a word', query(['rows', 'all']), 1000],
    ['is the most at the most', query(['rows', '1000']), 1000],
    ['is the most above it', query(['rows', '1001']), 1000],
    ['is the most for more digits than a number has', query(['rows', '9'.repeat(400)]), 1000],
    ['is the most for an empty value', query(['rows', '']), 1000],
    ['is the most for two values', query(['rows', '1, 1']), 1000],
    ['is the most for a value in another notation', query(['rows', '1e3']), 1000],
    ['is the most for a fraction', query(['rows', '1.5']), 1000],
    ['is the most for digits of another script', query(['rows', '٣']), 1000],
    ['is the most for a name in capital letters', query(['ROWS', '1']), 1000],
    ['is the most for a list of one', query(['rows[]', '1']), 1000],
    ['is the most where a second name is taken for the same', query(['rows', '1'], ['Rows', '900']), 1000],
    ['is not changed by other names', query(['rows', '25'], ['row', '900'], ['constructor', '1']), 25],
    ['is the most for spaces around the value, which some backends refuse', query(['rows', ' 25 ']), 1000],
    ['is the most for leading zeros, which some backends read as octal', query(['rows', '025']), 1000],
    ['is the most for a name in brackets', query(['[rows]', '1']), 1000],
    ['is the most for a bracket too many', query(['rows]', '1']), 1000],
    ['is the most for an index behind a dot', query(['rows.x', '1']), 1000],
    ['is the most for a prefix, as ASP.NET binds it', query(['filter.rows', '1']), 1000],
    ['is the most for a prefix with an index', query(['filter[rows][0]', '1']), 1000],
    ['is not changed by a name of parts without end', query([`x${'.x'.repeat(16_000)}`, '1'], ['rows', '5']), 5],
    ['is the most for fullwidth letters', query(['ｒows', '1']), 1000],
    ['is the most for a name that has it in the middle', query(['a.b[ro.ws].c', '1']), 1000],
    ['is not changed by a name that goes on', query(['arrows', '9'], ['rowspan', '9'], ['rows', '5']), 5],
    ['is the most for a name that ends at a NUL', query(['rows\0x', '1']), 1000],
    ['is the most for a NUL within a name', query(['ro\0ws', '1']), 1000],
    ['is the most for a name behind a semicolon', query(['x', '1;rows=1']), 1000],
    ['is the most for a name behind a question mark', query(['?rows', '1']), 1000],
    ['is the most for a name that is encoded', query(['%72ows', '1']), 1000],
    ['is the most for a name that is encoded twice', query(['%2572ows', '1']), 1000],
    ['is the most for a name that is encoded as ASP.NET decodes it', query(['%u0072ows', '1']), 1000],
    ['is the most for a name that is encoded in the path', { path: '/a%3Brows=1' }, 1000],
    ['is the most for a parameter of the path', { path: '/a;rows=1' }, 1000],
    ['is the default if the path has another parameter that begins the query', withRows({ path: '/a;x' }, '5'), 10],
    ['is the value if that is dearer', withRows({ path: '/a;x' }, '25'), 25],
    ['is the default if a fragment may end the query before', query(['x', '#'], ['rows', '5']), 10],
    ['is the most behind a thousand parameters', query(...many(1000), ['rows', '5']), 1000],
    ['is the most behind a thousand values', query(['x', ','.repeat(999)], ['rows', '5']), 1000],
    ['is the value as the thousandth parameter', query(...many(999), ['rows', '5']), 5],
    ['is the most for a name behind a thousand parameters', query(...many(1000), ['rows[]', '5']), 1000],
    ['is the most where the query was cut', { ...query(['rows', '5']), isCut: true }, 1000],
    ['is the most where what was cut may have had the value', { isCut: true }, 1000],
    ['is not changed by escapes in other values', query(['rows', '25'], ['q', '100%25'], ['x', 'a%26b']), 25],
  ])('%s', (_, facts, units) => expect(costFor(ROWS, facts)).toBe(units))

  it('can come from a header in any case, a path parameter or a claim', () => {
    expect(costFor({ header: 'X-Rows', max: 100 }, { headers: new Map([['x-rows', '7']]) })).toBe(7)
    expect(costFor({ header: 'X-Rows', max: 100 }, { headers: new Map([['x_rows', '7']]) })).toBe(100)
    expect(costFor({ path: 'rows', max: 100 }, { pathParameters: new Map([['rows', '7']]) })).toBe(7)
    expect(costFor({ path: 'rows', max: 100 }, { pathParameters: new Map([['rows', '%37']]) })).toBe(100)
    expect(costFor({ claim: 'rows', max: 100 }, { claims: { rows: 7 } })).toBe(7)
    expect(costFor({ claim: 'rows', max: 100 }, { claims: { rows: '7' } })).toBe(7)
    expect(costFor({ claim: 'rows', max: 100 }, { claims: { rows: [7, 8] } })).toBe(100)
    expect(costFor({ claim: 'rows', max: 100 }, { claims: { rows: null } })).toBe(1)
    expect(costFor({ claim: 'toString', max: 100 }, { claims: {} })).toBe(1)
  })

  it('is the most for a Kelvin sign, which is a k to who ignores case', () =>
    expect(costFor({ query: 'kb', max: 100 }, query(['\u212Ab', '7']))).toBe(100))

  it('with brackets is not changed by its neighbours, and is the most where something may replace it', () => {
    const size = { query: 'page[size]', max: 100 }
    const withSize = (...more: [string, string][]) => costFor(size, query(['page[size]', '7'], ...more))
    expect(withSize(['page[number]', '2'])).toBe(7)
    for (const name of ['page', 'page[]', 'page\0', 'page[size][]', 'page.size', 'Page_Size'])
      expect([name, withSize([name, '2'])]).toEqual([name, 100])
  })

  it('is the most for every other parameter beside a name without letters and digits', () => {
    expect(costFor({ query: '_', max: 100 }, query(['_', '7']))).toBe(7)
    expect(costFor({ query: '_', max: 100 }, query(['_', '7'], ['x', '1']))).toBe(100)
    expect(costFor(ROWS, query(['rows', '7'], ['_', '1'], ['', '1']))).toBe(7)
  })

  it.each<[string, Partial<CostFacts>, number]>([
    ['its length', length('5000000'), 77],
    ['one unit if it is empty', length('0'), 1],
    ['the most in chunks', length('1', ['transfer-encoding', 'chunked']), 160],
    ['the most in chunks that say no length', length(undefined, ['transfer-encoding', 'chunked']), 160],
    ['the most without a length, which HTTP/2 does not need', length(), 160],
    ['the most without a length, whatever the method', { method: 'PURGE' }, 160],
    ['the default for a method that has none', { method: 'GET' }, 2],
    ['the most in chunks for such a method', { ...length(undefined, ['transfer-encoding', 'x']), method: 'GET' }, 160],
    ['the most for two lengths', length('1', ['content_length', '5']), 160],
    ['the most where the headers were cut', { ...length('1'), isCut: true }, 160],
  ])('by content-length is, of a body, %s', (_, facts, units) => {
    const cost = { header: 'Content-Length', divide: 65_536, roundUp: true, default: 2, max: 160 }
    expect(costFor(cost, facts)).toBe(units)
  })

  it('is what the route says of a value that bounds nothing, and of a body of unknown length', () => {
    const rows = { ...ROWS, unbounded: 50 }
    for (const value of ['0', '-0', '-1000', 'all', '', ' ', 'NaN', 'Infinity'])
      expect([value, costFor(rows, query(['rows', value]))]).toEqual([value, 50])
    for (const value of ['1e3', '0x10', '00', '-1.5', '+1', '1,1', '٣', '²', '0,0'])
      expect([value, costFor(rows, query(['rows', value]))]).toEqual([value, 1000])
    expect(costFor(rows, query(['rows[]', 'all']))).toBe(1000)
    expect(costFor({ header: 'content-length', max: 160, unbounded: 40 }, length())).toBe(40)
  })

  it.each([
    [65_536, 1],
    [65_537, 1],
    [131_071, 1],
    [131_072, 2],
  ])('divided without roundUp counts whole units only: %d', (bytes, units) =>
    expect(costFor({ query: 'n', divide: 65_536, max: 160 }, query(['n', String(bytes)]))).toBe(units),
  )

  it('divided with roundUp counts a part of a unit as a whole one', () => {
    const cost = { query: 'n', divide: 65_536, roundUp: true, max: 160 }
    expect([1, 65_536, 65_537, 1e9].map((n) => costFor(cost, query(['n', String(n)])))).toEqual([1, 1, 2, 160])
  })

  it('is a whole number from 1 to the most, whatever the request says', () => {
    const text = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String), fc.bigInt().map(String))
    const anyCost = fc.record({
      divide: fc.integer({ min: 1, max: 1e6 }),
      roundUp: fc.boolean(),
      max: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    })
    fc.assert(
      fc.property(anyCost, text, (cost, value) => {
        const units = costFor({ query: 'n', ...cost }, query(['n', value]))
        expect(Number.isSafeInteger(units) && units >= 1 && units <= cost.max).toBe(true)
      }),
      { numRuns: runs(100, 2000) },
    )
  })

  it('grows with the value, and no text that is no number is cheaper than a number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 2000 }), fc.string(), (a, b, text) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((n) => costFor(ROWS, query(['rows', String(n)])))
        expect(less).toBeLessThanOrEqual(more!)
        if (!/^[1-9]\d*$/.test(text)) expect(costFor(ROWS, query(['rows', text]))).toBe(1000)
      }),
    )
  })
})

describe('a cost that is a mistake', () => {
  it.each<[unknown, string]>([
    [
      '5',
      'cost must be an integer from 0, or an object that names the value of the request, such as { query: limit, max: 100 }, got "5"',
    ],
    [-1, 'cost must be an integer from 0'],
    [null, 'got null'],
    [[], 'cost must be an object, got a list'],
    [{ query: 'rows' }, 'max is missing, it must be an integer from 1'],
    [{ max: 5 }, 'cost must name one of query, header, path, claim, got none'],
    [{ query: 'a', claim: 'b', max: 5 }, 'cost must name one of query, header, path, claim, got query and claim'],
    [{ query: 'a', max: 5, default: 6 }, 'default must be at most max, which is 5, got 6'],
    [{ query: 'a', max: 5, unbounded: 6 }, 'unbounded must be from default to max, which is 1 to 5, got 6'],
    [{ query: 'a', max: 5, default: 3, unbounded: 2 }, 'which is 3 to 5, got 2'],
    [{ query: 'a', max: 5, unbounded: 0 }, 'unbounded must be an integer from 1, got 0'],
    [{ query: 'a', max: 0 }, 'max must be an integer from 1, got 0'],
    [{ query: 'a', max: 1.5 }, 'max must be an integer from 1, got 1.5'],
    [{ query: 'a', max: 5, divide: 0 }, 'divide must be an integer from 1, got 0'],
    [{ query: 'a', max: 5, roundUp: true }, 'roundUp must not be set: without divide there is nothing to round'],
    [{ header: 'a b', max: 5 }, 'header must be the name of a header, got "a b"'],
    [{ query: 'a', max: 5, roundup: true }, 'unknown field "roundup", did you mean "roundUp"?'],
  ])('%j is named', (cost, sentence) => {
    try {
      set(cost)
      throw new Error('no mistake was found')
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      expect((error as Error).message).toContain(sentence)
      expect((error as Error).message).toContain('route "GET /a"')
    }
  })
})

describe('a written cost', () => {
  const parse = (input: unknown) => {
    const issues: Mistake[] = []
    return { cost: parseCost(input, ['here'], issues), issues }
  }

  it('keeps the case of a parameter, and not of a header', () => {
    expect(parse({ query: 'Rows', max: 5 }).cost).toMatchObject({ name: 'Rows' })
    expect(parse({ header: 'X-Rows', max: 5 }).cost).toMatchObject({ name: 'x-rows' })
  })

  it('may have its maximum as default', () => {
    expect(parse({ query: 'rows', max: 5, default: 5 }).issues).toEqual([])
  })

  it.each([
    [{ max: 5 }, 'invalid_value'],
    [{ query: 'rows', max: 5, default: 6 }, 'invalid_value'],
    [{ query: 'rows', max: 5, roundUp: true }, 'field_not_applicable'],
  ])('that is wrong is none, and its mistake has a code: %j', (input, code) => {
    const { cost, issues } = parse(input)
    expect(cost).toBeUndefined()
    expect(issues.map((one) => one.code)).toEqual([code])
    expect(String(issues[0])).toMatch(/\(here, cost\)$/)
  })

  it('of which a field is wrong has no other mistakes reported', () => {
    expect(parse({ max: 0 }).issues).toHaveLength(1)
  })
})

describe('costs by name', () => {
  const some = fc.constantFrom('tokens', 'images', 'toString')
  const anyCosts = fc.record(
    { cost: fc.nat(5), costs: fc.dictionary(some, fc.nat(5), { noNullPrototype: true }) },
    { requiredKeys: [] },
  )

  it('of several routes that a request may match: of each policy the most that any of them alone takes', () => {
    fc.assert(
      fc.property(fc.array(anyCosts, { minLength: 1, maxLength: 4 }), some, (given, costName) => {
        const routes = given.map(({ cost = 1, costs }) => ({ cost, costs }))
        const all = unitsFor(routes, NO_FACTS)
        for (const policy of [{}, { costName }]) {
          const alone = routes.map((route) => takenFrom(unitsFor([route], NO_FACTS), policy))
          expect(takenFrom(all, policy)).toBe(Math.max(...alone))
        }
      }),
      { numRuns: runs(200, 5000) },
    )
  })

  const routed = (route: unknown) => () =>
    parseTiersFile({ tiers: { anonymous: { policies: [] } }, routes: { 'GET /a': route } }, 'f')

  it('may each be by a value of the request', () => {
    const set = routed({ costs: { tokens: { header: 'X-Tokens', default: 5, max: 100 }, images: 2 } })()
    const units = (value?: string) =>
      unitsFor(rulesOf(set, 'GET', '/a').costs, {
        ...NO_FACTS,
        ...(value !== undefined && { headers: new Map([['x-tokens', value]]) }),
      })
    expect(units()).toEqual({ cost: 1, costs: { tokens: 5, images: 2 } })
    expect(units('40')).toEqual({ cost: 1, costs: { tokens: 40, images: 2 } })
    expect(units('-1e9')).toEqual({ cost: 1, costs: { tokens: 100, images: 2 } })
  })

  it.each<[unknown, string]>([
    [5, 'costs must be units by the name of a cost, such as { tokens: 500 }, got 5'],
    [['tokens'], 'costs must be units by the name of a cost, such as { tokens: 500 }, got a list'],
    [null, 'costs must be units by the name of a cost'],
    [{ 'to kens': 5 }, 'costs must have names of 1 to 32 letters, digits, "_" or "-", a letter first, got "to kens"'],
    [JSON.parse('{"__proto__": 5}'), 'a letter first, got "__proto__"'],
    [{ tokens: '5' }, 'tokens must be an integer from 0, or an object'],
    [{ tokens: -1 }, 'tokens must be an integer from 0'],
    [{ tokens: null }, 'tokens must be'],
    [
      { tokens: { max: 5 } },
      'tokens must name one of query, header, path, claim, got none (f, route "GET /a", costs, tokens)',
    ],
    [{ tokens: { query: 'n', max: 5, default: 6 } }, 'default must be at most max'],
    [Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`c${i}`, 1])), 'costs must be at most 30, got 31'],
    [Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`c${i}`, 1])), 'names of costs must be at most 16'],
    [{ 'a-b': 1, a_b: 1 }, 'costs "a-b" and "a_b" would both be costAB in the authorizer'],
    [{ tokens: 1, Tokens: 1 }, 'would both be costTokens'],
  ])('that are a mistake are named: %j', (costs, sentence) => {
    expect(routed({ costs })).toThrow(sentence)
    expect(routed({ costs })).toThrow(ConfigError)
  })

  it('may have sixteen names in all routes and policies', () => {
    const costs = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`c${i}`, 1]))
    const file = (names: object) => () =>
      parseTiersFile(
        {
          tiers: { anonymous: { policies: [{ name: 'a', limit: 5, window: '1m', cost: 'of-a-policy' }] } },
          routes: { 'GET /a': { costs }, 'GET /b': { costs: names } },
        },
        'f',
      )
    expect(file({ c0: 1 })).not.toThrow()
    expect(file({ c15: 1 })).toThrow('names of costs must be at most 16 in all routes and policies, got 17')
  })

  it('have keys of letters and digits in the context, whatever their names', () => {
    expect(['tokens', 'input-tokens', 'a_b', 'T', 'x--9', 'y-'].map(costKey)).toEqual([
      ...['costTokens', 'costInputTokens', 'costAB', 'costT', 'costX9', 'costY'],
    ])
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/), (name) =>
        /^cost[A-Z0-9]\w*$/.test(costKey(name)),
      ),
    )
  })
})
