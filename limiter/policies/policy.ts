import type { Counter } from '../algorithms/counter'
import type { CalendarUnit } from './calendar'

/** How requests are counted in time; beside these, `algorithm` may say `concurrency`. @useDeclaredType */
export type AlgorithmName = (typeof ALGORITHM_NAMES)[number]
export const ALGORITHM_NAMES = [
  'fixed-window',
  'anchored-window',
  'sliding-window',
  'sliding-buckets',
  'sliding-log',
  'token-bucket',
  'leaky-bucket',
  'gcra',
] as const

/** Counts the requests that are running. */
export const CONCURRENCY = 'concurrency'
/** The cost that it counts: each request is one, whatever it costs. No other cost has this name. */
export const RUNNING = '*'

/**
 * What becomes of a request past the limit:
 * - `deny`: it is denied.
 * - `delay`: it waits for its turn, if that comes within `maxDelay`; else it is denied.
 * - `deprioritize`: it passes with low priority.
 * - `observe`: it passes, and is reported.
 */
type Action = (typeof ACTIONS)[number]
export const ACTIONS = ['deny', 'delay', 'deprioritize', 'observe'] as const

/** Where a request waits: in the authorizer, or in the backend, which gets the delay in a header. */
export type DelayIn = (typeof DELAY_IN)[number]
export const DELAY_IN = ['authorizer', 'backend'] as const

/** Any text, beside which an editor offers known words. */
export type AnyText = string & Record<never, never>

/** A policy as it is written in code, in `tiers.yaml` and in the config table. */
export interface PolicyInput {
  /** Shown in the `RateLimit-Policy` header and named by a denial; 1 to 64 letters, digits, `.`, `_` or `-`. */
  readonly name: string
  /** @default 'sliding-window' */
  readonly algorithm?: AlgorithmName | undefined
  /** Units per window, an integer above 0. */
  readonly limit: number
  /**
   * A duration such as `30s`, `1m`, `12h`, `7d`; for fixed windows also `day`, `week`, `month`, `year` by the calendar.
   */
  readonly window: CalendarUnit | AnyText
  /** Whose calendar, as an IANA name. @default 'UTC' */
  readonly timezone?: string | undefined
  /** Fixed windows: deny what is past the limit, or admit it and count it for billing. @default 'deny' */
  readonly overage?: 'deny' | 'allow' | undefined
  /** Units that may come at once: token bucket, leaky bucket, GCRA. @default the limit */
  readonly burst?: number | undefined
  /** Token bucket: evenly, or all at once at each multiple of the window. @default 'greedy' */
  readonly refill?: 'greedy' | 'interval' | undefined
  /** Leaky bucket: let pass what fits, or space it out. @default 'meter' */
  readonly mode?: 'meter' | 'queue' | undefined
  /**
   * The name of the cost that the policy counts, such as `tokens`: a request says with `costs: { tokens: 500 }` how
   * many units it takes, and takes 1 where it does not say.
   * @default it counts requests, or the `cost` of each
   */
  readonly cost?: string | undefined
  /** What becomes of a request past the limit. @default 'deny' */
  readonly action?: Action | undefined
  /**
   * The longest wait for a turn, a duration. @default '1s' for `action: delay`; a leaky bucket as a queue is bounded by
   * its burst alone
   */
  readonly maxDelay?: string | undefined
  /** Who waits. @default 'authorizer' for `action: delay`, 'backend' for a leaky bucket as a queue */
  readonly delayIn?: DelayIn | undefined
  /**
   * Lock-out duration: for how long a repeat offender is rejected, even when units become free.
   * @default no lock-out
   */
  readonly blockFor?: string | undefined
  /** How many denials within a window, from the first of them on, lock out: 1 to 1000. @default 1 */
  readonly after?: number | undefined
  /** Whether denials prolong a lock-out. @default false */
  readonly extend?: boolean | undefined
  /** The share of the limit by which it may be overrun, such as `10%`; at least one unit. @default none */
  readonly overrun?: string | undefined
  /** Sliding buckets: sub-windows per window, 2 to 120. @default 60 */
  readonly buckets?: number | undefined
  /** Sliding log: record what this policy denies, too. @default false */
  readonly countDenied?: boolean | undefined
  /**
   * How instances agree on the count: each request in one write (`strict`), many units leased in one write (`leased`),
   * or counted in memory and added up every `syncMs` (`eventual`).
   * @default 'strict'; in the config table, 'leased' for `by: global` and `by: route` where the algorithm permits
   */
  readonly consistency?: Consistency | undefined
  /**
   * Consistency `eventual`: milliseconds from one sync to the next, 50 to 60,000, at most the window. @default a
   * tenth of the window, at most 1000
   */
  readonly syncMs?: number | undefined
  /**
   * Whether callers have shares of the limit while it is contended. Consistency `leased`, and a window of a minute at
   * most or units that come back one by one.
   * @default false
   */
  readonly fair?: boolean | undefined
}

