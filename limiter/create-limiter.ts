import * as v from 'valibot'
import { systemClock } from './clock'
import { type CompiledPolicy, compile, distinct } from './compiled-policy'
import type { Decision } from './decision'
import { ConfigError, Mistake, printed } from './errors'
import { FAILURE_MODES } from './fallback'
import { secretOf } from './hmac-secret'
import { checkItemSize } from './policies/item-size'
import { CALLER_WAITS } from './policies/over-limit'
import { parsePolicies } from './policies/parse-policies'
import type { PolicyInput, WrittenPolicy } from './policies/policy'
import { checkFields, type FieldRules } from './policies/report'
import { policiesByName } from './policies-by-name'
import { type Charge, RateLimiter, type RateLimiterOptions, type RefundOptions } from './rate-limiter'
import { subjectKey } from './subject-key'
import { checkWaitOptions, type WaitLimits, WaitQueues } from './wait-for'

/** What `createLimiter` wants: a store and policies. */
export interface LimiterOptions extends RateLimiterOptions {
  /** At most 30; each subject is held to all of them. */
  readonly policies: readonly PolicyInput[]
  /**
   * Whether a subject whose item DynamoDB throttles (above 1,000 writes a second) is leased for about a minute, as with
   * consistency `leased`. If not, the failure mode decides throttled requests.
   * @default true
   */
  readonly autoLease?: boolean
  /**
   * A secret of your own, at least 16 bytes of chance, with which subjects are stored under HMAC-SHA256. All processes
   * that share a table need the same; another one, or none, begins all counters anew.
   * @default none: SHA-256, which tells whoever has the table which addresses are in it, for there are few enough to
   * try them all
   */
  readonly hmacKey?: string | Uint8Array
}

/** What a request takes. */
export interface TakeOptions {
  /** Whole units that the request takes; 0 peeks. @default 1 */
  readonly cost?: number
  /**
   * Whole units that it takes of the policies with a `cost`, by the name that they say: `{ tokens: 500 }`. A policy of
   * which it takes 0 is not asked.
   * @default 1 each
   */
  readonly costs?: Readonly<Record<string, number>>
}

/** What a request takes, and how long it waits for that. */
export interface WaitOptions extends TakeOptions, WaitLimits {}

/** One of several subjects of a request. */
export interface SubjectCharge extends TakeOptions {
  readonly subject: string
  /** Names of the policies it is held to. @default all */
  readonly policies?: readonly string[]
}

/** A rate limiter for any Node program. Subjects are strings such as `client:abc`; they are stored hashed. */
export interface Limiter {
  /** Takes the request's units from all policies of the subject, or from none. A denial is a value, not an error. */
  take(subject: string, options?: TakeOptions): Promise<Decision>
  /**
   * The same for a request that several subjects answer for, such as a client and its address: all are charged, or
   * none.
   */
  takeAll(subjects: readonly SubjectCharge[], options?: TakeOptions): Promise<Decision>
  /**
   * Takes the request's units as soon as they are there, first come, first served among those who wait for the subject
   * in this process, whatever they cost. Resolves with the decision that charged them, once its `delayMs` has passed;
   * with a denial, nothing charged, after `maxWaitMs`, or at once where the slot in a queue is later than that or the
   * cost can never pass.
   *
   * Waiting keeps the process alive. `take` does not wait in line, and other processes are not in it.
   *
   * @throws the signal's `reason` once it is aborted; what was charged meanwhile is given back.
   */
  waitFor(subject: string, options?: WaitOptions): Promise<Decision>
  /** What `take` would say, taking nothing. */
  peek(subject: string, options?: TakeOptions): Promise<Decision>
  /**
   * Gives units back, as far as they were charged in windows that still count: `refund(subject, 1, { chargedAt:
   * decision.chargedAt })`. Without `chargedAt` they are taken for charged now. Of policies that say `cost`, it gives
   * back what `costs` says, or 1 unit.
   *
   * @throws StoreUnavailableError when it is not known whether that worked, with reason `in-doubt` when nobody can tell
   * any more: the units may still be charged. They are never given back twice, so after `in-doubt` do not call it
   * again.
   */
  refund(subject: string, units?: number, options?: RefundOptions & Pick<TakeOptions, 'costs'>): Promise<void>
  /**
   * For a program that stops: gives back units that consistency `leased` took ahead, and tells the store what
   * `eventual` has counted. The limiter can be used on.
   */
  close(): Promise<void>
  /**
   * Makes all quotas of the subject whole. Other instances notice within their `denialTtlMs`.
   *
   * @throws StoreUnavailableError when it is not known whether that worked, with reason `in-doubt` when nobody can tell
   * any more. It may be called again.
   */
  reset(subject: string): Promise<void>
}

const positiveMs = {
  schema: v.pipe(v.number(), v.minValue(1), v.maxValue(600_000)),
  wanted: 'milliseconds from 1 to 600000',
  optional: true,
} as const

