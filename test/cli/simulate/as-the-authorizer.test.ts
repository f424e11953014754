import type { Client } from '../../../lambda/config-table/items/client-item'
import { hashApiKey } from '../../../lambda/identity/api-key'
import { RateLimiter } from '../../../limiter/rate-limiter'
import { MemoryStore } from '../../../limiter/stores/memory-store'
import { Gateway, restEvent } from '../../authorize/gateway'
import { FakeClock } from '../../config-table/fake-table'
import { runs } from '../../runs'
import { accessLogLine, replay, requestsFrom, setOf, wordOf, wordSaid } from './replayed'

/** A generator of numbers below `most`, the same in each run. */
function seeded(seed: number) {
  let state = seed
  return (most: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
}

const CLIENTS = new Map<string, Client>(
  ['free', 'pro', 'odd', 'gone'].flatMap((tier) =>
    [1, 2, 3].map((i): [string, Client] => [
      hashApiKey(`${tier}-${i}`),
      { id: `${tier}-${i}`, tier, overrides: {}, disabled: false },
    ]),
  ),
)

/** Counts the calls that it gets. */
class CountedStore extends MemoryStore {
  readonly calls = { writes: 0, reads: 0 }

  override write(...write: Parameters<MemoryStore['write']>) {
    this.calls.writes++
    return super.write(...write)
  }

  override read(key: string) {
    this.calls.reads++
    return super.read(key)
  }
}

/** Sends random traffic through the real authorizer: what API Gateway logs, what was said, and the calls it took. */
async function traffic(yaml: string, { seed = 1, count = 3000, meanGapMs = 40 } = {}) {
  const durationMs = yaml === HOLDING ? Number.NaN : 12
  const set = setOf(yaml)
  const clock = new FakeClock()
  const store = new CountedStore()
  const authorizer = new Gateway({
    set,
    clients: { find: async (hash: string) => CLIENTS.get(hash) },
    limiter: new RateLimiter({ store, clock: clock.read, deadlineMs: 60_000 }),
    clock: clock.read,
    wait: async () => {},
  })
  const next = seeded(seed)
  const keys = [
    undefined,
    'unknown',
    ...['free', 'pro', 'odd', 'gone'].flatMap((tier) => [1, 2, 3].map((i) => `${tier}-${i}`)),
  ]
  const lines: string[] = []
  const said: string[] = []
  for (let i = 0; i < count; i++) {
    clock.now += next(10) === 0 ? next(meanGapMs * 100) : next(meanGapMs)
    const key = keys[next(keys.length)]
    const request = {
      key,
      ip: next(3) === 0 ? `2001:db8:${next(3)}::${next(9) + 1}` : `198.51.100.${next(4) + 1}`,
      method: ['GET', 'GET', 'POST'][next(3)],
      path: ['/hello', '/search', '/batch', '/things/7', '/things/%2e%2e/search'][next(5)],
    }
    const told = await authorizer.rest(request).catch(() => ({ reason: 'unauthorized', allowed: false }) as never)
    const context = told as Parameters<typeof wordSaid>[0]
    said.push(wordSaid(context))
    lines.push(accessLogLine(restEvent(request), context, clock.now, { costNames: ['costTokens'], durationMs }))
  }
  return { set, lines, said, calls: store.calls }
}

const WINDOWS = `
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free:
    policies:
      - { name: per-second, limit: 2, window: 1s }
      - { name: per-minute, limit: 12, window: 1m }
      - { name: per-hour, algorithm: fixed-window, limit: 60, window: 1h }
  pro: { policies: [{ name: per-minute, limit: 40, window: 1m, algorithm: sliding-buckets }] }
routes:
  "GET /search": { policies: [{ name: search, limit: 3, window: 1s, algorithm: gcra, by: [client, route] }] }
  "POST /batch": { cost: 5 }
`

const ALGORITHMS = `
tiers:
  anonymous: { by: ip, policies: [{ name: a, algorithm: anchored-window, limit: 9, window: 20s }] }
  free:
    policies:
      - { name: bucket, algorithm: token-bucket, limit: 20, window: 1m, burst: 5 }
      - { name: log, algorithm: sliding-log, limit: 30, window: 1m, countDenied: true }
  pro:
    policies:
      - { name: leak, algorithm: leaky-bucket, limit: 30, window: 1m, burst: 4 }
      - { name: refill, algorithm: token-bucket, limit: 20, window: 30s, refill: interval }
      - { name: month, algorithm: fixed-window, limit: 300, window: month, overage: allow }
  odd:
    policies:
      - { name: turns, algorithm: fixed-window, limit: 4, window: 2s, action: delay, maxDelay: 3s }
      - { name: watched, limit: 5, window: 10s, action: observe }
routes:
  "GET /things/{id}": { costs: { tokens: 7 }, policies: [{ name: tokens, cost: tokens, limit: 100, window: 1m, by: client }] }
`

const SEVERAL_SUBJECTS = `
settings: { defaultTier: free }
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m, overrun: 10% }] }
  free:
    policies:
      - { name: mine, limit: 15, window: 1m, blockFor: 20s, after: 3 }
      - { name: address, by: ip, limit: 25, window: 1m, blockFor: 5s, extend: true }
      - { name: low, limit: 5, window: 1m, action: deprioritize }
  pro: { credentials: required, policies: [{ name: mine, limit: 30, window: 1m, algorithm: sliding-log }] }
global: { policies: [{ name: everybody, by: api, limit: 300, window: 1m, consistency: strict, tiers: [free, pro] }] }
routes:
  "/search": { credentials: required, policies: [{ name: all-search, by: route, limit: 40, window: 1m, consistency: strict }] }
`

/** Slots that nobody releases are taken until the timeout, here as there, where the log says no duration. */
const HOLDING = `
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free:
    policies:
      - { name: running, algorithm: concurrency, limit: 3, timeout: 2s }
      - { name: tokens, cost: tokens, limit: 60, window: 1m, settle: true }
  pro: { policies: [{ name: running, algorithm: concurrency, limit: 8, timeout: 3s }] }
routes:
  "GET /things/{id}": { costs: { tokens: 7 } }
`

/** The first is everybody's: the reservations stand with each caller all the same. */
const HELD_BY_CALLERS = `
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free:
    policies:
      - { name: everybody, by: global, cost: tokens, limit: 24, window: 1m, algorithm: fixed-window, settle: 24h }
      - { name: tokens, cost: tokens, limit: 12, window: 1m }
  pro: { policies: [{ name: all, by: global, limit: 100000, window: 1m, algorithm: fixed-window, settle: 24h }] }
routes:
  "GET /things/{id}": { costs: { tokens: 7 } }
`

describe('each request is decided as the authorizer decided it, and by as many calls, from its own access log', () => {
  it.each([
    ['windows', WINDOWS],
    ['every algorithm', ALGORITHMS],
    ['several subjects, lock-outs and credentials', SEVERAL_SUBJECTS],
    ['running requests, and units that are settled', HOLDING],
    ['units of everybody that are settled', HELD_BY_CALLERS],
  ])('%s', async (_, yaml) => {
    const paces = [
      [1, 40],
      [2, 200],
      [3, 5],
    ] as const
    for (const [seed, meanGapMs] of paces.slice(0, runs(1, 3))) {
      const { set, lines, said, calls } = await traffic(yaml, { seed, meanGapMs, count: runs(400, 3000) })
      const { decided, simulation } = await replay(requestsFrom(lines, set), set)
      expect(decided.map(wordOf)).toEqual(said)
      expect(simulation.sides[0].calls).toMatchObject(calls)
      expect(new Set(said).size).toBeGreaterThan(3)
    }
  })
})

describe('policies that are not strict', () => {
  const leased = (consistency: string) =>
    setOf(`
tiers:
  anonymous: { policies: [] }
  free: { policies: [{ name: all, by: global, algorithm: fixed-window, limit: 100, window: 1m, consistency: ${consistency} }] }
`)
  const START = 1_800_000_000_000 - (1_800_000_000_000 % 60_000)
  const requests = Array.from({ length: 2000 }, (_, i) => ({
    at: START + i * 60,
    wholeSecond: false,
    sender: { client: `c${i % 7}`, tier: 'free' },
    target: {},
  }))
  const allowedIn = async (consistency: string, instances: number) => {
    const { decided } = await replay(requests, leased(consistency), { instances })
    const minutes = new Map<number, number>()
    for (const [i, { passes }] of decided.entries()) {
      const minute = Math.floor(requests[i]!.at / 60_000)
      if (passes) minutes.set(minute, (minutes.get(minute) ?? 0) + 1)
    }
    return [...minutes.values()]
  }

  it('leased ones never exceed the limit, whatever the number of instances, and one instance spends it all', async () => {
    expect(await allowedIn('leased', 1)).toEqual([100, 100])
    for (const allowed of await allowedIn('leased', 5)) expect(allowed).toBeLessThanOrEqual(100)
  })

  it('eventual ones exceed it by what instances admit in one interval at most', async () => {
    expect(await allowedIn('eventual', 1)).toEqual([100, 100])
    // 17 requests a second over 5 instances, which sync each second
    for (const allowed of await allowedIn('eventual', 5)) expect(allowed).toBeLessThanOrEqual(100 + 17 * 2)
  })
})

describe('a fair policy', () => {
  const START = 1_800_000_000_000 - (1_800_000_000_000 % 60_000)
  /** One client asks for ten times as much as each of five others. */
  const requests = Array.from({ length: 3000 }, (_, i) => ({
    at: START + i * 60,
    wholeSecond: false,
    sender: { client: i % 3 > 0 ? 'greedy' : `c${(i / 3) % 5}`, tier: 'free' },
    target: {},
  }))
  const passesOf = async (fair: boolean) => {
    const set = setOf(`
tiers:
  anonymous: { policies: [] }
  free: { policies: [{ name: all, by: global, algorithm: fixed-window, limit: 100, window: 10s, fair: ${fair} }] }
`)
    const { decided } = await replay(requests, set, { instances: 3 })
    const others = requests.flatMap(({ at, sender }, i) =>
      at >= START + 40_000 && sender.client !== 'greedy' ? [decided[i]!.passes] : [],
    )
    return others.filter(Boolean).length / others.length
  }

  it('is replayed: the others get more of what they ask for than without shares', async () => {
    expect(await passesOf(true)).toBeGreaterThan((await passesOf(false)) + 0.2)
  })
})

describe('running requests', () => {
  const set = setOf(`
tiers:
  anonymous: { policies: [] }
  free: { policies: [{ name: running, algorithm: concurrency, limit: 2, timeout: 60s }] }
`)
  const at = (ms: number, durationMs?: number) => ({
    at: 1_800_000_000_000 + ms,
    wholeSecond: false,
    sender: { client: 'a', tier: 'free' },
    target: {},
    durationMs,
  })

  it('give their slots back when the log says that they ended', async () => {
    const { decided } = await replay(
      [at(0, 1000), at(10, 500), at(20, 5), at(509, 5), at(510, 100), at(1000, 5), at(1001, 5)],
      set,
    )
    expect(decided.map(({ passes }) => passes)).toEqual([true, true, false, false, true, true, true])
  })

  it('keep them until the timeout where it does not, which the report says', async () => {
    const { decided, simulation } = await replay([at(0), at(10), at(20), at(59_000), at(61_500)], set)
    expect(decided.map(({ passes }) => passes)).toEqual([true, true, false, false, true])
    expect(simulation.sides[0].unknownDurations).toBe(5)
  })
})
