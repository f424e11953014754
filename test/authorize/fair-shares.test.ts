import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { ConfigError } from '../../limiter/errors'
import { policy } from '../policies/issues'
import { Gateway, KEYS, type Request, times } from './gateway'

const { free, pro } = KEYS
const everybody = (more: object = {}) =>
  policy({ name: 'everybody', algorithm: 'fixed-window', limit: 120, window: '10s', fair: true, ...more })
const fileWith = (more: object = {}) => ({
  tiers: {
    anonymous: { by: 'ip', policies: [policy({ limit: 10_000 })] },
    free: { policies: [policy({ limit: 10_000 })] },
    pro: { weight: 2, policies: [policy({ limit: 10_000 })] },
  },
  global: { policies: [everybody()] },
  ...more,
})
const setOf = (more: object = {}) => parseTiersFile(fileWith(more), 'tiers.yaml')

/** Windows in which two clients ask for all, and an anonymous caller for a little; the last of which it returns. */
async function windows(gateway: Gateway, count: number): Promise<Readonly<Record<'free' | 'pro' | 'modest', number>>> {
  const got = { free: 0, pro: 0, modest: 0 }
  const ask = async (who: keyof typeof got, request: Request, often: number) => {
    got[who] += await gateway.allowed(times(often, request))
  }
  for (let window = 0; window < count; window++) {
    gateway.clock.now += 10_000 - (gateway.clock.now % 10_000)
    Object.assign(got, { free: 0, pro: 0, modest: 0 })
    for (let second = 0; second < 9; second++) {
      await ask('free', { key: free }, 20)
      await ask('pro', { key: pro }, 20)
      await ask('modest', { ip: '198.51.100.9' }, 1)
      gateway.clock.now += 1000
    }
  }
  return got
}

describe('a fair policy of all callers', () => {
  it('leaves an anonymous caller what it asks for, and shares the rest by the weights of tiers', async () => {
    const got = await windows(new Gateway({ set: setOf() }), 12)
    expect(got.modest).toBe(9)
    expect(got.pro / got.free).toBeGreaterThan(1.7)
    expect(got.pro / got.free).toBeLessThan(2.3)
    expect(got.modest + got.pro + got.free).toBeGreaterThan(105)
    expect(got.modest + got.pro + got.free).toBeLessThanOrEqual(120)
  })

  it('leaves it little without shares', async () => {
    const set = setOf({ global: { policies: [everybody({ fair: false })] } })
    expect((await windows(new Gateway({ set }), 3)).modest).toBeLessThan(5)
  })

  it('names the share in a denial, which the client’s own policies do not', async () => {
    const gateway = new Gateway({ set: setOf() })
    await windows(gateway, 4)
    gateway.clock.now += 10_000 - (gateway.clock.now % 10_000) + 2000
    await gateway.rest({ key: free })
    await gateway.allowed(times(100, { key: free }))
    expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Deny', policy: 'everybody.share' })
    expect(await gateway.rest({ ip: '198.51.100.9' })).toMatchObject({ effect: 'Allow' })
  })

  it('denies nobody while the whole service only observes', async () => {
    const got = await windows(new Gateway({ set: setOf({ settings: { mode: 'observe' } }) }), 4)
    expect(got).toEqual({ free: 180, pro: 180, modest: 9 })
  })

  it.each([
    [{ tiers: { free: { policies: [everybody()] } } }, 'fair applies to policies that callers share'],
    [{ global: { policies: [everybody({ consistency: 'strict' })] } }, 'fair needs consistency "leased", got "strict"'],
    [
      { settings: { preflight: { limit: 5, window: '1s', fair: true } } },
      'fair applies to policies that callers share',
    ],
    [{ tiers: { free: { weight: 0, policies: [] } } }, 'weight must be an integer from 1 to 1000, got 0'],
  ])('%j is a mistake', (more, sentence) => {
    expect(() => setOf(more)).toThrow(ConfigError)
    expect(() => setOf(more)).toThrow(sentence)
  })
})
