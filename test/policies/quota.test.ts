import { anchoredWindow } from '../../limiter/algorithms/anchored-window'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { gcra } from '../../limiter/algorithms/gcra'
import { leakyBucket } from '../../limiter/algorithms/leaky-bucket'
import { meteredWindow } from '../../limiter/algorithms/metered-window'
import { slidingBuckets } from '../../limiter/algorithms/sliding-buckets'
import { slidingLog } from '../../limiter/algorithms/sliding-log'
import { slidingWindow } from '../../limiter/algorithms/sliding-window'
import { tokenBucket } from '../../limiter/algorithms/token-bucket'
import type { WindowGrid } from '../../limiter/algorithms/window-grid'
import { ALGORITHM_NAMES } from '../../limiter/policies/policy'
import { parsed } from './issues'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** The forms are part of what is stored: a change makes every counter start afresh. */
describe('how a policy counts', () => {
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
  ] as const)('%s %j', (algorithm, fields, itself, quota, form) => {
    const policy = parsed({ algorithm, ...fields })
    expect(policy).toMatchObject({ name: 'per-minute', limit: 60, windowMs: MINUTE_MS, form })
    expect(policy.algorithm).toBe(itself)
    expect(policy.quota).toEqual(quota)
  })

  it.each([
    ['1m', {}, 'fixed-window 60000', MINUTE_MS, '2024-03-31T12:00:00.000Z', '2024-03-31T12:01:00.000Z'],
    ['1d', {}, 'fixed-window 86400000', DAY_MS, '2024-03-31T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['day', {}, 'fixed-window day UTC', 1.125 * DAY_MS, '2024-03-31T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    [
      'day',
      { timezone: 'Europe/Berlin' },
      'fixed-window day Europe/Berlin',
      1.125 * DAY_MS,
      '2024-03-30T23:00:00.000Z',
      '2024-03-31T22:00:00.000Z',
    ],
    ['week', {}, 'fixed-window week UTC', 7.125 * DAY_MS, '2024-03-25T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['month', {}, 'fixed-window month UTC', 31.125 * DAY_MS, '2024-03-01T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['year', {}, 'fixed-window year UTC', 366.125 * DAY_MS, '2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'],
  ] as const)('fixed-window %s %j', (window, fields, form, windowMs, start, end) => {
    const policy = parsed({ algorithm: 'fixed-window', window, ...fields })
    expect(policy.algorithm).toBe(fixedWindow)
    expect(policy).toMatchObject({ form, windowMs, quota: { limit: 60 } })
    const { grid } = policy.quota as { grid: WindowGrid }
    const index = grid.indexAt(Date.parse('2024-03-31T12:00:00Z'))
    expect([index, index + 1].map((one) => new Date(grid.startOf(one)).toISOString())).toEqual([start, end])
  })

  it('counts on where it was when overage is allowed or denied from now on', () => {
    const fields = { algorithm: 'fixed-window', window: 'month', timezone: 'Europe/Berlin' }
    const [bare, denying, allowing] = [{}, { overage: 'deny' }, { overage: 'allow' }].map((more) =>
      parsed({ ...fields, ...more }),
    )
    expect([bare!.algorithm, denying!.algorithm, allowing!.algorithm]).toEqual([
      fixedWindow,
      fixedWindow,
      meteredWindow,
    ])
    expect(allowing!.form).toBe('fixed-window month Europe/Berlin')
    expect([bare!.form, denying!.form]).toEqual([allowing!.form, allowing!.form])
  })

  it('has a form that is not another’s, by algorithm, window and what divides it', () => {
    const forms = [
      ...ALGORITHM_NAMES.map((algorithm) => ({ algorithm })),
      { algorithm: 'fixed-window', window: 'day' },
      { algorithm: 'fixed-window', window: 'week' },
      { algorithm: 'fixed-window', window: 'day', timezone: 'Asia/Tokyo' },
      { algorithm: 'sliding-window', window: '1h' },
      { algorithm: 'sliding-buckets', buckets: 30 },
      { algorithm: 'token-bucket', refill: 'interval' },
    ].map((fields) => parsed(fields).form)
    expect(new Set(forms).size).toBe(forms.length)
  })

  it('keeps its form when only its size changes, so that a raised limit forgets nothing', () => {
    for (const algorithm of ALGORITHM_NAMES) {
      expect(parsed({ algorithm, limit: 7 }).form).toBe(parsed({ algorithm, limit: 9 }).form)
    }
    expect(parsed({ algorithm: 'gcra', burst: 7 }).form).toBe(parsed({ algorithm: 'gcra', burst: 9 }).form)
  })

  it('knows eight algorithms', () => {
    expect(ALGORITHM_NAMES).toHaveLength(8)
    for (const algorithm of ALGORITHM_NAMES) expect(parsed({ algorithm }).algorithm.name).toBe(algorithm)
  })
})
