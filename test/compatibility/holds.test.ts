import { MemoryStore, type PolicyInput } from '../../limiter'
import type { RateLimiter } from '../../limiter/rate-limiter'
import { parseReservation } from '../../limiter/reservation-token'
import { reserve, settle } from '../../limiter/reserving'
import { NEW } from '../model/simulation'
import { OLD } from './old-library'

const NOW = 1_763_683_200_000
const REQUESTS: PolicyInput = { name: 'requests', algorithm: 'fixed-window', limit: 10, window: '1m' }
const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '1h' } as const

/** An old instance, which knows nothing of what requests hold, beside a new one, on one table. */
function scene() {
  const store = new MemoryStore()
  const time = { now: NOW }
  const clock = () => time.now
  const [known, held] = [OLD.compileAll([REQUESTS]), NEW.compileAll([REQUESTS, RUNNING as never])]
  const old = OLD.makeLimiter({ store, clock })
  const fresh = NEW.makeLimiter({ store, clock, denialTtlMs: 0 }) as RateLimiter
  return {
    store,
    time,
    take: () => old.decide([{ key: 'a', policies: known, cost: 1 }]),
    begin: (cost = 1) =>
      reserve(fresh, [{ key: 'a', policies: held, cost }], 3_600_000, ({ name }) => name === 'requests'),
    end: (token: string, used: number) => settle(fresh, parseReservation(token), () => used),
  }
}

it('an old instance leaves what requests hold as it is, and both count in one place', async () => {
  const { take, begin, end } = scene()
  const first = await begin(4)
  await take()
  const second = await begin(2)
  expect((await begin()).policy).toBe('running')
  expect(await take()).toMatchObject({ allowed: true, remaining: 2 })
  expect(await end(first.reservation!, 1)).toBe(true)
  expect(await take()).toMatchObject({ allowed: true, remaining: 4 })
  expect(await end(second.reservation!, 6)).toBe(true)
  expect(await take()).toMatchObject({ allowed: false })
  expect(await end(first.reservation!, 1)).toBe(false)
})

it('an item that an old instance writes to last lives as long as what it holds', async () => {
  const { store, take, begin, time } = scene()
  await begin()
  time.now += 1000
  await take()
  expect((await store.read('a')).expiresAtSeconds).toBeGreaterThanOrEqual((NOW + 3_600_000) / 1000)
})

it('an old configuration refuses a policy that is settled or counts what runs, whose last valid version stays', () => {
  expect(() => OLD.compileAll([RUNNING as never])).toThrow('algorithm must be one of')
})
