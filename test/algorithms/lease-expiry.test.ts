import { epochGrid } from '../../limiter/algorithms/window-grid'
import { parsed } from '../policies/issues'

/** 2025-11-21T10:17:23.456Z */
const AT = 1_763_720_243_456
const SECOND = Math.floor(AT / 1000) * 1000

const leaseExpiresAt = (changes: object, after = {}, at = AT) => parsed(changes).counter.leaseExpiresAt(after, at)

test.each([
  ['a fixed window', { algorithm: 'fixed-window', window: '1s' }, SECOND + 1000],
  [
    'a calendar window',
    { algorithm: 'fixed-window', window: 'day', timezone: 'Europe/Berlin' },
    Date.UTC(2025, 10, 21, 23),
  ],
  [
    'a token bucket with interval refill',
    { algorithm: 'token-bucket', refill: 'interval', window: '1h' },
    Date.UTC(2025, 10, 21, 11),
  ],
])('a lease on %s expires when that window ends', (_, changes, end) => {
  expect(leaseExpiresAt(changes)).toBe(end)
  expect(leaseExpiresAt(changes, {}, end - 1)).toBe(end)
  expect(leaseExpiresAt(changes, {}, end)).toBeGreaterThan(end)
})

test.each([
  ['GCRA', { algorithm: 'gcra' }],
  ['a token bucket with greedy refill', { algorithm: 'token-bucket' }],
  ['a leaky bucket', { algorithm: 'leaky-bucket' }],
])(
  'a lease on %s, which has no window grid, expires after two seconds, or sooner if the burst comes back sooner',
  (_, changes) => {
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1m' })).toBe(AT + 2000)
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1s' })).toBeLessThanOrEqual(AT + 1020)
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1s' })).toBeGreaterThanOrEqual(AT + 1000)
  },
)

test.each([
  ['sliding buckets', { algorithm: 'sliding-buckets', buckets: 10 }],
  ['a sliding log', { algorithm: 'sliding-log' }],
])(
  'a lease on %s, where each unit counts for a window from its charge on, expires after half a window, at most two seconds',
  (_, changes) => {
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1m' })).toBe(AT + 2000)
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1s' })).toBe(AT + 500)
  },
)

test('a lease on a sliding window expires half a window, at most two seconds, after its edge', () => {
  const minute = { algorithm: 'sliding-window', window: '1m' }
  const edge = Date.UTC(2025, 10, 21, 10, 18)
  expect(leaseExpiresAt(minute)).toBe(edge + 2000)
  expect(leaseExpiresAt(minute, {}, edge - 1)).toBe(edge + 2000)
  expect(leaseExpiresAt({ ...minute, window: '1s' }, {}, SECOND)).toBe(SECOND + 1500)
  expect(leaseExpiresAt({ ...minute, window: '1s' }, {}, SECOND + 999)).toBe(SECOND + 1500)
})

test('a lease on an anchored window expires a window after that was opened, not a window after the charge', () => {
  const changes = { algorithm: 'anchored-window', window: '1m' }
  expect(leaseExpiresAt(changes, { s: AT - 50_000, c: 3 })).toBe(AT + 10_000)
  expect(leaseExpiresAt(changes, { s: AT, c: 3 })).toBe(AT + 60_000)
  expect(leaseExpiresAt(changes, { s: AT + 30_000, c: 3 })).toBe(AT + 60_000) // opened by a clock that is ahead
  expect(leaseExpiresAt(changes)).toBe(AT + 60_000)
})

test.each([
  ['a queue assigns each unit its own slot', { algorithm: 'leaky-bucket', mode: 'queue' }],
  ['a log that counts denials has to record each request', { algorithm: 'sliding-log', countDenied: true }],
  ['units past a quota are billed', { algorithm: 'fixed-window', overage: 'allow' }],
])('%s: it cannot be leased', (_, changes) => {
  expect(leaseExpiresAt(changes)).toBeUndefined()
})

test('an epoch grid begins its windows at multiples of their length since the epoch', () => {
  expect(epochGrid(1000).startOf(epochGrid(1000).indexAt(AT))).toBe(SECOND)
})
