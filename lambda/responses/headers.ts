import type { EpochMs } from '../../limiter/clock'
import type { Decision, Standing } from '../../limiter/decision'

/** What the headers say about a policy, apart from how much of it the caller has used. */
export interface AdvertisedPolicy {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  /** How it counts: running requests have no window. */
  readonly counter?: { readonly isEndedByOthers: boolean }
}

/** The `Retry-After` of a request that can never pass, a year, since the header has no value for "never". */
export const NEVER_SECONDS = 31_536_000

/** RFC 9651 §3.3.1: an Integer has at most 15 digits. */
const MAX_INTEGER = 999_999_999_999_999

/**
 * Bytes of an authorizer's answer to a WebSocket API, at most 8 KB, for what settles the request and for the two lists
 * of its policies. The longest reservation of 30 policies fits; the items of the lists that do not are left out.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html
 */
export const MAX_RESERVATION = 4096

/** Whole seconds, rounded up so that they are never too early: 0 for the past, a year for `Infinity`. */
export function toSeconds(ms: number): number {
  return ms === Infinity ? NEVER_SECONDS : toInteger(Math.ceil(ms / 1000))
}

/** Any number as a non-negative integer that a header and JSON can carry. */
export function toInteger(value: number): number {
  return value > 0 ? Math.min(Math.floor(value), MAX_INTEGER) : 0
}

/**
 * Seconds after which the same request passes if no other request comes; 0 when it has passed, else at least 1.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3 `Retry-After`
 */
export function retryAfterSeconds({ allowed, retryAfterMs }: Standing): number {
  return allowed ? 0 : Math.max(1, toSeconds(retryAfterMs))
}

/**
 * In seconds since 1970: on a denial the moment when this very request passes, as `Retry-After` says it; else when the
 * quota is whole again. Clients that read only this header wait for it (docs/adr/0025).
 */
export function resetSeconds({ allowed, resetAfterMs, retryAfterMs }: Standing, now: EpochMs): number {
  const ms = allowed ? resetAfterMs : retryAfterMs
  return ms === Infinity ? toSeconds(now) + NEVER_SECONDS : toSeconds(now + ms)
}

/** The overage that is recorded for an allowed request, in units. */
export function recordedOverage({ allowed, overage = 0 }: Standing): number {
  return allowed ? toInteger(overage) : 0
}

/**
 * The value of `RateLimit`: `"per-minute";r=59;t=60` for each policy that was evaluated.
 *
 * On a denial no `t` is later than `Retry-After`, as §6 of draft 10 requires: for the policy that denied both are the
 * moment when this request passes, and a policy that would have allowed it keeps its `t` only if that comes first. A
 * `t` after `Retry-After` would make the client wait for a quota that it has not used up.
 */
export function rateLimitList(decision: Decision, shapes: readonly AdvertisedPolicy[], reservation = ''): string {
  const latest = decision.allowed ? Infinity : retryAfterSeconds(decision)
  return list(shapes, reservation, ({ name }) => {
    if (!Object.hasOwn(decision.policies, name)) return undefined
    const standing = decision.policies[name]!
    const t = moreInSeconds(standing)
    return `${quoted(name)};r=${toInteger(standing.remaining)}${t <= latest ? `;t=${t}` : ''}`
  })
}

/**
 * The value of `RateLimit-Policy`: `"per-minute";q=60;w=60` for each policy. A window is rounded up to whole seconds,
 * so that the header never promises more than the policy admits. What counts running requests has none:
 * `"running";q=4;qu="concurrent-requests"`.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10
 */
export function rateLimitPolicyList(shapes: readonly AdvertisedPolicy[], reservation = ''): string {
  return list(
    shapes,
    reservation,
    ({ name, limit, windowMs, counter }) =>
      `${quoted(name)};q=${toInteger(limit)};${counter?.isEndedByOthers ? 'qu="concurrent-requests"' : `w=${windowSeconds(windowMs)}`}`,
  )
}

/** When more units are available: enough for this request if it was denied and can ever pass, else the whole quota. */
function moreInSeconds({ allowed, resetAfterMs, retryAfterMs }: Standing): number {
  return allowed || retryAfterMs === Infinity ? toSeconds(resetAfterMs) : toSeconds(retryAfterMs)
}

function windowSeconds(windowMs: number): number {
  return Math.max(1, toSeconds(windowMs))
}

function list(
  shapes: readonly AdvertisedPolicy[],
  reservation: string,
  toItem: (shape: AdvertisedPolicy) => string | undefined,
): string {
  const most = (MAX_RESERVATION - reservation.length) / 2
  let items = ''
  for (const shape of shapes) {
    const item = toItem(shape)
    if (item === undefined) continue
    if (items.length + item.length + 2 > most) break
    items += items === '' ? item : `, ${item}`
  }
  return items
}

/** RFC 9651 §3.3.3: a String is printable ASCII; any other character becomes `_`. */
function quoted(name: string): string {
  return `"${name.replace(/[^ -~]/gu, '_').replace(/["\\]/g, '\\$&')}"`
}
