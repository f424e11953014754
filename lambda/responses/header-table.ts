import type { AuthorizerContext } from './context'

type ContextKey = keyof AuthorizerContext

/** A header about a decision: its value is what the authorizer's context has under `key`. */
interface DecisionHeader {
  readonly name: string
  readonly key: ContextKey
  /** Whether denials have it. */
  readonly denied: boolean
  /**
   * Which allowed requests have it: `always` all of them, `never` none, `above-0` those whose value is above 0. A list
   * of keys: requests for which one of these keys is true, and the first such key is the header's value.
   *
   * API Gateway's mappings have no conditions, so on HTTP APIs the gateway adds only the headers that are `always`
   * there. `sluice/backend` adds all.
   */
  readonly allowed: 'always' | 'never' | 'above-0' | readonly ContextKey[]
}

/**
 * All headers about a decision. The gateway response of REST APIs, the response mapping of HTTP APIs, `sluice attach`,
 * `sluice/backend`, the sample backend and docs/headers.md are made from it or checked against it.
 *
 * Deployments compare the order: a changed order deploys the stages of all protected REST APIs again.
 */
export const DECISION_HEADERS: readonly DecisionHeader[] = [
  { name: 'Retry-After', key: 'retryAfter', denied: true, allowed: 'never' },
  { name: 'X-RateLimit-Limit', key: 'limit', denied: true, allowed: 'always' },
  { name: 'X-RateLimit-Remaining', key: 'remaining', denied: true, allowed: 'always' },
  { name: 'X-RateLimit-Reset', key: 'reset', denied: true, allowed: 'always' },
  { name: 'X-RateLimit-Overage', key: 'overage', denied: false, allowed: 'above-0' },
  { name: 'X-RateLimit-Reason', key: 'reason', denied: true, allowed: ['overrun', 'degraded'] },
  { name: 'RateLimit', key: 'rateLimit', denied: true, allowed: 'always' },
  { name: 'RateLimit-Policy', key: 'rateLimitPolicy', denied: true, allowed: 'always' },
]

/** The members of a 429's problem body (RFC 9457) that are numbers where a program answers. */
export const PROBLEM_NUMBERS = ['limit', 'remaining', 'retryAfter'] as const satisfies readonly ContextKey[]

/** The members of a 429's problem body (RFC 9457) beside `type`, `title` and `status`: keys of the context. */
export const PROBLEM_KEYS = ['detail', 'reason', 'policy', ...PROBLEM_NUMBERS] as const satisfies readonly ContextKey[]
