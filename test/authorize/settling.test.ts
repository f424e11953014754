import fc from 'fast-check'
import { settlerIn } from '../../backend/settler'
import { parseAccess } from '../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { createLimiter, type PolicyInput, StoreUnavailableError } from '../../limiter'
import { parseReservation } from '../../limiter/reservations/token'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'
import { Gateway, KEYS, PREFLIGHT, type Told } from './gateway'

const REQUESTS = { name: 'requests', algorithm: 'fixed-window', limit: 5, window: '1h' }
const TOKENS = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }
const CHAT = { costs: { tokens: 400 } }

const fileWith = (free: readonly object[], routes: object = { 'POST /chat': CHAT }, more: object = {}) => ({
  tiers: { anonymous: { policies: [] }, free: { policies: free } },
  routes,
  ...more,
})
const setWith = (...parts: Parameters<typeof fileWith>) => parseTiersFile(fileWith(...parts), 'f')
const SETTLED = setWith([REQUESTS, { ...TOKENS, settle: true }])

const chat = (gateway: Gateway, path = '/chat') => gateway.rest({ method: 'POST', path, key: KEYS.free })

/** A backend: another process, which knows the store and the reservation. */
const backend = ({ clock, store }: Gateway, policies: readonly PolicyInput[] = [TOKENS as PolicyInput]) =>
  createLimiter({ store, clock: clock.read, policies })

/** Units by policy that the next request of the same caller would find. */
async function left(gateway: Gateway, path = '/chat') {
  const { rateLimit } = await chat(gateway, path)
  return Object.fromEntries(
    [...rateLimit.matchAll(/"([\w-]+)";r=(\d+)/g)].map(([, name, units]) => [name, Number(units)]),
  )
}

describe('a policy that is settled', () => {
  it('hands the backend a reservation, which settles to what was used', async () => {
    const gateway = new Gateway({ set: SETTLED })
    const write = jest.spyOn(gateway.store, 'write')
    const { reservation, allowed } = await chat(gateway)
    expect([allowed, write.mock.calls.length]).toEqual([true, 1])
    expect(await backend(gateway).settle(reservation, { costs: { tokens: 100 } })).toBe(true)
    expect(write).toHaveBeenCalledTimes(2)
    expect(await left(gateway)).toEqual({ requests: 3, tokens: 500 })
  })

  it('charges what was used beyond it, past the limit', async () => {
    const gateway = new Gateway({ set: SETTLED })
    const { reservation } = await chat(gateway)
    await backend(gateway).settle(reservation, 1200)
    expect(await chat(gateway)).toMatchObject({ allowed: false, policy: 'tokens', remaining: 0, reservation: '' })
  })

  it('settles nothing that it did not charge: a preflight, an exempt caller, a denial, an outage', async () => {
    const gateway = new Gateway({ set: SETTLED })
    for (const path of ['/chat', '/chat']) await chat(gateway, path)
    expect(await chat(gateway)).toMatchObject({ allowed: false, reservation: '' })
    expect(await gateway.rest({ method: 'OPTIONS', headers: PREFLIGHT })).toMatchObject({ reservation: '' })
    const exempt = new Gateway({
      set: SETTLED,
      access: [parseAccess('allow', 'ip#198.51.100.7', {}, [], [])!],
    })
    expect((await chat(exempt)).reservation).toBe('')
    const away = new MemoryStore()
    jest.spyOn(away, 'write').mockRejectedValue(new Error('away'))
    const without = new Gateway({ set: SETTLED, store: away, onStoreError: 'allow' })
    expect(await chat(without)).toMatchObject({ reservation: '' })
  })

  it('says so on an HTTP API as well', async () => {
    const gateway = new Gateway({ set: SETTLED })
    const { reservation } = await gateway.http({ method: 'POST', path: '/chat', key: KEYS.free })
    expect(await backend(gateway).settle(reservation, 0)).toBe(true)
    expect(await left(gateway)).toEqual({ requests: 3, tokens: 600 })
  })

  it('is in no answer of the authorizer that a client gets', async () => {
    const gateway = new Gateway({ set: SETTLED })
    const { reservation, rateLimit, rateLimitPolicy, detail, ...rest } = await chat(gateway)
    expect(JSON.stringify([rateLimit, rateLimitPolicy, detail])).not.toContain(reservation)
    expect(Object.values(rest)).not.toContain(reservation)
    expect(JSON.stringify(gateway.entries)).not.toContain(reservation)
  })

  it('reserves for fifteen minutes, the longest that a function runs, or as long as it says', async () => {
    const forMs = async (settle: unknown) => {
      const { reservation } = await chat(new Gateway({ set: setWith([{ ...TOKENS, settle }]) }))
      return parseReservation(reservation)[0]!.forMs
    }
    expect([await forMs(true), await forMs('30s'), await forMs('24h')]).toEqual([900_000, 30_000, 86_400_000])
  })

  it('holds nothing where it says false, or where nobody says settle', async () => {
    for (const policy of [TOKENS, { ...TOKENS, settle: false }])
      expect((await chat(new Gateway({ set: setWith([policy]) }))).reservation).toBe('')
  })

  it('only observes, and settles nothing that it was not charged', async () => {
    const set = setWith([REQUESTS, { ...TOKENS, limit: 500, action: 'observe', settle: true }])
    const gateway = new Gateway({ set })
    await chat(gateway)
    const second = await chat(gateway)
    expect(second).toMatchObject({ allowed: true, observed: true })
    await backend(gateway).settle(second.reservation, 0)
    expect(await left(gateway)).toMatchObject({ requests: 2, tokens: 100 })
  })
})

