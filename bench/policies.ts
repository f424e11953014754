import type { PolicyInput } from '../limiter'

/** So high that no request is denied. */
export const PLENTY = 1_000_000

const WINDOWS = { 'per-second': '1s', 'per-minute': '1m', 'per-hour': '1h', 'per-day': '1d' } as const

/** The sets of one and four limits that most figures are about, in the default algorithm. */
export function windowSet(count: 1 | 4, limit: (windowMs: number) => number = () => PLENTY): PolicyInput[] {
  const names = count === 1 ? (['per-minute'] as const) : (Object.keys(WINDOWS) as (keyof typeof WINDOWS)[])
  return names.map((name) => ({ name, limit: limit(MS[name]), window: WINDOWS[name] }))
}

const MS = { 'per-second': 1000, 'per-minute': 60_000, 'per-hour': 3_600_000, 'per-day': 86_400_000 } as const

/** One policy of each algorithm, and of each form that stores something else. */
export const EACH_ALGORITHM: readonly Omit<PolicyInput, 'name' | 'limit' | 'window'>[] = [
  { algorithm: 'fixed-window' },
  { algorithm: 'anchored-window' },
  { algorithm: 'sliding-window' },
  { algorithm: 'sliding-buckets' },
  { algorithm: 'sliding-log' },
  { algorithm: 'token-bucket' },
  { algorithm: 'token-bucket', refill: 'interval' },
  { algorithm: 'leaky-bucket' },
  { algorithm: 'leaky-bucket', mode: 'queue' },
  { algorithm: 'gcra' },
]

const MIXED_WINDOWS = ['1s', '10s', '1m', '10m', '1h', '12h', '1d', '7d', '30d'] as const

/**
 * Any number of policies, up to 30, in which all algorithms take turns. Sliding logs and sub-windows store something
 * for each unit or sub-window, so the one log holds ten and the one ring twelve; every other policy stores one to three
 * numbers.
 */
export function mixedSet(count: number, limit = PLENTY): PolicyInput[] {
  const once: PolicyInput[] = [
    { name: 'log', algorithm: 'sliding-log', limit: 10, window: '1s' },
    { name: 'ring', algorithm: 'sliding-buckets', limit, window: '1m', buckets: 12 },
  ]
  const often = EACH_ALGORITHM.filter(({ algorithm }) => algorithm !== 'sliding-log' && algorithm !== 'sliding-buckets')
  return Array.from({ length: count }, (_, i) => {
    if (i >= 8 && i < 10) return once[i - 8]!
    return { name: `mixed-${i}`, limit, window: MIXED_WINDOWS[i % MIXED_WINDOWS.length]!, ...often[i % often.length]! }
  })
}
