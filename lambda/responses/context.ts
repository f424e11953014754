import type { EpochMs } from '../../limiter/clock'
import type { Decision } from '../../limiter/decision'
import {
  type AdvertisedPolicy,
  rateLimitList,
  rateLimitPolicyList,
  recordedOverage,
  resetSeconds,
  retryAfterSeconds,
  toInteger,
  toSeconds,
} from './headers'

/**
 * - `ok`: counted and allowed.
 * - `over-limit`: a policy denied.
 * - `degraded`: the same, counted without the store.
 * - `unavailable`: the store was unavailable, and the failure mode denies.
 * - `uncounted`: allowed without a decision.
 * - `exempt`: on the list of callers that pass uncounted.
 * - `blocked`: on the list of blocked callers.
 * - `unauthorized`: without credentials where they are required, or with invalid ones.
 * - `unverified`: whether credentials are required, or valid, could not be found out.
 * - `malformed`: not an event that an authorizer gets.
 */
export type Reason =
  | 'ok'
  | 'over-limit'
  | 'degraded'
  | 'unavailable'
  | 'uncounted'
  | 'exempt'
  | 'blocked'
  | 'unauthorized'
  | 'unverified'
  | 'malformed'

export interface Outcome {
  /** @default nothing was counted */
  readonly decision?: Decision
  /** @default what the decision says; without one, `malformed` */
  readonly reason?: Reason
  /** Without a decision: whether there is none because something was unavailable. @default false */
  readonly degraded?: boolean
  /** The policies that were evaluated, in the order of the configuration. @default none are advertised */
  readonly shapes?: readonly AdvertisedPolicy[]
  /** @default '' */
  readonly tier?: string
  /** The subject that was counted, or is blocked. Backends and access logs see it. @default '' */
  readonly subject?: string
  /** Units that the request takes if it is allowed, of policies that count requests. @default 0 */
  readonly cost?: number
  /** The same of policies that count another cost, by the cost's key in the context. @default none has a key */
  readonly costs?: NamedCosts
  /** What settles the request once it has ended. @default nothing is held */
  readonly reservation?: string | undefined
  /** How much of the decision's delay has passed already, in milliseconds. @default 0 */
  readonly waitedMs?: number
}

/**
 * What the authorizer passes to backends, gateway responses and access logs. Every key is always set, since what API
 * Gateway renders for a missing one is not documented.
 */
export type AuthorizerContext = DecisionContext & NamedCosts

/** What it says of every request. */
export type DecisionContext = {
  readonly allowed: boolean
  /** Over the limit: the request that a backend behind an HTTP API should answer with 429 itself. */
  readonly rateLimited: boolean
  readonly reason: Reason
  /** Name of the policy that denied, or of the tightest when allowed. */
  readonly policy: string
  readonly tier: string
  readonly subject: string
  readonly limit: number
  readonly remaining: number
  /** Units that this request was charged, of policies that count requests; 0 when it was denied or not counted. */
  readonly cost: number
  /** Epoch seconds: when a denied request passes, or when the quota is whole again after an allowed one. */
  readonly reset: number
  /** Seconds until the quota is whole again. */
  readonly resetAfter: number
  /** Seconds; 0 when allowed. */
  readonly retryAfter: number
  /** How long the backend should delay the request, in milliseconds. */
  readonly delayMs: number
  /** `low`: over the limit of a policy that admits such requests with low priority. */
  readonly priority: Decision['priority']
  /** Allowed over a limit, within the policy's overrun. */
  readonly overrun: boolean
  /** Allowed, though a policy in observe mode would have denied it. */
  readonly observed: boolean
  /** Overage of `policy` that is recorded for its current window, in units; 0 when there is none. */
  readonly overage: number
  readonly degraded: boolean
  /** What `sluice/backend` settles the request by, for the backend alone; empty where the request holds nothing. */
  readonly reservation: string
  /** A sentence for people. */
  readonly detail: string
  /** The value of `RateLimit`, for headers only: its quotes would end a JSON string. */
  readonly rateLimit: string
  /** The value of `RateLimit-Policy`: for headers only. */
  readonly rateLimitPolicy: string
}

/** The same of policies that count another cost, each under a key of its own: `costTokens` of `tokens`. */
export type NamedCosts = { readonly [key: `cost${Capitalize<string>}`]: number }

/**
 * A flat context whose numbers are finite and whose strings are safe where API Gateway inserts them unescaped: all of
 * them in headers, and all but `rateLimit` and `rateLimitPolicy` between the quotes of a JSON string.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html strings,
 * numbers and booleans only
 */
