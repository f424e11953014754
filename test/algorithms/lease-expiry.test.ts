import { epochGrid } from '../../limiter/algorithms/window-grid'
import { parsed } from '../policies/issues'

/** 2025-11-21T10:17:23.456Z */
const AT = 1_763_720_243_456
const SECOND = Math.floor(AT / 1000) * 1000

const leaseExpiresAt = (changes: object, after = {}, at = AT) => parsed(changes).counter.leaseExpiresAt(after, at)

test.each([
  ['a fixed window', { algorithm: 'fixed-window', window: '1s' }, SECOND + 1000],
  [
    'a window of the calendar',
    { algorithm: 'fixed-window', window: 'day', timezone: 'Europe/Berlin' },
    Date.UTC(2025, 10, 21, 23),
  ],
  [
    'an interval of a bucket',
    { algorithm: 'token-bucket', refill: 'interval', window: '1h' },
    Date.UTC(2025, 10, 21, 11),
  ],
])('what is charged to %s is spent before it ends', (_, changes, end) => {
  expect(leaseExpiresAt(changes)).toBe(end)
  expect(leaseExpiresAt(changes, {}, end - 1)).toBe(end)
  expect(leaseExpiresAt(changes, {}, end)).toBeGreaterThan(end)
})

test.each([
  ['gcra', { algorithm: 'gcra' }],
  ['a greedy bucket', { algorithm: 'token-bucket' }],
  ['a leaky bucket', { algorithm: 'leaky-bucket' }],
])('without a grid, in %s, units are held for two seconds, or as long as the burst takes', (_, changes) => {
  expect(leaseExpiresAt({ ...changes, limit: 60, window: '1m' })).toBe(AT + 2000)
  expect(leaseExpiresAt({ ...changes, limit: 60, window: '1s' })).toBeLessThanOrEqual(AT + 1020)
  expect(leaseExpiresAt({ ...changes, limit: 60, window: '1s' })).toBeGreaterThanOrEqual(AT + 1000)
})

test.each([
  ['sub-windows', { algorithm: 'sliding-buckets', buckets: 10 }],
  ['a log', { algorithm: 'sliding-log' }],
])(
  'in %s units are held for a quarter of the window, and two seconds at most, for they count a window from their charge on',
  (_, changes) => {
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1m' })).toBe(AT + 2000)
    expect(leaseExpiresAt({ ...changes, limit: 60, window: '1s' })).toBe(AT + 250)
  },
)

test('in a sliding window they are held until its edge, and past it no longer than that', () => {
  const minute = { algorithm: 'sliding-window', window: '1m' }
  const edge = Date.UTC(2025, 10, 21, 10, 18)
  expect(leaseExpiresAt(minute)).toBe(edge)
  expect(leaseExpiresAt(minute, {}, edge - 2001)).toBe(edge)
  expect(leaseExpiresAt(minute, {}, edge - 1)).toBe(edge + 1999)
  expect(leaseExpiresAt({ ...minute, window: '1s' }, {}, SECOND + 999)).toBe(SECOND + 1249)
})

test('an anchored window ends when it was opened, not when it was charged', () => {
  const changes = { algorithm: 'anchored-window', window: '1m' }
  expect(leaseExpiresAt(changes, { s: AT - 50_000, c: 3 })).toBe(AT + 10_000)
  expect(leaseExpiresAt(changes, { s: AT, c: 3 })).toBe(AT + 60_000)
  expect(leaseExpiresAt(changes, { s: AT + 30_000, c: 3 })).toBe(AT + 60_000) // opened by a clock that is ahead
  expect(leaseExpiresAt(changes)).toBe(AT + 60_000)
})

test.each([
  ['a queue gives each unit its turn', { algorithm: 'leaky-bucket', mode: 'queue' }],
  ['a log that records denials needs each request', { algorithm: 'sliding-log', countDenied: true }],
  ['units past a quota are billed', { algorithm: 'fixed-window', overage: 'allow' }],
])('%s: nothing can be taken ahead', (_, changes) => {
  expect(leaseExpiresAt(changes)).toBeUndefined()
})

test('a grid of one length begins with the epoch', () => {
  expect(epochGrid(1000).startOf(epochGrid(1000).indexAt(AT))).toBe(SECOND)
})
