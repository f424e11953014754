import fc from 'fast-check'
import { createLimiter } from '../../limiter/create-limiter'
import { MemoryStore } from '../../limiter/index'
import type { AlgorithmName, PolicyInput } from '../../limiter/policies/policy'
import { neverPassing, partsOf, splitTiers } from '../../provisioning/region-shares'
import type { TiersFile } from '../../provisioning/tiers-file'
import { runs } from '../runs'

const NAMES = ['eu-west-1', 'us-east-1', 'ap-southeast-2', 'us-gov-west-1', 'eu-central-1']
const HALVES = { 'eu-west-1': 50, 'us-east-1': 50 }

/** Percentages with at most three decimals that make 100. */
const shares = fc
  .uniqueArray(fc.integer({ min: 1, max: 99_999 }), { minLength: 0, maxLength: NAMES.length - 1 })
  .map((cuts) => [0, ...cuts.sort((a, b) => a - b), 100_000])
  .map((cuts) => Object.fromEntries(cuts.slice(1).map((cut, i) => [NAMES[i]!, (cut - cuts[i]!) / 1000])))

const fileOf = (...policies: object[]): TiersFile => ({ tiers: { anonymous: { by: 'ip', policies } } })
const per = (limit: number, more: object = {}) => ({ name: 'per-minute', limit, window: '1m', ...more })
const policiesIn = (file: TiersFile | undefined) => file?.tiers.anonymous?.policies as Record<string, number>[]

