import {
  type AdvertisedPolicy,
  rateLimitList,
  rateLimitPolicyList,
  recordedOverage,
  resetSeconds,
  retryAfterSeconds,
  toInteger,
} from '../../lambda/responses/headers'
import type { Decision, Standing } from '../../limiter/decision'

type Headers = Record<string, string>

/** Headers made from the decision itself, by names that are spelt here once more: what all ways have to come to. */

export function xRateLimit(standing: Standing, now: number): Headers {
  return {
    'X-RateLimit-Limit': String(toInteger(standing.limit)),
    'X-RateLimit-Remaining': String(toInteger(standing.remaining)),
    'X-RateLimit-Reset': String(resetSeconds(standing, now)),
  }
}

export function overage(standing: Standing): Headers {
  const over = recordedOverage(standing)
  return over > 0 ? { 'X-RateLimit-Overage': String(over) } : {}
}

export function retryAfter(standing: Standing): Headers {
  return standing.allowed ? {} : { 'Retry-After': String(retryAfterSeconds(standing)) }
}

/** A list that would be empty is not sent. */
export function draft10(decision: Decision, shapes: readonly AdvertisedPolicy[]): Headers {
  const [limits, policies] = [rateLimitList(decision, shapes), rateLimitPolicyList(shapes)]
  return { ...(limits !== '' && { RateLimit: limits }), ...(policies !== '' && { 'RateLimit-Policy': policies }) }
}
