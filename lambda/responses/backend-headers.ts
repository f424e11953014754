import type { Headers } from './headers'

/**
 * The headers that a backend copies onto its response; none if the request was not counted or Sluice is not in front.
 *
 * @param context `event.requestContext.authorizer` of a REST API, where every value arrives as a string, or
 * `….authorizer.lambda` of an HTTP API.
 */
export function headersFromContext(context: unknown): Headers {
  const values = { ...(context as Record<string, unknown> | undefined) }
  const { policy, limit, remaining, reset, retryAfter, overage, rateLimit, rateLimitPolicy } = values
  if (typeof policy !== 'string' || policy === '') return {}
  const headers: Headers = {}
  for (const [name, value] of [
    ['X-RateLimit-Limit', limit],
    ['X-RateLimit-Remaining', remaining],
    ['X-RateLimit-Reset', reset],
    ['X-RateLimit-Overage', unlessZero(overage)],
    ['X-RateLimit-Reason', notable(values)],
    ['RateLimit', rateLimit],
    ['RateLimit-Policy', rateLimitPolicy],
    ['Retry-After', unlessZero(retryAfter)],
  ] as const) {
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const text = String(value)
    if (/^[ -~]+$/.test(text)) headers[name] = text
  }
  return headers
}

/** A number, or one that arrives as a string. */
const unlessZero = (value: unknown): unknown => (value === 0 || value === '0' ? undefined : value)

/** Why a request was denied, or what is special about one that was allowed. */
const notable = ({ reason, overrun, degraded }: Readonly<Record<string, unknown>>): unknown => {
  if (reason !== 'ok') return reason
  return isTrue(overrun) ? 'overrun' : isTrue(degraded) ? 'degraded' : undefined
}

const isTrue = (value: unknown): boolean => value === true || value === 'true'
