import * as v from 'valibot'
import type { Limiter } from '../limiter/limiter'
import { checkOptions, type FieldRules } from '../limiter/policies/report'

/** What is the same for all requests, or depends on the request. */
export type ByRequest<Request, Value> = Value | ((request: Request) => Value | Promise<Value>)

/** Options of a middleware. `Request` is what its framework passes to the functions: `req`, `request`, `c` or `ctx`. */
export interface RateLimitOptions<Request> {
  /**
   * The limiter from `createLimiter`. Its `onStoreError` is the failure mode. A slot of a policy on running requests is
   * released when the response is over and, as far as the framework shows it, the handler has ended; see `slotOf`.
   */
  readonly limiter: Pick<Limiter, 'take' | 'acquire' | 'refund' | 'countsRunning'>
  /**
   * Whom a request counts as, such as `user:42`. Where it is empty or `undefined`, the address counts. If callers can
   * choose the value, they get a quota for each value that they make up: use a verified one.
   *
   * An error that it throws goes to the framework's error handler, and the request is not served.
   * @default the address, `ip:203.0.113.7`
   */
  readonly keyBy?: ((request: Request) => string | undefined | Promise<string | undefined>) | undefined
  /**
   * Whole units that a request takes. A request that takes none passes uncounted. A route that costs more needs a
   * middleware of its own: a function that compares paths is evaded by other spellings of a path, such as `/EXPORT`.
   * @default 1
   */
  readonly cost?: ByRequest<Request, number> | undefined
  /** Whole units of the policies with a `cost`, by its name: `{ tokens: 500 }`. @default 1 each */
  readonly costs?: ByRequest<Request, Readonly<Record<string, number>>> | undefined
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
    schema: v.custom<object>((limiter) =>
      ['take', 'acquire', 'refund'].every((name) => isFunction((limiter as never)?.[name])),
    ),
    wanted: 'what createLimiter({ store, policies }) returns',
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
  skip: func,
  address: func,
  ipv6Prefix: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(128)),
    wanted: 'an integer from 1 to 128',
    optional: true,
  },
} as const satisfies FieldRules

/** @throws ConfigError with every mistake in the options. */
export const checkRateLimitOptions = (options: object): void => checkOptions(options, OPTIONS)