describe('one that has as many reservations open as there may be', () => {
  /** A subject of which 1,000 are open, without asking so often. */
  async function full(set: ReturnType<typeof setWith>) {
    const gateway = new Gateway({ set })
    const { reservation } = await chat(gateway)
    const [{ key, holders }] = parseReservation(reservation) as [ReturnType<typeof parseReservation>[number]]
    const item = (gateway.store as unknown as { items: Map<string, { policies: Record<string, object> }> }).items
    const { policies } = item.get(key)!
    const until = gateway.clock.now + 900_000
    const open = Array.from({ length: 1000 }, (_, i) => [`${i}`.padStart(25, 'x'), until])
    policies[holders[0]!.prefix] = { n: 1000, ...Object.fromEntries(open) }
    return gateway
  }
  // another instance, which has seen nothing of it
  const anew = ({ store }: Gateway, set: ReturnType<typeof setWith>) => chat(new Gateway({ set, store }))

  it('denies one more', async () => {
    expect(await anew(await full(SETTLED), SETTLED)).toMatchObject({ allowed: false, policy: 'reservations' })
  })

  it.each([
    [
      'all limits observe',
      setWith([REQUESTS, { ...TOKENS, settle: true }], undefined, { settings: { mode: 'observe' } }),
    ],
    ['what is settled observes', setWith([REQUESTS, { ...TOKENS, settle: true, action: 'observe' }])],
  ])('denies nobody where %s', async (_, set) => {
    const gateway = await full(set)
    const told = await anew(gateway, set)
    expect(told).toMatchObject({ allowed: true, observed: true })
    expect(await backend(gateway).settle(told.reservation, 0)).toBe(false)
  })
})

it('hands a slot on whose answer was lost, so that the backend frees it', async () => {
  const running = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1m' }
  const store = new MemoryStore()
  const gateway = new Gateway({ set: setWith([running], { 'POST /chat': {} }), store })
  const written = MemoryStore.prototype.write.bind(store)
  const lost = jest.spyOn(store, 'write').mockImplementation(async (...given) => {
    await written(...given)
    throw new StoreUnavailableError('unreachable', 'the answer is lost')
  })
  const told = await chat(gateway)
  expect([told.allowed, told.degraded, told.reservation !== '']).toEqual([true, true, true])
  lost.mockRestore()
  const next = new Gateway({ set: setWith([running], { 'POST /chat': {} }), store })
  expect(await chat(next)).toMatchObject({ allowed: false, policy: 'running' })
  await settlerIn(store, next.clock.read).settle(told.reservation, undefined)
  next.clock.now += 201
  expect(await chat(next)).toMatchObject({ allowed: true })
})

describe('a route that is settled', () => {
  const settled = async (route: object, policies: readonly object[], used: object | number) => {
    const gateway = new Gateway({ set: setWith(policies, { 'POST /chat': route, 'POST /free': { cost: 0 } }) })
    const { reservation } = await chat(gateway)
    expect(await backend(gateway).settle(reservation, used as never)).toBe(true)
    const { requests, tokens } = await left(gateway)
    return [requests, tokens]
  }

  it('settles the costs that it names, in policies of tiers, of all requests and its own', async () => {
    expect(await settled({ ...CHAT, settle: true }, [REQUESTS, TOKENS], 100)).toEqual([3, 500])
  })

  it('settles what counts requests where it names no cost', async () => {
    expect(await settled({ cost: 2, settle: '1m' }, [{ ...REQUESTS, limit: 10 }, TOKENS], 1)).toEqual([7, 998])
  })

  it('settles nothing of a policy of which the route takes nothing', async () => {
    const set = setWith([REQUESTS, { ...TOKENS, settle: true }], { 'POST /chat': { costs: { tokens: 0 } } })
    expect(await chat(new Gateway({ set }))).toMatchObject({ allowed: true, reservation: '' })
  })

  it('settles whatever any of the routes says that a request may match', async () => {
    const set = setWith([REQUESTS, TOKENS], { 'POST /chat/{id}': { ...CHAT, settle: true }, 'POST /chat/list': CHAT })
    const { reservation } = await chat(new Gateway({ set }), '/chat/%6cist')
    expect(reservation === '' ? [] : parseReservation(reservation)[0]!.entries.map(({ units }) => units)).toEqual([400])
  })

  it('settles several subjects of one request, each by a write of its own', async () => {
    const global = { policies: [{ ...TOKENS, name: 'all', limit: 5000, settle: true }] }
    const gateway = new Gateway({ set: setWith([{ ...TOKENS, settle: true }], { 'POST /chat': CHAT }, { global }) })
    const { reservation } = await chat(gateway)
    const write = jest.spyOn(gateway.store, 'write')
    await backend(gateway).settle(reservation, 100)
    expect(write).toHaveBeenCalledTimes(2)
    expect(await left(gateway)).toEqual({ all: 4500, tokens: 500 })
  })
})

