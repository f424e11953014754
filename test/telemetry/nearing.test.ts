import fc from 'fast-check'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { makeNearing } from '../../lambda/telemetry/nearing'
import type { Standing } from '../../limiter/decision'
import { StoreUnavailableError } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { ItemWrite } from '../../limiter/stores/store'
import { KEYS } from '../authorize/gateway'
import { policy } from '../policies/issues'
import { runs } from '../runs'
import { sums } from './embedded-metrics'
import { watchedGateway } from './watched'

const HOUR = { algorithm: 'fixed-window', window: '1h', limit: 10 } as const

type Rule = Readonly<Record<string, unknown>>

/** Instances of one deployment, whose clocks agree. */
function fleet(policies: readonly Rule[], settings: Rule = {}, more: Rule = {}, count = 1, store = new MemoryStore()) {
  const tier = { policies: policies.map((one) => policy(one)) }
  const set = parseTiersFile({ tiers: { anonymous: tier, free: tier }, settings, ...more }, 'f')
  const all = Array.from({ length: count }, () => watchedGateway({ flushMs: 0 }, { set, store }))
  const near = () => all.flatMap(({ entries }) => entries().filter(({ event }) => event === 'limit_nearing'))
  return {
    near,
    used: () => near().map(({ used }) => used),
    lines: () => all.flatMap(({ lines }) => lines),
    pass: (ms: number) => {
      for (const { clock } of all) clock.now += ms
    },
    ask: async (times = 1, { instance = 0, key = KEYS.free as string, path = '/hello' } = {}) => {
      let allowed = 0
      for (let i = 0; i < times; i++) {
        const { allowed: isAllowed } = await all[instance]!.gateway.http({ key, path })
        if (isAllowed) allowed++
      }
      return allowed
    },
    gateways: all,
  }
}

/** One unit that was taken of a window, after which so much remains. */
const charged = (subject: string, limit: number, remaining: number, { consistency = 'strict', isSettled = false }) => ({
  nearing: 80,
  taken: [
    {
      subject,
      units: 1,
      isSettled,
      standing: { remaining, resetAfterMs: 60_000 } as Standing,
      policy: { name: 'p', limit, prefix: 'x', consistency, written: { algorithm: 'fixed-window' } },
    },
  ],
})

