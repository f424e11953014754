import * as v from 'valibot'
import { type Mistake, printed } from '../errors'
import { CALENDAR_UNITS, isCalendarUnit, isTimezone } from './calendar'
import { parseDuration } from './duration'
import { acting, checkLongestDelay, GATEWAY_WAITERS, type Waiters } from './over-limit'
import {
  ACTIONS,
  type Acting,
  ALGORITHM_NAMES,
  type AnyPolicyInput,
  CONCURRENCY,
  CONSISTENCIES,
  type Counting,
  DELAY_IN,
  type Policy,
  type PolicyInput,
} from './policy'
import { checkFit, toCounting } from './quota'
import { checkFields, type FieldRules, type Place, report } from './report'

const positiveInteger = { schema: v.pipe(v.number(), v.integer(), v.minValue(1)), wanted: 'a positive integer' }

const duration = {
  schema: v.pipe(
    v.string(),
    v.check((text) => parseDuration(text) !== undefined),
  ),
  wanted: 'a duration such as "500ms" or "2s"',
  optional: true,
} as const
const ALGORITHMS = [...ALGORITHM_NAMES, CONCURRENCY] as const
const flag = { schema: v.boolean(), wanted: 'true or false', optional: true } as const

/** The fields of a policy, the source of its JSON Schema too. */
export const POLICY_FIELDS = {
  name: {
    schema: v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)),
    wanted: 'a name of 1 to 64 letters, digits, ".", "_" or "-"',
  },
  algorithm: { schema: v.picklist(ALGORITHMS), wanted: `one of ${ALGORITHMS.join(', ')}`, optional: true },
  limit: positiveInteger,
  window: {
    schema: v.pipe(
      v.string(),
      v.check((text) => isCalendarUnit(text) || parseDuration(text) !== undefined),
    ),
    wanted: `a duration such as "250ms", "30s", "1m", "12h" or "7d", at most ten years, or one of ${CALENDAR_UNITS.join(', ')}`,
  },
  timeout: { ...duration, wanted: 'a duration from "1s" to "24h", such as "60s"' },
  cost: {
    schema: v.pipe(v.string(), v.regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/)),
    wanted: 'the name of a cost, such as "tokens": 1 to 32 letters, digits, "_" or "-", a letter first',
    optional: true,
  },
  timezone: {
    schema: v.pipe(v.string(), v.check(isTimezone)),
    wanted: 'an IANA time zone such as "Europe/Berlin"',
    optional: true,
  },
  overage: { schema: v.picklist(['deny', 'allow']), wanted: '"deny" or "allow"', optional: true },
  burst: { ...positiveInteger, optional: true },
  refill: { schema: v.picklist(['greedy', 'interval']), wanted: '"greedy" or "interval"', optional: true },
  mode: { schema: v.picklist(['meter', 'queue']), wanted: '"meter" or "queue"', optional: true },
  maxDelay: duration,
  action: { schema: v.picklist(ACTIONS), wanted: `one of ${ACTIONS.join(', ')}`, optional: true },
  delayIn: { schema: v.picklist(DELAY_IN), wanted: '"authorizer" or "backend"', optional: true },
  blockFor: duration,
  after: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)),
    wanted: 'an integer from 1 to 1000',
    optional: true,
  },
  extend: flag,
  overrun: {
    schema: v.pipe(v.string(), v.regex(/^(?:[1-9]\d{0,2}|1000)%$/)),
    wanted: 'a whole percentage from "1%" to "1000%"',
    optional: true,
  },
  buckets: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(2), v.maxValue(120)),
    wanted: 'an integer from 2 to 120',
    optional: true,
  },
  countDenied: flag,
  consistency: { schema: v.picklist(CONSISTENCIES), wanted: `one of ${CONSISTENCIES.join(', ')}`, optional: true },
  syncMs: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(50), v.maxValue(60_000)),
    wanted: 'an integer from 50 to 60000, in milliseconds',
    optional: true,
  },
  fair: flag,
} as const satisfies FieldRules

const { window, timeout } = POLICY_FIELDS
const CONCURRENCY_FIELDS = {
  ...POLICY_FIELDS,
  window: { ...window, optional: true },
  timeout: { schema: timeout.schema, wanted: timeout.wanted },
} as const satisfies FieldRules

const COUNTED_FIELDS = Object.keys(POLICY_FIELDS).filter((field) => field !== 'name')

/** One DynamoDB expression holds about three hundred operators; each policy needs up to nine, and a lock-out three. */
export const MAX_POLICIES = 30

/** How many of those policies these count as: one with a lock-out counts twice, and one with shares of callers. */
export const weightOf = (policies: readonly (Pick<PolicyInput, 'blockFor' | 'fair'> | null | undefined)[]): number =>
  policies.reduce((sum, one) => sum + (one?.blockFor === undefined && !one?.fair ? 1 : 2), 0)

/**
 * Checks a list of policies and collects every mistake in it; the policies are those without one.
 *
 * @param extraFields fields that this place knows beside a policy's own, such as a tier's `by`.
 * @param apart whether two policies never hold the same request, and so may have the same name.
 * @param waiters who waits for a request's turn, and how long at most.
 */
