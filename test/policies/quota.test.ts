import { anchoredWindow } from '../../limiter/algorithms/anchored-window'
import { gcra } from '../../limiter/algorithms/gcra'
import { leakyBucket } from '../../limiter/algorithms/leaky-bucket'
import { slidingBuckets } from '../../limiter/algorithms/sliding-buckets'
import { slidingLog } from '../../limiter/algorithms/sliding-log'
import { slidingWindow } from '../../limiter/algorithms/sliding-window'
import { tokenBucket } from '../../limiter/algorithms/token-bucket'
import type { WindowGrid } from '../../limiter/algorithms/window-grid'
import { ALGORITHM_NAMES } from '../../limiter/policies/policy'
import { parsed } from './issues'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const NOON = Date.parse('2024-03-31T12:00:00Z')

/** State schemas are part of what is stored: a change makes every counter start afresh. */
describe('the quota of a policy is made from its fields:', () => {
  it.each([
    ['anchored-window', {}, anchoredWindow, { limit: 60, windowMs: MINUTE_MS }, 'anchored-window 60000'],
    ['sliding-window', {}, slidingWindow, { limit: 60, windowMs: MINUTE_MS }, 'sliding-window 60000'],
    [
      'sliding-buckets',
      {},
      slidingBuckets,
      { limit: 60, windowMs: MINUTE_MS, buckets: 60 },
      'sliding-buckets 60000/60',
    ],
    [
      'sliding-buckets',
      { buckets: 12 },
      slidingBuckets,
      { limit: 60, windowMs: MINUTE_MS, buckets: 12 },
      'sliding-buckets 60000/12',
    ],
    ['sliding-log', {}, slidingLog, { limit: 60, windowMs: MINUTE_MS, countDenied: false }, 'sliding-log 60000'],
    [
      'sliding-log',
      { countDenied: true },
      slidingLog,
      { limit: 60, windowMs: MINUTE_MS, countDenied: true },
      'sliding-log 60000',
    ],
    [
      'token-bucket',
      {},
      tokenBucket,
      { limit: 60, windowMs: MINUTE_MS, burst: 60, refill: 'greedy' },
      'token-bucket 60000 greedy',
    ],
    [
      'token-bucket',
      { burst: 5, refill: 'interval' },
      tokenBucket,
      { limit: 60, windowMs: MINUTE_MS, burst: 5, refill: 'interval' },
      'token-bucket 60000 interval',
    ],
    [
      'leaky-bucket',
      {},
      leakyBucket,
      { limit: 60, windowMs: MINUTE_MS, burst: 60, mode: 'meter' },
      'leaky-bucket 60000',
    ],
    [
      'leaky-bucket',
      { mode: 'queue', burst: 9, maxDelay: '2s' },
      leakyBucket,
      { limit: 60, windowMs: MINUTE_MS, burst: 9, mode: 'queue', maxDelayMs: 2000 },
      'leaky-bucket 60000',
    ],
    ['gcra', {}, gcra, { limit: 60, windowMs: MINUTE_MS, burst: 60 }, 'gcra 60000'],
    ['gcra', { burst: 100 }, gcra, { limit: 60, windowMs: MINUTE_MS, burst: 100 }, 'gcra 60000'],
  ] as const)('%s %j', (algorithm, fields, itself, quota, stateSchema) => {
    const policy = parsed({ algorithm, ...fields })
    expect(policy).toMatchObject({ name: 'per-minute', limit: 60, windowMs: MINUTE_MS, stateSchema })
    expect(policy.counter.step({}, 61, NOON)).toEqual(itself.step({}, quota as never, 61, NOON))
    expect(policy.counter.step({}, 1, NOON)).toEqual(itself.step({}, quota as never, 1, NOON))
    expect(policy.quota).toEqual(quota)
  })

  it.each([
    ['1m', {}, 'fixed-window 60000', MINUTE_MS, '2024-03-31T12:00:00.000Z', '2024-03-31T12:01:00.000Z'],
    ['1d', {}, 'fixed-window 86400000', DAY_MS, '2024-03-31T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['day', {}, 'fixed-window day UTC', DAY_MS, '2024-03-31T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    [
      'day',
      { timezone: 'Europe/Berlin' },
      'fixed-window day Europe/Berlin',
      DAY_MS,
      '2024-03-30T23:00:00.000Z',
      '2024-03-31T22:00:00.000Z',
    ],
    ['week', {}, 'fixed-window week UTC', 7 * DAY_MS, '2024-03-25T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['month', {}, 'fixed-window month UTC', 31 * DAY_MS, '2024-03-01T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['year', {}, 'fixed-window year UTC', 366 * DAY_MS, '2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'],
  ] as const)('fixed-window %s %j', (window, fields, stateSchema, windowMs, start, end) => {
    const policy = parsed({ algorithm: 'fixed-window', window, ...fields })
    expect(policy.counter.step({}, 61, NOON).verdict.allowed).toBe(false)
    expect(policy).toMatchObject({ stateSchema, windowMs, quota: { limit: 60 } })
    const { grid } = policy.quota as { grid: WindowGrid }
    const index = grid.indexAt(Date.parse('2024-03-31T12:00:00Z'))
    expect([index, index + 1].map((one) => new Date(grid.startOf(one)).toISOString())).toEqual([start, end])
  })

  it('the quota of a fixed-window keeps its state when overage is allowed or denied', () => {
    const fields = { algorithm: 'fixed-window', window: 'month', timezone: 'Europe/Berlin' }
    const [bare, denying, allowing] = [{}, { overage: 'deny' }, { overage: 'allow' }].map((more) =>
      parsed({ ...fields, ...more }),
    )
    const admitsPastLimit = [bare, denying, allowing].map((one) => one!.counter.step({}, 61, NOON).verdict.allowed)
    expect(admitsPastLimit).toEqual([false, false, true])
    expect(allowing!.stateSchema).toBe('fixed-window month Europe/Berlin')
    expect([bare!.stateSchema, denying!.stateSchema]).toEqual([allowing!.stateSchema, allowing!.stateSchema])
  })

  it('the state schema differs by algorithm, by window and by what divides the window', () => {
    const schemas = [
      ...ALGORITHM_NAMES.map((algorithm) => ({ algorithm })),
      { algorithm: 'fixed-window', window: 'day' },
      { algorithm: 'fixed-window', window: 'week' },
      { algorithm: 'fixed-window', window: 'day', timezone: 'Asia/Tokyo' },
      { algorithm: 'sliding-window', window: '1h' },
      { algorithm: 'sliding-buckets', buckets: 30 },
      { algorithm: 'token-bucket', refill: 'interval' },
    ].map((fields) => parsed(fields).stateSchema)
    expect(new Set(schemas).size).toBe(schemas.length)
  })

  it('the state schema does not contain the limit, so a raised limit keeps its state', () => {
    for (const algorithm of ALGORITHM_NAMES) {
      expect(parsed({ algorithm, limit: 7 }).stateSchema).toBe(parsed({ algorithm, limit: 9 }).stateSchema)
    }
    expect(parsed({ algorithm: 'gcra', burst: 7 }).stateSchema).toBe(
      parsed({ algorithm: 'gcra', burst: 9 }).stateSchema,
    )
  })

  it('there are eight algorithms', () => {
    expect(ALGORITHM_NAMES).toHaveLength(8)
    for (const algorithm of ALGORITHM_NAMES) expect(parsed({ algorithm }).stateSchema.split(' ')[0]).toBe(algorithm)
  })
})
