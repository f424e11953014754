import * as v from 'valibot'
import { parseHold } from '../limiter/policies/duration'
import type { Duration } from '../limiter/policies/policy'
import { checkOptions, type FieldRules } from '../limiter/policies/report'
import { checkCosts } from '../limiter/request'
import type { Caller } from '../tiered/tiered-request'
import { checkLimiter, isLimiter, isTiered, type Limits } from './limits'

/** What is the same for all requests, or depends on the request. */
export type ByRequest<Request, Value> = Value | ((request: Request) => Value | Promise<Value>)

/** Options of a middleware. `Request` is what its framework passes to the functions: `req`, `request`, `c` or `ctx`. */
export interface RateLimitOptions<Request> {
  /**
   * The limiter from `createLimiter` or `createTieredLimiter`, or a function that chooses one, such as by the plan of
   * the caller; `undefined` lets a request pass uncounted. Its `onStoreError`, or `failureMode`, is the failure mode. A
   * slot of a policy on running requests is released when the response is over and, as far as the framework shows it,
   * the handler has ended; see `reservationOf`.
   */
  readonly limiter: Limits | ((request: Request) => Limits | undefined | Promise<Limits | undefined>)
  /**
   * Whom a request counts as, such as `user:42`. Where it is empty or `undefined`, the address counts. If callers can
   * choose the value, they get a quota for each value that they make up: use a verified one.
   *
   * With tiers it returns the caller that the program has verified, `{ clientId: 'acme', tier: 'pro' }`; without one,
   * the settings' sources of identity are asked, and the address counts at last.
   *
   * An error that it throws goes to the framework's error handler, and the request is not served.
   * @default the address, `ip:203.0.113.7`
   */
  readonly keyBy?:
    | ((request: Request) => string | Caller | undefined | Promise<string | Caller | undefined>)
    | undefined
  /**
   * Whole units that a request takes. A request that takes none passes uncounted. A route that costs more needs a
   * middleware of its own: a function that compares paths is evaded by other spellings of a path, such as `/EXPORT`.
   * @default 1
   */
  readonly cost?: ByRequest<Request, number> | undefined
  /** Whole units of the policies with a `cost`, by its name: `{ tokens: 500 }`. @default 1 each */
  readonly costs?: ByRequest<Request, Readonly<Record<string, number>>> | undefined
  /**
   * How long the units stay reserved, a duration such as `5m`, from `1s` to `24h`. `reservationOf(request)` debits and
   * settles them in the handler. If the handler has not, they are settled when the response is over and, as far as the
   * framework shows it, the handler has ended: to what was debited, or else to what is reserved. Of tiers, it is
   * `settle` of the policies that says how long.
   * @default none are reserved
   */
  readonly reserve?: Duration | undefined
  /**
   * Whether a request passes uncounted and without headers. As with `cost`, do not compare paths.
   * @default none does
   */
  readonly skip?: ((request: Request) => boolean | Promise<boolean>) | undefined
  /** The caller's address, if the framework does not know it. @default the framework's */
  readonly address?: ((request: Request) => string | undefined) | undefined
  /** Bits of an IPv6 address that identify one caller, 1 to 128. @default 56 */
  readonly ipv6Prefix?: number | undefined
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
const func = { schema: v.custom(isFunction), wanted: 'a function of the request', optional: true } as const

const OPTIONS = {
  limiter: {
    schema: v.custom((limiter) => isFunction(limiter) || isLimiter(limiter)),
    wanted: 'what createLimiter or createTieredLimiter returns, or a function of the request that returns that',
  },
  keyBy: func,
  cost: {
    schema: v.union([v.custom(isFunction), v.pipe(v.number(), v.safeInteger(), v.minValue(0))]),
    wanted: 'an integer from 0 or a function of the request',
    optional: true,
  },
  costs: {
    schema: v.union([v.custom(isFunction), v.record(v.string(), v.pipe(v.number(), v.safeInteger(), v.minValue(0)))]),
    wanted: 'an object of integers from 0, such as { tokens: 500 }, or a function of the request',
    optional: true,
  },
  reserve: {
    schema: v.custom((duration) => parseHold(duration) !== undefined),
    wanted: 'a duration from "1s" to "24h"',
    optional: true,
  },
  skip: func,
  address: func,
  ipv6Prefix: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(128)),
    wanted: 'an integer from 1 to 128',
    optional: true,
  },
} as const satisfies FieldRules

/** @throws ConfigError with every mistake in the options. */
export function checkRateLimitOptions(options: RateLimitOptions<never>): void {
  checkOptions(options, OPTIONS)
  const { limiter, costs, reserve } = options
  if (typeof limiter === 'function') return
  checkLimiter(limiter, reserve)
  if (!isTiered(limiter) && typeof costs === 'object') checkCosts(costs, limiter.costNames)
}
