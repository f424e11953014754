import { deflateRawSync } from 'node:zlib'
import { MemoryStore, type PolicyInput, ReservationError } from '../../limiter'
import type { RateLimiter } from '../../limiter/rate-limiter'
import { reserve } from '../../limiter/reservations/reservation'
import { settle } from '../../limiter/reservations/settlements'
import { parseReservation } from '../../limiter/reservations/token'
import { COUNTINGS } from '../limiter/lost-answers'
import { type Library, NEW } from '../model/simulation'
import { OLD, parseByOld, reserveByOld, settleByOld } from './old-library'

const NOW = 1_763_683_200_000
const LIMIT = 100
const REQUESTS: PolicyInput = { name: 'requests', algorithm: 'fixed-window', limit: LIMIT, window: '1h' }
const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '1h' } as const

const RELEASES = { old: OLD, new: NEW } as const
type Release = keyof typeof RELEASES
const IN_BOTH_ORDERS: readonly (readonly [Release, Release])[] = [
  ['old', 'new'],
  ['new', 'old'],
]
const { 'leaky-bucket as a queue': _, ...SETTLED } = COUNTINGS

/** An old instance beside a new one, on one table. */
function scene(policies: readonly PolicyInput[]) {
  const store = new MemoryStore()
  const time = { now: NOW }
  const instance = (library: Library) => ({
    limiter: library.makeLimiter({ store, clock: () => time.now, denialTtlMs: 0 }) as RateLimiter,
    policies: library.compileAll(policies),
  })
  const instances = { old: instance(OLD), new: instance(NEW) }
  return {
    store,
    time,
    take: (by: Release, key = 'a', cost = 1) =>
      instances[by].limiter.decide([{ key, policies: instances[by].policies, cost }]),
    reset: (by: Release, key: string) => instances[by].limiter.reset(key),
    /** Reserves units of each subject, and runs where a policy counts that. */
    begin: (by: Release, cost: number, keys: readonly string[] = ['a']) => {
      const { limiter, policies: own } = instances[by]
      const charges = keys.map((key) => ({ key, policies: own, cost }))
      return { old: reserveByOld, new: reserve }[by](limiter, charges, 60_000, ({ name }) => name === 'requests')
    },
    end: (by: Release, token: string, used: number) => {
      const { limiter } = instances[by]
      return by === 'old'
        ? settleByOld(limiter, parseByOld(token), () => used)
        : settle(limiter, parseReservation(token), () => used)
    },
    usedOf: async (key: string, by: Release = 'new') => {
      const { policies: standings } = await instances[by].limiter.peek([
        { key, policies: instances[by].policies, cost: 0 },
      ])
      const { limit, remaining } = standings.requests!
      return limit - remaining
    },
  }
}

describe.each(Object.entries(SETTLED))('%s', (_name, counting) => {
  const policies = [{ ...REQUESTS, ...counting }]

  it.each(['old', 'new'] as const)(
    'what an old instance reserved is settled by the %s one, of several subjects too',
    async (by) => {
      const { begin, end, usedOf, take } = scene(policies)
      for (const [keys, used] of [
        [['a'], 3],
        [['a'], 14],
        [['b', 'all'], 3],
        [['b', 'all'], 14],
      ] as const) {
        const before = await Promise.all(keys.map((key) => usedOf(key)))
        const { reservation } = await begin('old', 10, keys)
        await take('new', keys[0])
        expect(await end(by, reservation!, used)).toBe(true)
        expect(await end(by, reservation!, used)).toBe(false)
        const after = await Promise.all(keys.map((key) => usedOf(key)))
        expect(after).toEqual(before.map((one, i) => one + used + (i === 0 ? 1 : 0)))
      }
    },
  )

  it('what a new instance reserved counts for an old one, and is settled beside its requests', async () => {
    const { begin, end, usedOf, take } = scene(policies)
    const { reservation } = await begin('new', 10, ['a', 'all'])
    for (const key of ['a', 'all']) {
      await take('old', key)
      expect([await usedOf(key), await usedOf(key, 'old')]).toEqual([11, 11])
    }
    expect(await end('new', reservation!, 4)).toBe(true)
    expect([await usedOf('a', 'old'), await usedOf('all', 'old')]).toEqual([5, 5])
  })
})

it('the reservation of an old instance, rewritten in the newer form, is refused', async () => {
  const { begin, end, usedOf } = scene([REQUESTS])
  const { reservation } = await begin('old', 10, ['a', 'all'])
  const said = Buffer.from(reservation!.split('.')[0]!, 'base64url')
  const rewritten = `2.${deflateRawSync(said).toString('base64url')}...`
  expect(() => end('new', rewritten, 40)).toThrow(ReservationError)
  expect(await end('new', reservation!, 40)).toBe(true)
  expect([await usedOf('a'), await usedOf('all')]).toEqual([40, 40])
})

it('an old backend refuses the reservation of a new instance with an error and changes nothing', async () => {
  const { begin, end, usedOf } = scene([REQUESTS])
  const { reservation } = await begin('new', 10)
  expect(() => end('old', reservation!, 4)).toThrow('reservation')
  expect(await usedOf('a')).toBe(10)
  expect(await end('new', reservation!, 4)).toBe(true)
  expect(await usedOf('a')).toBe(4)
})

it.each(IN_BOTH_ORDERS)('slots of %s and %s instances are counted together', async (one, other) => {
  const { begin, end, take, time } = scene([REQUESTS, RUNNING as never])
  const [first, second] = [await begin(one, 1), await begin(other, 1)]
  for (const by of [one, other]) expect(await begin(by, 1)).toMatchObject({ allowed: false, policy: 'running' })
  expect(await end('new', first.reservation!, 1)).toBe(true)
  time.now += 1000 // a denial by what runs is remembered for a moment
  expect(await begin(other, 1)).toMatchObject({ allowed: true })
  expect(await end('new', second.reservation!, 1)).toBe(true)
  expect(await take(one, 'b')).toMatchObject({ allowed: true })
})

it.each(IN_BOTH_ORDERS)(
  'an item that the %s instance writes to after the %s one lives as long as what it holds',
  async (last, first) => {
    const { store, take, begin, time } = scene([REQUESTS, RUNNING as never])
    await begin(first, 1)
    time.now += 1000
    await take(last)
    expect((await store.read('a')).expiresAtSeconds).toBeGreaterThanOrEqual((NOW + 3_600_000) / 1000)
  },
)

it.each(IN_BOTH_ORDERS)(
  'after a reset by the %s instance, nothing that the %s one reserved before is given back',
  async (by, other) => {
    const { begin, end, reset, usedOf, take } = scene([REQUESTS])
    const { reservation } = await begin(other, 10, ['a', 'all'])
    await reset(by, 'all')
    await take(other, 'all', 20)
    await end('new', reservation!, 4)
    expect([await usedOf('a'), await usedOf('all')]).toEqual([4, 20])
  },
)