describe('a caller who nears a limit', () => {
  it('is told by the request that passes 80 %, once a window', async () => {
    const { ask, near, used, pass, lines } = fleet([HOUR])
    await ask(7)
    expect(near()).toEqual([])
    await ask(5) // of which two are denied
    expect(near()).toEqual([
      {
        level: 'info',
        event: 'limit_nearing',
        message: 'caller nears a limit',
        reason: 'ok',
        tier: 'free',
        policy: 'per-minute',
        subject: expect.stringMatching(/^client#.{43}$/),
        limit: 10,
        api: 'qrstuv5678',
        method: 'GET',
        route: '$default',
        used: 8,
        nearings: 1,
        leftOut: 0,
      },
    ])
    pass(3_600_000)
    await ask(10)
    expect(used()).toEqual([8, 8])
    expect(sums(lines())).toMatchObject({ Nearing: 2, 'Nearing free per-minute': 2, Allowed: 20 })
  })

  it.each([
    ['another share', { nearing: 30 }, [3]],
    ['the last unit', { nearing: 99 }, [10]],
    ['none', { nearing: 'off' }, []],
    ['one of a service that observes', { mode: 'observe' }, [8]],
    ['none of a service that counts nothing', { mode: 'off' }, []],
  ])('is told at %s where the settings say %j', async (_, settings, told) => {
    const { ask, used } = fleet([HOUR], settings)
    await ask(12)
    expect(used()).toEqual(told)
  })

  it('is told with the policy, of several each once', async () => {
    const { ask, near } = fleet([
      { ...HOUR, name: 'a' },
      { ...HOUR, name: 'b', limit: 5 },
      { ...HOUR, name: 'c', limit: 1000 },
    ])
    await ask(9)
    expect(near().map(({ policy: name, used }) => [name, used])).toEqual([['b', 4]])
    const wider = fleet([
      { ...HOUR, name: 'a' },
      { ...HOUR, name: 'b', limit: 20 },
    ])
    await wider.ask(20)
    expect(wider.near().map(({ policy: name, used }) => [name, used])).toEqual([['a', 8]])
  })

  it('is told by a request that jumps over the share, and not by one that is denied for it', async () => {
    const routes = { 'GET /batch': { cost: 6 } }
    const { ask, used } = fleet([HOUR], {}, { routes })
    expect(await ask(3)).toBe(3)
    expect(await ask(1, { path: '/batch', key: KEYS.free })).toBe(1)
    expect(used()).toEqual([9])
    const other = fleet([HOUR], {}, { routes })
    await other.ask(7)
    expect(await other.ask(1, { path: '/batch', key: KEYS.free })).toBe(0)
    expect(other.used()).toEqual([])
  })

  it('is the subject that is counted: everybody, where a limit is everybody’s', async () => {
    const { ask, near } = fleet([{ ...HOUR, by: 'global' }])
    await ask(4)
    await ask(4, { key: KEYS.pro })
    expect(near()).toMatchObject([{ used: 8, subject: expect.stringMatching(/^(global|subject)#/) }])
  })

  it('is told by one of several instances, whoever passes the share', async () => {
    const { ask, used } = fleet([HOUR], {}, {}, 3)
    for (let i = 0; i < 10; i++) await ask(1, { instance: i % 3 })
    expect(used()).toEqual([8])
  })

  it('is told once by requests at the same time', async () => {
    const { ask, used } = fleet([{ ...HOUR, limit: 100 }], {}, {}, 4)
    await Promise.all(Array.from({ length: 100 }, (_, i) => ask(1, { instance: i % 4 })))
    expect(used()).toEqual([80])
  })

  it('is told once where the answer to the write was lost, and it was sent again', async () => {
    let lost = 0
    class Lossy extends MemoryStore {
      override async write(key: string, write: ItemWrite): ReturnType<MemoryStore['write']> {
        const answer = await super.write(key, write)
        if (answer.kind === 'applied' && lost++ % 2 === 0) throw new StoreUnavailableError('timeout', 'lost')
        return answer
      }
    }
    const { ask, used } = fleet([HOUR], {}, {}, 1, new Lossy())
    expect(await ask(10)).toBe(10)
    expect(used()).toEqual([8])
  })

  it('is not told without the state table, whose counts are guesses', async () => {
    const away = async (): Promise<never> => {
      throw new StoreUnavailableError('unreachable', 'no connection')
    }
    const store = Object.assign(new MemoryStore(), { write: away, read: away })
    const { ask, used } = fleet([HOUR], {}, {}, 1, store)
    expect(await ask(10)).toBeGreaterThan(0)
    expect(used()).toEqual([])
  })

  it('is told by an instance once a window where counts are leased, and the share may pass unseen', async () => {
    const { ask, near, pass } = fleet([{ ...HOUR, limit: 100, consistency: 'leased' }], {}, {}, 2)
    for (let i = 0; i < 100; i++) await ask(1, { instance: i % 2 })
    expect(near().length).toBeGreaterThanOrEqual(1)
    expect(near().length).toBeLessThanOrEqual(2)
    for (const { used } of near()) expect(used).toBeGreaterThanOrEqual(80)
    const before = near().length
    pass(3_600_000)
    for (let i = 0; i < 100; i++) await ask(1, { instance: i % 2 })
    expect(near().length).toBeGreaterThan(before)
  })

  it('is told where counts are eventual', async () => {
    const { ask, used } = fleet([{ ...HOUR, consistency: 'eventual' }])
    await ask(10)
    expect(used()).toEqual([8])
  })

  it('is told where units are settled later, by which the share may pass unseen', async () => {
    const { ask, used } = fleet([{ ...HOUR, limit: 100, settle: '5m' }], {}, {}, 1)
    await ask(79)
    expect(used()).toEqual([])
    await ask(10)
    expect(used()).toEqual([80])
    const near = makeNearing()
    const at = (remaining: number) => near(charged('a', 100, remaining, { isSettled: true }), 0).map(({ used }) => used)
    // its reservation of 10 was settled as 60 by its backend, so no request passed the share
    expect([at(60), at(9), at(8), at(50), at(5)]).toEqual([[], [91], [], [], []])
  })

  it('is told of units past a quota that is billed, and once', async () => {
    const { ask, used } = fleet([{ ...HOUR, overage: 'allow' }])
    expect(await ask(15)).toBe(15)
    expect(used()).toEqual([8])
  })

  it.each([
    ['gcra', { algorithm: 'gcra', burst: 20 }],
    ['token-bucket', { algorithm: 'token-bucket', burst: 20 }],
    ['leaky-bucket', { algorithm: 'leaky-bucket', burst: 20 }],
    ['sliding-window', { algorithm: 'sliding-window', limit: 20 }],
    ['sliding-log', { algorithm: 'sliding-log', limit: 20 }],
  ])('of %s is told again once less than half was used, and not for hovering', async (_, rule) => {
    const { ask, used, pass } = fleet([{ window: '1h', limit: 10, ...rule }])
    await ask(18)
    expect(used()).toEqual([16])
    for (let i = 0; i < 30; i++) {
      pass(700_000) // a unit or two come back
      await ask(2)
    }
    const hovering = used().length
    expect(hovering).toBe(1)
    pass(7_200_000)
    await ask(18)
    expect(used()).toHaveLength(2)
  })

  it('is told once by each instance while a caller without windows hovers there', async () => {
    const { ask, used, pass } = fleet([{ algorithm: 'gcra', window: '1h', limit: 20 }], {}, {}, 2)
    await ask(15)
    for (let i = 0; i < 60; i++) {
      await ask(1, { instance: i % 2 })
      pass(180_000) // one unit comes back
    }
    expect(used().length).toBeGreaterThanOrEqual(1)
    expect(used().length).toBeLessThanOrEqual(2)
  })

  it('is named where the log may name callers, and nobody is whose limit it is not', async () => {
    const rules = [policy({ ...HOUR, name: 'own' }), policy({ ...HOUR, name: 'shared', by: 'global' })]
    const set = parseTiersFile({ tiers: { anonymous: { policies: rules }, free: { policies: rules } } }, 'f')
    const [clear, hashed] = [watchedGateway({ callers: 'clear' }, { set }), watchedGateway({}, { set })]
    for (const { gateway } of [clear, hashed]) for (let i = 0; i < 9; i++) await gateway.http({ key: KEYS.free })
    const named = ({ entries }: typeof clear) =>
      entries().flatMap(({ event, policy: name, caller, ip }) =>
        event === 'limit_nearing' ? [{ name, isNamed: caller !== undefined, hasAddress: ip !== undefined }] : [],
      )
    expect(named(clear)).toEqual([
      { name: 'own', isNamed: true, hasAddress: true },
      { name: 'shared', isNamed: false, hasAddress: false },
    ])
    expect(named(hashed).map(({ isNamed, hasAddress }) => isNamed || hasAddress)).toEqual([false, false])
    expect(hashed.lines.join()).not.toContain('client-free')
  })

  it('is told once a minute at most, and then how often it was since', async () => {
    const { ask, near, pass } = fleet([{ ...HOUR, window: '10s' }])
    await ask(9)
    pass(59_999)
    await ask(9)
    expect(near()).toHaveLength(1)
    pass(1)
    await ask(9)
    expect(near().map(({ nearings, leftOut }) => [nearings, leftOut])).toEqual([
      [1, 0],
      [2, 1],
    ])
  })

  it.each([
    ['slots', { algorithm: 'concurrency', window: undefined, limit: 4, timeout: '1m' }],
    ['a limit of one', { limit: 1 }],
    ['what passes a limit that observes', { limit: 4, action: 'observe' }],
    ['what overruns a limit', { limit: 4, overrun: '100%' }],
  ])('is not told of %s', async (_, rule) => {
    const { ask, used } = fleet([{ ...HOUR, ...rule }], {}, { routes: { 'GET /batch': { cost: 3 } } })
    expect(await ask(6, { path: rule.limit === 1 ? '/hello' : '/batch' })).toBeGreaterThan(0)
    expect(used()).toEqual([])
  })

  it('is told once by all instances, where slots are held beside a strict count', async () => {
    const slots = { name: 'slots', algorithm: 'concurrency', window: undefined, limit: 50, timeout: '1m' }
    const { ask, used } = fleet([HOUR, slots], {}, {}, 4)
    for (let i = 0; i < 10; i++) await ask(1, { instance: i % 4 })
    expect(used()).toEqual([8])
  })

  it('is told of the policy that is near, and whose it is, where another has its name', async () => {
    const everybody = policy({ ...HOUR, by: 'global', limit: 20 })
    const { ask, near } = fleet([HOUR], {}, { routes: { 'GET /hello': { policies: [everybody] } } })
    await ask(9)
    await ask(9, { key: KEYS.pro })
    expect(near()).toMatchObject([
      { used: 8, limit: 10, subject: expect.stringMatching(/^client#/) },
      { used: 16, limit: 20, subject: expect.stringMatching(/^subject#/) },
      { used: 8, limit: 10, subject: expect.stringMatching(/^client#/) },
    ])
  })

  it.each(['strict', 'leased', 'eventual'])(
    'is told anew where the limit of the window was raised: %s',
    async (consistency) => {
      const near = makeNearing()
      const used = (limit: number, remaining: number) =>
        near(charged('a', limit, remaining, { consistency }), 0).map((one) => one.used)
      expect([used(10, 2), used(10, 1), used(100, 90), used(100, 20), used(100, 19), used(10, 0)]).toEqual([
        [8],
        [],
        [],
        [80],
        [],
        [],
      ])
    },
  )

  it('is remembered for at most ten thousand, and told of later ones', async () => {
    const near = makeNearing(2)
    const told = (subject: string, now: number) => near(charged(subject, 10, 1, { consistency: 'leased' }), now).length
    expect([told('a', 0), told('a', 1), told('b', 1), told('c', 1), told('a', 2)]).toEqual([1, 0, 1, 1, 1])
    expect(told('a', -5)).toBe(1) // the clock was set back
  })

  it('is told by each window exactly once, whatever comes from whom and when, where counts are strict', async () => {
    const step = fc.record({
      instance: fc.integer({ min: 0, max: 2 }),
      path: fc.constantFrom('/hello', '/batch'),
      afterMs: fc.constantFrom(0, 0, 0, 60_000, 1_000_000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { ask, near, pass } = fleet([HOUR], {}, { routes: { 'GET /batch': { cost: 3 } } }, 3)
        const usedIn = new Map<number, number>()
        let now = 1_700_000_000_000
        for (const { instance, path, afterMs } of steps) {
          pass(afterMs)
          now += afterMs
          const window = Math.floor(now / 3_600_000)
          const units = (await ask(1, { instance, path })) * (path === '/batch' ? 3 : 1)
          usedIn.set(window, (usedIn.get(window) ?? 0) + units)
        }
        const due = [...usedIn.values()].filter((used) => used >= 8).length
        const told = near().reduce((sum, { nearings }) => sum + Number(nearings), 0)
        expect(told).toBe(due)
      }),
      { numRuns: runs(40, 300) },
    )
  })
})