const OPTIONS = {
  store: {
    schema: v.custom<RateLimiterOptions['store']>((store) =>
      ['write', 'read', 'delete'].every((name) => typeof (store as never)?.[name] === 'function'),
    ),
    wanted: 'a store such as new MemoryStore() or new DynamoDbStore({ client, tableName })',
  },
  policies: { schema: v.unknown(), wanted: 'a list of policies' },
  clock: {
    schema: v.custom((clock) => typeof clock === 'function'),
    wanted: 'a function that returns epoch milliseconds',
    optional: true,
  },
  deadlineMs: positiveMs,
  firstDeadlineMs: positiveMs,
  denialTtlMs: {
    ...positiveMs,
    schema: v.pipe(v.number(), v.minValue(0), v.maxValue(600_000)),
    wanted: 'milliseconds from 0 to 600000',
  },
  maxSubjects: { schema: v.pipe(v.number(), v.integer(), v.minValue(1)), wanted: 'a positive integer', optional: true },
  localShare: {
    schema: v.pipe(v.number(), v.gtValue(0), v.maxValue(1)),
    wanted: 'a number above 0 and up to 1',
    optional: true,
  },
  autoLease: { schema: v.boolean(), wanted: 'true or false', optional: true },
  onEvent: {
    schema: v.custom((tell) => typeof tell === 'function'),
    wanted: 'a function that is told LimiterEvents',
    optional: true,
  },
  hmacKey: { schema: v.any(), wanted: 'a secret', optional: true }, // checked where no message can print it
  onStoreError: { schema: v.picklist(FAILURE_MODES), wanted: `one of ${FAILURE_MODES.join(', ')}`, optional: true },
} as const satisfies FieldRules

/**
 * Makes a limiter.
 *
 * @throws ConfigError with every mistake in the options and policies; never later, at a request.
 */
export function createLimiter<Window extends string, MaxDelay extends string = string>(
  options: Omit<LimiterOptions, 'policies'> & { readonly policies: readonly WrittenPolicy<Window, MaxDelay>[] },
): Limiter {
  const issues: Mistake[] = []
  const given = checkFields(options, OPTIONS, 'options', [], issues)
  const parsed =
    options?.policies === undefined ? [] : parsePolicies(options.policies, [], issues, {}, undefined, CALLER_WAITS)
  if (given && parsed.length === 0 && issues.length === 0)
    issues.push(new Mistake('missing_field', 'policies must have at least one policy, got none'))
  checkItemSize(parsed, [], issues)
  const secret = options?.hmacKey === undefined ? undefined : secretOf(options.hmacKey, issues)
  if (issues.length > 0) throw new ConfigError(issues)

  const policies = distinct(parsed.map((policy) => compile(policy, '', options.autoLease)))
  const limiter = new RateLimiter(options)
  const checkCosts = costsChecker(policies)
  const charge = (subject: string, { cost = 1, costs }: TakeOptions = {}): Charge => {
    if (costs !== undefined) checkCosts(costs)
    return { key: subjectKey(subject, secret), policies, cost, costs }
  }
  const waiting = new WaitQueues(
    limiter,
    options.clock ?? systemClock,
    Math.max(1000, (options.denialTtlMs ?? 5000) + 1),
  )
  const some = policiesByName(policies)

  return {
    take: async (subject, options) => limiter.decide([charge(subject, options)]),
    takeAll: async (subjects, { cost, costs } = {}) => {
      if (subjects.length === 0)
        throw new ConfigError([new Mistake('missing_field', 'takeAll needs at least one subject, got none')])
      return limiter.decide(
        subjects.map((one) => ({
          ...charge(one.subject, { cost: one.cost ?? cost, costs: one.costs ?? costs }),
          policies: one.policies ? some(one.policies) : policies,
        })),
      )
    },
    waitFor: async (subject, options = {}) => {
      checkWaitOptions(options)
      return waiting.waitFor(charge(subject, options), options)
    },
    peek: async (subject, options) => limiter.peek([charge(subject, options)]),
    refund: async (subject, cost = 1, { costs, ...charged } = {}) => {
      const given = charge(subject, { cost, costs })
      await limiter.refund(given, charged)
      waiting.wake(given.key)
    },
    close: async () => {
      await waiting.close()
      await limiter.close()
    },
    reset: async (subject) => {
      const key = subjectKey(subject, secret)
      await limiter.reset(key)
      waiting.wake(key)
    },
  }
}

/** Refuses costs that no policy counts: a misspelt one would be charged as 1 unit. */
function costsChecker(policies: readonly CompiledPolicy[]): (costs: unknown) => void {
  const known = [...new Set(policies.flatMap(({ costName }) => costName ?? []))]
  return (costs) => {
    const isRecord = typeof costs === 'object' && costs !== null && !Array.isArray(costs)
    const unknown = isRecord ? Object.keys(costs).filter((name) => !known.includes(name)) : [costs]
    if (unknown.length === 0) return
    const wanted = known.length > 0 ? `some of ${known.join(', ')}` : 'left out, for no policy has a `cost`'
    throw new ConfigError([
      new Mistake('invalid_value', `costs must be ${wanted}, got ${unknown.map(printed).join(', ')}`),
    ])
  }
}
