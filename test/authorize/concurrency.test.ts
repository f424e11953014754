import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { createLimiter, StoreUnavailableError } from '../../limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { Gateway, KEYS } from './gateway'

const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '60s' }
const MINUTE = { name: 'minute', algorithm: 'fixed-window', limit: 100, window: '1m' }

const setWith = (free: readonly object[], more: object = {}) =>
  parseTiersFile({ tiers: { anonymous: { policies: [] }, free: { policies: free } }, ...more }, 'f')
const SET = setWith([MINUTE, RUNNING])

const ask = (gateway: Gateway, request: object = {}) => gateway.rest({ key: KEYS.free, ...request })

/** A backend: another process, which knows the store and the reservation. */
const backend = ({ clock, store }: Gateway) =>
  createLimiter({ store, clock: clock.read, policies: [{ name: 'other', limit: 1, window: '1s' }] })

describe('a policy on running requests', () => {
  it('is taken in the write of all policies, and released by the backend in one', async () => {
    const gateway = new Gateway({ set: SET })
    const write = jest.spyOn(gateway.store, 'write')
    const [first, second] = [await ask(gateway), await ask(gateway)]
    expect([first.allowed, second.allowed, write.mock.calls.length]).toEqual([true, true, 2])
    expect(await ask(gateway)).toMatchObject({ allowed: false, policy: 'running', remaining: 0, reservation: '' })
    expect(await backend(gateway).settle(first.reservation, {})).toBe(true)
    expect(write).toHaveBeenCalledTimes(3)
    gateway.clock.now += 300
    expect((await ask(gateway)).allowed).toBe(true)
    expect(await backend(gateway).settle(first.reservation, {})).toBe(false)
    gateway.clock.now += 300
    expect((await ask(gateway)).allowed).toBe(false)
  })

  it('is over by itself after its timeout', async () => {
    const gateway = new Gateway({ set: SET })
    for (let i = 0; i < 2; i++) await ask(gateway)
    gateway.clock.now += 60_999
    expect((await ask(gateway)).allowed).toBe(false)
    gateway.clock.now += 1
    expect((await ask(gateway)).allowed).toBe(true)
  })

  it('is told in headers and context without a window, and as no cost', async () => {
    const gateway = new Gateway({ set: SET })
    const told = await ask(gateway)
    expect(told.rateLimitPolicy).toBe('"minute";q=100;w=60, "running";q=2;qu="concurrent-requests"')
    expect(told.rateLimit).toMatch(/"running";r=1;t=60/)
    expect(told).toMatchObject({ cost: 1 })
    expect(Object.keys(told).filter((name) => name.startsWith('cost'))).toEqual(['cost'])
    await ask(gateway)
    expect(await ask(gateway)).toMatchObject({ retryAfter: 1 })
  })

  it('takes one slot of a request that costs more, and none of one that is not counted', async () => {
    const routes = {
      'POST /batch': { cost: 50 },
      'GET /health': { cost: 0 },
      'POST /chat': { cost: 0, costs: { tokens: 5 } },
    }
    const tokens = { ...MINUTE, name: 'tokens', cost: 'tokens' }
    const gateway = new Gateway({ set: setWith([MINUTE, tokens, RUNNING], { routes }) })
    expect(await ask(gateway, { path: '/health' })).toMatchObject({ reservation: '' })
    expect((await ask(gateway, { method: 'POST', path: '/batch' })).rateLimit).toContain('"running";r=1')
    expect((await ask(gateway, { method: 'POST', path: '/chat' })).rateLimit).toContain('"running";r=0')
    expect((await ask(gateway, { method: 'POST', path: '/chat' })).allowed).toBe(false)
    expect((await ask(gateway, { path: '/health' })).allowed).toBe(true)
  })

  it('of a route and of all callers counts apart; one that denies leaves no slot of the others', async () => {
    const routes = { 'GET /report': { policies: [{ ...RUNNING, name: 'reports', limit: 1 }] } }
    const global = { policies: [{ ...RUNNING, name: 'all', limit: 3 }] }
    const gateway = new Gateway({ set: setWith([RUNNING], { routes, global }) })
    const report = await ask(gateway, { path: '/report' })
    expect(report.allowed).toBe(true)
    expect(await ask(gateway, { path: '/report' })).toMatchObject({ allowed: false, policy: 'reports' })
    gateway.clock.now += 300
    expect((await ask(gateway)).rateLimit).toMatch(/"all";r=1.*"running";r=0/)
    expect(await backend(gateway).settle(report.reservation, {})).toBe(true)
    gateway.clock.now += 300
    expect((await ask(gateway, { path: '/report' })).rateLimit).toMatch(/"all";r=1.*"reports";r=0.*"running";r=0/)
  })

  it('only observes while the service does, and is off while that is', async () => {
    const observed = new Gateway({ set: setWith([{ ...RUNNING, limit: 1 }], { settings: { mode: 'observe' } }) })
    const [first, second] = [await ask(observed), await ask(observed)]
    expect([first.allowed, second.allowed, second.reservation]).toEqual([true, true, ''])
    expect(await backend(observed).settle(first.reservation, {})).toBe(true)
    const off = new Gateway({ set: setWith([{ ...RUNNING, limit: 1 }], { settings: { mode: 'off' } }) })
    expect([(await ask(off)).allowed, (await ask(off)).reservation]).toEqual([true, ''])
  })

  it("has a client's own limit, up to 1000", async () => {
    for (const [limit, shown] of [
      [5, 5],
      [1001, 2],
    ] as const) {
      const client = { id: 'acme', tier: 'free', overrides: { running: { limit } }, disabled: false }
      const gateway = new Gateway({ set: SET, clients: { find: async () => client } as never })
      expect((await ask(gateway)).rateLimitPolicy).toContain(`"running";q=${shown}`)
    }
  })

  it('has slots of this instance while the store is away, each until its timeout', async () => {
    const store = new MemoryStore()
    jest.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
    const gateway = new Gateway({ set: setWith([{ ...RUNNING, limit: 10 }]), store, onStoreError: 'local' })
    const told = [await ask(gateway), await ask(gateway), await ask(gateway)]
    // what may stand in the store, if the write was applied, can be released
    expect(told.map(({ allowed, reservation }) => [allowed, reservation !== ''])).toEqual([
      [true, true],
      [true, true],
      [false, false],
    ])
    gateway.clock.now += 61_000
    expect((await ask(gateway)).allowed).toBe(true)
  })
})

it('what a subject holds counts among what its item stores: slots, and reservations where something is settled', () => {
  const logs = [1, 2, 3, 4, 5].map((i) => ({ name: `log${i}`, algorithm: 'sliding-log', limit: 8400, window: '1h' }))
  const many = [1, 2, 3].map((i) => ({ ...RUNNING, name: `running${i}`, limit: 1000 }))
  const settled = { ...MINUTE, settle: true }
  expect(() => setWith([...logs, MINUTE])).not.toThrow()
  expect(() => setWith([...logs, settled])).toThrow(/could store 40\d KB/)
  expect(() => setWith([...logs, ...many])).toThrow(/could store 4\d\d KB/)
})