/** Fields that a policy on running requests has not. */
type Unread = {
  readonly [Field in Exclude<keyof PolicyInput, 'name' | 'algorithm' | 'limit' | 'action' | 'consistency'>]?: undefined
}

/** A policy on how many requests are running at once, as it is written. Each takes a slot, whatever it costs. */
export interface ConcurrencyInput extends Unread {
  /** As that of every policy. */
  readonly name: string
  readonly algorithm: typeof CONCURRENCY
  /** Requests that run at one time, 1 to 1000. */
  readonly limit: number
  /** After which time an unreleased slot is free: a duration from `1s` to `24h`. */
  readonly timeout: string
  /** What becomes of a request past the limit. @default 'deny' */
  readonly action?: 'deny' | 'observe' | undefined
  readonly consistency?: 'strict' | undefined
}

/** A policy as it is written: on requests in time, or on those that are running. */
export type AnyPolicyInput = PolicyInput | ConcurrencyInput

/** How instances agree on the count of a policy. */
export type Consistency = 'strict' | 'leased' | 'eventual'
export const CONSISTENCIES: readonly Consistency[] = ['strict', 'leased', 'eventual']

/** How a policy counts. */
export interface Counting {
  readonly counter: Counter
  /** The numbers that the counter is bound to, to compare and to show; only the algorithm knows their shape. */
  readonly quota: object
  /**
   * Nominal length of the window, in milliseconds; of a calendar window, its longest by the calendar; of a policy on
   * running requests, its timeout.
   */
  readonly windowMs: number
  /** Two policies with the same name may share stored state only when this is the same. */
  readonly stateSchema: string
}

/** How a policy acts past its limit, and by what it counts so. */
export interface Acting extends Counting {
  /** Never denies: it observes, or only lowers the priority. */
  readonly nonBlocking: boolean
  /** The authorizer waits until it is a request's turn. */
  readonly waits: boolean
}

/** A checked policy: its name, its numbers, how it counts, and what it does past its limit. */
export interface Policy extends Acting {
  readonly name: string
  readonly limit: number
  readonly consistency: Consistency
  /** As it was configured. */
  readonly written: AnyPolicyInput
}

/** Such as `250ms`, `30s`, `1m`, `12h`, `7d`: a whole number and its unit. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** Fields that only some algorithms read. */
export const READ_BY = {
  window: ALGORITHM_NAMES,
  cost: ALGORITHM_NAMES,
  maxDelay: ALGORITHM_NAMES,
  delayIn: ALGORITHM_NAMES,
  blockFor: ALGORITHM_NAMES,
  after: ALGORITHM_NAMES,
  extend: ALGORITHM_NAMES,
  overrun: ALGORITHM_NAMES,
  syncMs: ALGORITHM_NAMES,
  timeout: [CONCURRENCY],
  timezone: ['fixed-window'],
  overage: ['fixed-window'],
  burst: ['token-bucket', 'leaky-bucket', 'gcra'],
  refill: ['token-bucket'],
  mode: ['leaky-bucket'],
  buckets: ['sliding-buckets'],
  countDenied: ['sliding-log'],
} as const

/** The same for the compiler. */
export type ReadBy = { readonly [Field in keyof typeof READ_BY]: (typeof READ_BY)[Field][number] }

/** Whether units come back one by one, evenly: a bucket that drains. */
export const drains = ({
  algorithm,
  refill,
}: Pick<PolicyInput, 'refill'> & Pick<AnyPolicyInput, 'algorithm'>): boolean =>
  algorithm === 'gcra' || algorithm === 'leaky-bucket' || (algorithm === 'token-bucket' && refill !== 'interval')