describe('settle', () => {
  const why = (...parts: Parameters<typeof fileWith>) => {
    try {
      setWith(...parts)
      return 'valid'
    } catch (error) {
      return (error as Error).message
    }
  }
  const asked = (more: object) => why([{ ...TOKENS, settle: true, ...more }])

  it('is refused where no item could be settled', () => {
    expect(asked({ consistency: 'leased' })).toContain('settle does not go with consistency "leased"')
    expect(asked({ consistency: 'eventual' })).toContain('settle does not go with consistency "eventual"')
    expect(asked({ action: 'delay', maxDelay: '1s' })).toContain('settle does not go with action "delay"')
    expect(asked({ settle: '500ms' })).toContain(
      'settle must be true, or how long at most until the request ends: a duration from "1s" to "24h", got "500ms"',
    )
    expect(asked({ settle: '2d' })).toContain('settle must be')
    expect(asked({ settle: 60 })).toContain('got 60')
  })

  it('is refused on a route where it would settle nothing, or what cannot be settled', () => {
    const route = { 'POST /chat': { ...CHAT, settle: true } }
    expect(why([REQUESTS], route)).toContain('settle has nothing to settle: no policy of any tier counts tokens')
    expect(why([{ ...TOKENS, consistency: 'leased' }], route)).toContain(
      'settle does not go with policy "tokens": it has consistency "leased"',
    )
    expect(why([REQUESTS], { 'POST /chat': { settle: true } })).toBe('valid')
    expect(why([REQUESTS, TOKENS], { 'GET /': { settle: true, policies: [{ ...REQUESTS, name: 'own' }] } })).toBe(
      'valid',
    )
    const shared = { global: { policies: [{ name: 'all', limit: 9, window: '1m' }] } }
    expect(why([REQUESTS], { 'POST /chat': { cost: 5, settle: true } }, shared)).toContain(
      'settle does not go with policy "all": it has consistency "leased"',
    )
  })

  it('keeps a policy that all callers share strict, which is leased otherwise', async () => {
    const all = { ...TOKENS, name: 'all', settle: true }
    const gateway = new Gateway({ set: setWith([REQUESTS], { 'POST /chat': CHAT }, { global: { policies: [all] } }) })
    const { reservation } = await chat(gateway)
    await backend(gateway).settle(reservation, 0)
    expect(await left(gateway)).toEqual({ requests: 3, all: 600 })
  })
})

test('whatever is used and lost, a subject is charged as if every settled request had cost what it used', async () => {
  const step = fc.record({ used: fc.nat({ max: 900 }), isSettled: fc.boolean(), twice: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const tokens = { ...TOKENS, limit: 100_000, settle: true }
      const gateway = new Gateway({ set: setWith([tokens]) })
      let charged = 0
      const open: { readonly told: Told; readonly used: number }[] = []
      for (const { used, isSettled, twice } of steps) {
        const told = await chat(gateway)
        charged += isSettled ? used : 400
        if (isSettled) for (let i = 0; i < (twice ? 2 : 1); i++) open.push({ told, used })
      }
      await Promise.all(open.map(({ told, used }) => backend(gateway).settle(told.reservation, used)))
      expect(await left(gateway)).toEqual({ tokens: 100_000 - charged - 400 })
    }),
    { numRuns: runs(30, 500) },
  )
})

test('the answer stays small with as many settled policies as a request may have', async () => {
  const many = Array.from({ length: 30 }, (_, i) => ({
    name: `tokens-per-window-${i}`,
    algorithm: 'token-bucket',
    limit: 100_000 + i,
    burst: 200_000 + i,
    window: `${i + 1}h`,
    cost: 'tokens',
    settle: true,
  }))
  const gateway = new Gateway({ set: setWith(many) })
  const { reservation } = await chat(gateway)
  expect(reservation).not.toBe('')
  expect(JSON.stringify(gateway.answers[0]).length).toBeLessThan(8192)
  expect(await backend(gateway).settle(reservation, 0)).toBe(true)
})