export function toContext(outcome: Outcome & { readonly now: EpochMs }): AuthorizerContext {
  const { decision, shapes = [], waitedMs = 0, cost = 0, costs = {}, now } = outcome
  const reason = outcome.reason ?? reasonOf(decision)
  const standing = decision ?? { ...NOTHING_COUNTED, ...WITHOUT_DECISION[reason], degraded: outcome.degraded ?? false }
  const charged = (units: number) => (standing.chargedAt === null ? 0 : units)
  return {
    allowed: standing.allowed,
    rateLimited: reason === 'over-limit' || reason === 'degraded',
    reason,
    policy: plain(standing.policy),
    tier: plain(outcome.tier ?? ''),
    subject: plain(outcome.subject ?? ''),
    limit: toInteger(standing.limit),
    remaining: toInteger(standing.remaining),
    cost: charged(cost),
    reset: resetSeconds(standing, now),
    resetAfter: toSeconds(standing.resetAfterMs),
    retryAfter: retryAfterSeconds(standing),
    delayMs: toInteger(Math.ceil(standing.delayMs - waitedMs)),
    priority: standing.priority,
    overrun: standing.overrun,
    observed: standing.observed,
    overage: recordedOverage(standing),
    degraded: standing.degraded,
    reservation: outcome.reservation ?? '',
    detail: plain(sentence(reason, standing, shapes), 512),
    rateLimit: rateLimitList(standing, shapes, outcome.reservation),
    rateLimitPolicy: rateLimitPolicyList(shapes, outcome.reservation),
    ...(Object.fromEntries(Object.entries(costs).map(([key, units]) => [key, charged(units)])) as NamedCosts),
  }
}

/**
 * Printable ASCII without characters that have a meaning in JSON strings or API Gateway's variables, at most `most` of
 * them; each other character becomes `_`.
 */
export function plain(text: string, most = 128): string {
  return text
    .slice(0, most)
    .replace(/[^ -~]|["\\$]/gu, '_')
    .trim()
}

const NOTHING_COUNTED: Decision = {
  allowed: false,
  policy: '',
  limit: 0,
  windowMs: 0,
  remaining: 0,
  resetAfterMs: 0,
  retryAfterMs: 0,
  delayMs: 0,
  overrun: false,
  observed: false,
  priority: 'normal',
  chargedAt: null,
  retryAfterIsLowerBound: false,
  degraded: false,
  policies: {},
}

/** What clients are told about a request without a decision. A blocked caller need not retry soon. */
const WITHOUT_DECISION: Readonly<Partial<Record<Reason, Partial<Decision>>>> = {
  uncounted: { allowed: true },
  exempt: { allowed: true },
  blocked: { retryAfterMs: Infinity },
}

function reasonOf(decision: Decision | undefined): Reason {
  if (decision === undefined) return 'malformed'
  const { allowed, degraded, failureMode } = decision
  if (allowed) return 'ok'
  // denied by the failure mode or for a refused item, so no limit is to blame, whatever was counted
  return failureMode === 'deny' ? 'unavailable' : degraded ? 'degraded' : 'over-limit'
}

function sentence(reason: Reason, decision: Decision, shapes: readonly AdvertisedPolicy[]): string {
  const limit = toInteger(decision.limit)
  const policy = plain(decision.policy)
  const units = shapes.find(({ name }) => name === decision.policy)?.counter?.isEndedByOthers
    ? 'concurrent requests'
    : 'units'
  const seconds = retryAfterSeconds(decision)
  switch (reason) {
    case 'ok': {
      const over = recordedOverage(decision)
      if (over > 0)
        return `${over} ${over === 1 ? 'unit' : 'units'} past the quota of ${limit} in the policy ${policy} ${over === 1 ? 'is' : 'are'} recorded.`
      return `${toInteger(decision.remaining)} of ${limit} ${units} are left in the policy ${policy}.${pastLimit(decision)}`
    }
    case 'over-limit':
    case 'degraded':
      if (decision.retryAfterMs === Infinity)
        return `This request costs more than the policy ${policy} ever admits: its limit is ${limit}.`
      return decision.lockedOut
        ? `The policy ${policy} has locked this caller out. Try again in ${inSeconds(seconds)}.`
        : `The limit of ${limit} ${units} in the policy ${policy} is used up. Try again in ${inSeconds(seconds)}.`
    case 'unavailable':
      return `The limit cannot be checked at the moment. Try again in ${inSeconds(seconds)}.`
    case 'uncounted':
    case 'exempt':
      return 'This request is not counted.'
    case 'blocked':
      return 'This caller is blocked.'
    case 'unauthorized':
      return 'This request needs valid credentials.'
    case 'unverified':
      return 'Callers cannot be verified at the moment.'
    case 'malformed':
      return 'This request cannot be understood.'
  }
}

/** The sentence about a request that was allowed over a limit. */
function pastLimit({ overrun, priority, observed }: Decision): string {
  const effects = [
    overrun && 'may be overrun',
    priority === 'low' && 'makes its priority low',
    observed && 'is not enforced',
  ]
  return effects.map((effect) => (effect ? ` This request is past a limit that ${effect}.` : '')).join('')
}

function inSeconds(seconds: number): string {
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}
