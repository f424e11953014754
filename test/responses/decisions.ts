import type { AdvertisedPolicy } from '../../lambda/responses/headers'
import type { Decision, Standing } from '../../limiter/decision'

export const NOW = Date.UTC(2026, 7, 5, 15, 37, 54, 250)

export const SHAPES: readonly AdvertisedPolicy[] = [
  { name: 'per-minute', limit: 60, windowMs: 60_000 },
  { name: 'per-day', limit: 10_000, windowMs: 86_400_000 },
]

/** What is said of a decision that nothing is special about. */
export const PLAIN = {
  chargedAt: null,
  retryAfterIsLowerBound: false,
  degraded: false,
  overrun: false,
  observed: false,
  priority: 'normal',
} as const

export function standing(given: Partial<Standing> = {}): Standing {
  return {
    allowed: true,
    limit: 60,
    windowMs: 60_000,
    remaining: 59,
    resetAfterMs: 59_001,
    retryAfterMs: 0,
    delayMs: 0,
    ...given,
  }
}

const perDay = standing({ limit: 10_000, windowMs: 86_400_000, remaining: 8_123, resetAfterMs: 30_125_750 })

/** Allowed, the day's quota being one that allows overage. */
export const OVER: Decision = decisionOf('per-day', {
  'per-minute': standing(),
  'per-day': { ...perDay, remaining: 0, overage: 17 },
})

/** Allowed; of its two policies the one by minute is the tightest. */
export const ALLOWED: Decision = decisionOf('per-minute', { 'per-minute': standing(), 'per-day': perDay })

/** The minute is used up; the day is not. */
export const DENIED: Decision = decisionOf('per-minute', {
  'per-minute': standing({ allowed: false, remaining: 0, resetAfterMs: 45_750, retryAfterMs: 12_001 }),
  'per-day': perDay,
})

/** A cost above the limit, asked of an untouched quota. */
export const IMPOSSIBLE: Decision = decisionOf('per-minute', {
  'per-minute': standing({ allowed: false, remaining: 60, resetAfterMs: 0, retryAfterMs: Infinity }),
  'per-day': perDay,
})

export function decisionOf(policy: string, policies: Readonly<Record<string, Standing>>): Decision {
  return { ...policies[policy]!, policy, ...PLAIN, policies }
}
