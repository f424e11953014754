import type { PolicyInput } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { StoreUnavailableError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import type { ItemWrite } from '../../limiter/stores/store'
import { thoroughly } from '../runs'
import { Fleet } from './fleet'

const strict: PolicyInput[] = [{ name: 'own', algorithm: 'fixed-window', limit: 100_000, window: '1m' }]

/** A store whose items take so many writes a second (DynamoDB's take 1,000), with a burst of a tenth of a second. */
function hotKeys(fleet: Fleet, perSecond: number) {
  const inner = fleet.store.write.bind(fleet.store)
  const items = new Map<string, { tokens: number; at: number }>()
  let refused = 0
  jest.spyOn(fleet.store, 'write').mockImplementation(async (key: string, write: ItemWrite) => {
    const { tokens, at } = items.get(key) ?? { tokens: perSecond / 10, at: fleet.now }
    const now = Math.min(perSecond / 10, tokens + ((fleet.now - at) * perSecond) / 1000)
    items.set(key, { tokens: now >= 1 ? now - 1 : now, at: fleet.now })
    if (now >= 1) return inner(key, write)
    refused++
    throw new StoreUnavailableError('hot-key', 'one item gets more writes than DynamoDB takes for an item')
  })
  return { refused: () => refused }
}

/** Sends so many requests a second, evenly, to all instances in turn. */
async function load(fleet: Fleet, perSecond: number, seconds: number) {
  const start = fleet.now
  const passed = { allowed: 0, degraded: 0 }
  for (let i = 0; i < perSecond * seconds; i++) {
    fleet.now = start + Math.floor((i * 1000) / perSecond)
    const decision = await fleet.instances[i % fleet.instances.length]!.limiter.take('client:big')
    if (decision.allowed) passed.allowed++
    if (decision.degraded) passed.degraded++
  }
  fleet.now = start + seconds * 1000
  return passed
}

const events = (fleet: Fleet, kind: string) =>
  fleet.instances.flatMap(({ events }) => events.filter((event) => event.kind === kind))

it('a subject whose item is throttled is leased, and its requests are decided', async () => {
  const fleet = new Fleet(strict, 4, { onStoreError: 'local' })
  const { refused } = hotKeys(fleet, 100)
  const { allowed } = await load(fleet, 500, 4)
  expect(allowed).toBe(2000)
  expect(events(fleet, 'hot-key').length).toBeGreaterThanOrEqual(1)
  expect(events(fleet, 'lease').length).toBeGreaterThan(4)
  expect(refused()).toBeLessThan(100) // within the first second
})

it('a leased hot subject counts each unit once: the limit holds', async () => {
  const fleet = new Fleet([{ ...strict[0]!, limit: 700 }], 4, { onStoreError: 'throw' })
  hotKeys(fleet, 100)
  const takes = { allowed: 0, failed: 0 }
  for (let i = 0; i < 3000; i++) {
    fleet.now += 2
    const decision = await fleet.instances[i % 4]!.limiter.take('client:big').catch(() => undefined)
    if (!decision) takes.failed++
    else if (decision.allowed) takes.allowed++
  }
  expect(takes.allowed).toBeLessThanOrEqual(700)
  expect(takes.allowed).toBeGreaterThanOrEqual(560) // a deposit in a pool that was throttled is lost: 3/4 of a quarter
})

it('a hot subject goes back to one write for each request after about a minute', async () => {
  const fleet = new Fleet(strict, 1, { onStoreError: 'local' })
  const hot = hotKeys(fleet, 10)
  await load(fleet, 100, 1)
  expect(hot.refused()).toBeGreaterThan(0)
  fleet.now += 90_000
  const before = fleet.store.writes
  await load(fleet, 5, 1)
  expect(fleet.store.writes - before).toBe(5)
})

it('a hot subject does not change how other subjects are charged', async () => {
  const fleet = new Fleet(strict, 1, { onStoreError: 'local' })
  hotKeys(fleet, 10)
  await load(fleet, 100, 1)
  const before = fleet.store.writes
  for (let i = 0; i < 5; i++) {
    fleet.now += 200
    await fleet.instances[0]!.limiter.take('client:small')
  }
  expect(fleet.store.writes - before).toBe(5)
})

it.each([
  ['autoLease is off', strict, { autoLease: false }],
  [
    'a policy cannot be taken ahead',
    [{ name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 1000, window: '1s' } as const],
    {},
  ],
])('a hot subject is left to the failure mode if %s', async (_, policies, options) => {
  const fleet = new Fleet(policies, 1, { onStoreError: 'local', ...options })
  hotKeys(fleet, 10)
  const { degraded } = await load(fleet, 100, 1)
  expect(degraded).toBeGreaterThan(80)
  expect(events(fleet, 'hot-key')).toEqual([])
})

thoroughly(
  'units of a leased item that is throttled come from several, and few requests are decided without',
  async () => {
    const leased: PolicyInput[] = [{ ...strict[0]!, limit: 15_000, window: '1s', consistency: 'leased' }]
    const fleet = new Fleet(leased, 300, { onStoreError: 'local' })
    const { refused } = hotKeys(fleet, 1000)
    await load(fleet, 15_750, 2) // until pools are there
    const before = refused()
    const { degraded } = await load(fleet, 15_750, 4)
    expect(refused() - before).toBeLessThan(4 * 200) // one item refuses 860 a second
    expect(degraded).toBeLessThan(4 * 15_750 * 0.05) // of one item 30 %
  },
)

it('only those requests of a hot subject are leased whose policies permit it', async () => {
  const fleet = new Fleet([], 0)
  const limiter = new RateLimiter({ store: fleet.store, clock: () => fleet.now, onStoreError: 'throw' })
  const write = jest
    .spyOn(fleet.store, 'write')
    .mockRejectedValueOnce(new StoreUnavailableError('hot-key', 'too many writes'))
  const own = { name: 'own', limit: 1000, window: '1m' }
  const others = [
    { name: 'turns', algorithm: 'fixed-window', limit: 1000, window: '1m', action: 'delay' },
    { name: 'log', algorithm: 'sliding-log', limit: 100, window: '1m', countDenied: true },
    { name: 'few', limit: 999, window: '1m' },
  ]
  const take = (...policies: object[]) =>
    limiter.decide([{ key: 'k', policies: parsePolicies(policies, [], []).map((policy) => compile(policy)), cost: 1 }])
  expect(await take(own)).toMatchObject({ allowed: true })
  for (const other of others) expect(await take(own, other)).toMatchObject({ allowed: true, degraded: false })
  expect(write).toHaveBeenCalledTimes(5)
})
