/**
 * A store for the middleware `express-rate-limit`, version 8, on Sluice's state table.
 *
 * @module sluice/express-rate-limit
 */
import '../limiter/stores/both-builds'
import * as v from 'valibot'
import { MAX_UNITS } from '../limiter/algorithms/algorithm'
import { createLimiter } from '../limiter/create-limiter'
import type { Standing } from '../limiter/decision'
import { ConfigError, Mistake, printed } from '../limiter/errors'
import type { Limiter, LimiterOptions } from '../limiter/limiter'
import { checkOptions, type FieldRules } from '../limiter/policies/report'
import { NAMESPACE } from '../limiter/subject-key'

/** Where the hits are counted. */
export interface ExpressRateLimitStoreOptions extends Pick<LimiterOptions, 'store' | 'hmacKey' | 'deadlineMs'> {
  /**
   * Prepended to each key, such as `login:`: limiters with different prefixes count apart, whatever their keys are.
   * @default 'rate-limit:'
   */
  readonly prefix?: string | undefined
}

/** How often a key was hit in the current window. */
export interface HitCount {
  /** Keeps counting past every limit, since the store does not know the limit. */
  readonly totalHits: number
  /** When the window ends. */
  readonly resetTime: Date
}

const OPTIONS = {
  store: { schema: v.any(), wanted: 'a store such as new DynamoDbStore({ client, tableName })' },
  hmacKey: { schema: v.any(), wanted: 'a secret', optional: true },
  deadlineMs: { schema: v.any(), wanted: 'milliseconds', optional: true },
  prefix: NAMESPACE,
} as const satisfies FieldRules

/**
 * A prefix that can be told from the key after it: its only colon is its end. Any other prefix is also a namespace, or
 * `ip:x` under `login:` would be `x` under `login:ip:`.
 */
const ENDS_IN_ONLY_COLON = /^[^:]+:$/

/**
 * The store of one rate limiter: `rateLimit({ windowMs, limit, store: new ExpressRateLimitStore({ store }) })`. Each
 * hit is one `UpdateItem`, counted once even where its answer is lost, in windows of `windowMs` that begin by the clock
 * and not with a key's first hit.
 *
 * While the table cannot be reached, every method throws a `StoreUnavailableError`, and `passOnStoreError` decides.
 */
export class ExpressRateLimitStore {
  readonly prefix: string
  /** Whether the counts are this process's own: they are not. */
  readonly localKeys = false
  private limiter: Limiter | undefined
  private problem: unknown = new ConfigError([
    new Mistake('missing_field', 'windowMs is missing: express-rate-limit calls init({ windowMs })'),
  ])

  /** @throws ConfigError with every mistake in the options. */
  constructor(private readonly options: ExpressRateLimitStoreOptions) {
    checkOptions(options, OPTIONS)
    this.prefix = options.prefix ?? 'rate-limit:'
    this.limiterFor(60_000) // which checks the rest
  }

  /**
   * Called by express-rate-limit. It logs an error that this throws, so each hit throws it again.
   *
   * @throws ConfigError for a window that is not a whole number of milliseconds.
   */
  init({ windowMs }: { readonly windowMs: number }): void {
    this.limiter = undefined
    try {
      this.limiter = this.limiterFor(windowMs)
    } catch (error) {
      this.problem = error
      throw error
    }
  }

  /** Counts one hit. */
  async increment(key: string): Promise<HitCount> {
    const now = Date.now()
    return toHitCount(await this.ready().take(this.subjectOf(key)), now)
  }

  /** Takes one hit back, if there is one in the current window. */
  async decrement(key: string): Promise<void> {
    await this.ready().refund(this.subjectOf(key))
  }

  /** Forgets all hits of a key. */
  async resetKey(key: string): Promise<void> {
    await this.ready().reset(this.subjectOf(key))
  }

  /** How often a key was hit; `undefined` where it was not. */
  async get(key: string): Promise<HitCount | undefined> {
    const now = Date.now()
    const count = toHitCount(await this.ready().peek(this.subjectOf(key), { cost: 0 }), now)
    return count.totalHits > 0 ? count : undefined
  }

  private subjectOf(key: string): string {
    return `${this.prefix}${key}`
  }

  private ready(): Limiter {
    if (!this.limiter) throw this.problem
    return this.limiter
  }

  private limiterFor(windowMs: number): Limiter {
    if (!Number.isSafeInteger(windowMs) || windowMs < 1)
      throw new ConfigError([
        new Mistake('invalid_value', `windowMs must be whole milliseconds from 1, got ${printed(windowMs)}`),
      ])
    const { store, hmacKey, deadlineMs } = this.options
    return createLimiter({
      store,
      hmacKey,
      deadlineMs,
      ...(!ENDS_IN_ONLY_COLON.test(this.prefix) && { namespace: this.prefix }),
      policies: [{ name: 'hits', algorithm: 'fixed-window', limit: MAX_UNITS, window: `${windowMs}ms` }],
      onStoreError: 'throw',
      autoLease: false, // a lease counts hits before they come
    })
  }
}

/**
 * @param now when the store was called. So the reported end is never too late: express-rate-limit takes hits back until
 * then, and must not take back one of the next window.
 */
const toHitCount = ({ limit, remaining, resetAfterMs }: Standing, now: number): HitCount => ({
  totalHits: limit - remaining,
  resetTime: new Date(now + resetAfterMs),
})