export function parsePolicies(
  input: unknown,
  place: Place,
  issues: Mistake[],
  extraFields: FieldRules = {},
  apart: (one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>) => boolean = () => false,
  waiters: Waiters = GATEWAY_WAITERS,
): (Policy & { readonly extra: Record<string, unknown> })[] {
  if (!Array.isArray(input)) {
    report(issues, 'invalid_value', `policies must be a list, got ${printed(input)}`, place)
    return []
  }
  const weight = weightOf(input)
  if (weight > MAX_POLICIES)
    report(issues, 'too_many', `policies must be at most ${MAX_POLICIES}, got ${weight}`, place)

  const before: (Record<string, unknown> & { readonly position: number })[] = []
  return [...input.slice(0, MAX_POLICIES)].flatMap((item: unknown, index) => {
    const issuesBefore = issues.length
    const given = (item ?? {}) as Readonly<Record<string, unknown>>
    const here = [...place, typeof given.name === 'string' ? `policy ${printed(given.name)}` : `policy ${index + 1}`]
    const own = given.algorithm === CONCURRENCY ? CONCURRENCY_FIELDS : POLICY_FIELDS
    const fields = checkFields(item, { ...own, ...extraFields }, 'a policy', here, issues)
    if (!fields) return []
    const { name } = fields
    const double = before.find((other) => other.name === name && !apart(fields, other))
    if (double)
      report(issues, 'duplicate_name', `name must be unique, and policy ${double.position} has this one already`, here)
    else if (name !== undefined) before.push({ ...fields, position: index + 1 })

    const isRight = (field: string) => given[field] === undefined || fields[field] !== undefined
    const policy = fields as unknown as AnyPolicyInput
    if (isRight('algorithm')) {
      checkFit(policy, here, issues)
      checkLongestDelay(policy, waiters, here, issues)
    }
    const span = policy.algorithm === CONCURRENCY ? policy.timeout : policy.window
    const isCountable = policy.limit !== undefined && span !== undefined && COUNTED_FIELDS.every(isRight)
    const plain = isCountable && toCounting(policy, here, issues)
    const counting = plain && acting(plain, policy)
    const { consistency = 'strict' } = policy
    if (counting) checkConsistency({ ...(policy as PolicyInput), consistency }, counting, here, issues)
    const extra = Object.fromEntries(Object.keys(extraFields).map((field) => [field, fields[field]]))
    return counting && issues.length === issuesBefore
      ? [{ name: policy.name, limit: policy.limit, consistency, written: policy, ...counting, extra }]
      : []
  })
}

function checkConsistency(policy: PolicyInput, counting: Acting, place: Place, issues: Mistake[]): void {
  const { consistency, syncMs } = policy
  if (syncMs !== undefined && consistency !== 'eventual')
    report(issues, 'field_not_applicable', 'syncMs applies to consistency "eventual" only', place)
  if (consistency === 'eventual') checkSync(syncMs, counting.windowMs, place, issues)
  if (consistency === 'strict') return
  if (!isLeasable(counting)) {
    const those =
      'a leaky-bucket in mode "queue", a sliding-log with countDenied, overage "allow", blockFor, action "delay" or concurrency'
    report(
      issues,
      'fields_conflict',
      `consistency must be "strict" where each unit is charged by itself: ${those}, got "${consistency}"`,
      place,
    )
  } else if (consistency === 'eventual' && policy.algorithm === 'sliding-log') {
    report(
      issues,
      'fields_conflict',
      'consistency "eventual" may count past the limit, for which a sliding-log has no room, take "leased"',
      place,
    )
  } else if (consistency === 'eventual' && counting.nonBlocking) {
    report(
      issues,
      'fields_conflict',
      `consistency "eventual" does not go with action "${policy.action}", take "leased"`,
      place,
    )
  }
}

const MIN_SYNC_MS = 50
const MAX_DEFAULT_SYNC_MS = 1000
/** Instances that sync this often in a window deny nothing at an even load of 90 % of a limit. */
const SYNCS_PER_WINDOW = 10

/** A sync that comes in another window than its units were admitted in counts nothing. */
function checkSync(syncMs: number | undefined, windowMs: number, place: Place, issues: Mistake[]): void {
  if (windowMs < MIN_SYNC_MS)
    report(issues, 'unsuitable_number', `consistency "eventual" needs a window of at least ${MIN_SYNC_MS}ms`, place)
  else if (syncMs !== undefined && syncMs > windowMs) {
    report(issues, 'unsuitable_number', `syncMs must be at most the window, ${windowMs} ms, got ${syncMs}`, place)
  }
}

/**
 * From one sync to the next: what is written, else a tenth of the window or of the time in which a full bucket empties,
 * a second at most.
 */
export function syncMsOf({ written, windowMs, counter }: Policy): number {
  if (written.syncMs !== undefined) return written.syncMs
  const shortestMs = Math.min(windowMs, counter.retentionMs)
  return Math.max(MIN_SYNC_MS, Math.min(MAX_DEFAULT_SYNC_MS, Math.ceil(shortestMs / SYNCS_PER_WINDOW)))
}

/** Whether units can be leased. */
export const isLeasable = ({ counter }: Counting): boolean => counter.leaseExpiresAt({}, 0) !== undefined