describe('limits shared out to Regions', () => {
  it('are parts that make exactly the limit, each less than one away from its share, in whatever order shares are said', () => {
    fc.assert(
      fc.property(shares, fc.integer({ min: 1, max: 999_999_999_999_999 }), (percent, limit) => {
        const parts = partsOf(limit, percent)
        expect(Object.values(parts).reduce((sum, part) => sum + BigInt(part), 0n)).toBe(BigInt(limit))
        for (const [region, part] of Object.entries(parts)) {
          const off = BigInt(part) * 100_000n - BigInt(limit) * BigInt(Math.round(percent[region]! * 1000))
          expect(off > -100_000n && off < 100_000n).toBe(true)
        }
        expect(partsOf(limit, Object.fromEntries(Object.entries(percent).reverse()))).toEqual(parts)
      }),
      { numRuns: runs(200, 2000) },
    )
  })

  it('leave all else of a file as it is', () => {
    const file = {
      settings: { preflight: { limit: 9, window: '1m' }, localShare: 0.5 },
      'settings @dev': { apis: ['*/dev'], mode: 'observe' },
      tiers: { anonymous: { by: 'ip', policies: [per(60, { overrun: '10%' })] }, open: { policies: [] } },
      routes: {
        'GET /search': { cost: 5, policies: [per(10, { name: 'search', algorithm: 'gcra', burst: 21 })] },
        'GET /x': { cost: 0 },
      },
      global: { policies: [per(3, { name: 'all', algorithm: 'concurrency', timeout: '1m', window: undefined })] },
    } as unknown as TiersFile
    const { 'eu-west-1': one, 'us-east-1': other } = splitTiers(file, HALVES, 'tiers.yaml')
    expect(one).toEqual({
      ...file,
      settings: { preflight: { limit: 5, window: '1m' }, localShare: 0.5 },
      tiers: { anonymous: { by: 'ip', policies: [per(30, { overrun: '10%' })] }, open: { policies: [] } },
      routes: {
        'GET /search': { cost: 5, policies: [per(5, { name: 'search', algorithm: 'gcra', burst: 11 })] },
        'GET /x': { cost: 0 },
      },
      global: { policies: [per(2, { name: 'all', algorithm: 'concurrency', timeout: '1m', window: undefined })] },
    })
    expect(other!.routes!['GET /search']).toMatchObject({ policies: [{ limit: 5, burst: 10 }] })
    expect(other!.global).toMatchObject({ policies: [{ limit: 1 }] })
    expect(policiesIn(splitTiers(file, { 'eu-west-1': 100 }, 'f')['eu-west-1'])).toEqual(policiesIn(file))
  })

  it.each<[AlgorithmName, object]>([
    ['fixed-window', {}],
    ['anchored-window', {}],
    ['sliding-window', {}],
    ['sliding-buckets', {}],
    ['sliding-log', {}],
    ['token-bucket', { burst: 9 }],
    ['leaky-bucket', {}],
    ['gcra', { burst: 5 }],
  ])(
    '%s: all Regions together admit from nothing what one would, and no Region more than its part',
    async (algorithm, more) => {
      const whole = per(7, { algorithm, ...more })
      const files = splitTiers(fileOf(whole), { 'eu-west-1': 41.5, 'us-east-1': 33.5, 'eu-central-1': 25 }, 'f')
      const admitted = async (policy: unknown) => {
        const policies = [policy as PolicyInput]
        const limiter = createLimiter({ store: new MemoryStore(), policies, clock: () => 1_700_000_040_000 })
        let count = 0
        for (let i = 0; i < 20; i++) if ((await limiter.take('a')).allowed) count++
        return count
      }
      const each = await Promise.all(Object.values(files).map((file) => admitted(policiesIn(file)[0])))
      expect(each.reduce((sum, count) => sum + count, 0)).toBe(await admitted(whole))
      expect(Math.max(...each)).toBeLessThan(await admitted(whole))
    },
  )

  it('are refused where a Region would have nothing, for each policy by its place', () => {
    const file = {
      ...fileOf(per(1), per(2, { name: 'b', algorithm: 'gcra', burst: 1 })),
      routes: { 'GET /a': { policies: [per(1, { name: 'c' })] } },
    }
    expect(() => splitTiers(file, HALVES, 'tiers.yaml')).toThrow(
      [
        '3 mistakes in the configuration:',
        '  - limit must be large enough for a unit in each Region, got 1: us-east-1 would have none (tiers.yaml, tier "anonymous", policy "per-minute")',
        '  - burst must be large enough for a unit in each Region, got 1: us-east-1 would have none (tiers.yaml, tier "anonymous", policy "b")',
        '  - limit must be large enough for a unit in each Region, got 1: us-east-1 would have none (tiers.yaml, route "GET /a", policy "c")',
      ].join('\n'),
    )
  })

  it.each([
    [{ 'eu-west-1': 50, 'us-east-1': 49 }, 'the shares of all Regions must add up to 100 %, got 99 %'],
    [{}, 'the shares of all Regions must add up to 100 %, got 0 %'],
    [{ 'eu-west-1': 101, 'us-east-1': -1 }, 'the share of "us-east-1" must be a percentage above 0'],
    [{ 'eu-west-1': 33.3333, 'us-east-1': 66.6667 }, 'at most three decimals, got 33.3333'],
    [{ 'eu-west-1': Number.NaN, 'us-east-1': 100 }, 'the share of "eu-west-1" must be a percentage above 0'],
    [{ Ireland: 100 }, 'a Region must be a name such as "eu-west-1", got "Ireland"'],
  ])('take no shares such as %j', (wrong, sentence) => {
    expect(() => splitTiers(fileOf(per(100)), wrong, 'f')).toThrow(sentence)
  })

  it('are not made from what was exported, whose limits may be parts already', () => {
    expect(() => splitTiers({ ...fileOf(per(100)), exported: {} }, HALVES, 'f')).toThrow(
      'exported must not be in a file to split',
    )
  })

  it('come with a warning where a request takes more than a part, and took no more than the whole', () => {
    const warnings = (routes: Record<string, object>, ...policies: object[]) => {
      const file = { ...fileOf(...policies), routes } as TiersFile
      return neverPassing(file, splitTiers(file, HALVES, 'f')['us-east-1']!, 'us-east-1')
    }
    expect(warnings({ 'POST /batch': { cost: 31 } }, per(60))).toEqual([
      'a request of "POST /batch" takes up to 31 units, and can never pass where policy "per-minute" of tier "anonymous" applies to it: its limit is 30 in us-east-1',
    ])
    expect(warnings({ 'POST /batch': { cost: 30 } }, per(60))).toEqual([])
    expect(warnings({ 'POST /batch': { cost: 61 } }, per(60))).toEqual([]) // never did
    expect(warnings({ 'POST /batch': { cost: 31 } }, per(60, { algorithm: 'gcra', burst: 62 }))).toEqual([])
    expect(
      warnings(
        { 'GET /a': { costs: { tokens: { query: 'n', max: 40 } } } },
        per(60),
        per(50, { name: 't', cost: 'tokens' }),
      ),
    ).toEqual([
      expect.stringContaining('"GET /a" takes up to 40 units of "tokens", and can never pass where policy "t"'),
    ])
    const own = { policies: [per(10, { name: 'own' })] }
    expect(warnings({ 'GET /a': own, 'POST /batch': { cost: 9 } }, per(60))).toEqual([])
    expect(warnings({ 'GET /a': { ...own, cost: 6 } }, per(60))).toHaveLength(1)
  })
})
