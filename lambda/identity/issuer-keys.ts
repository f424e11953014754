import { createPublicKey, type KeyObject } from 'node:crypto'
import { assertIsSignatureJwk, type Jwk } from 'aws-jwt-verify/jwk'
import { safeJsonParse } from 'aws-jwt-verify/safe-json-parse'
import type { Clock, EpochMs } from '../../limiter/clock'
import { waitAtMost } from '../../limiter/deadline'
import type { FetchJwks } from './jwks-fetch'

/** A key as it was published, and ready for use. */
export interface IssuerKey {
  readonly jwk: Jwk
  readonly key: KeyObject
}

type Search = { readonly key: IssuerKey } | { readonly key: undefined } | { readonly unavailable: unknown }

/**
 * Pause between two readings, in milliseconds: however many key ids clients make up meanwhile, they are looked for in
 * the last reading.
 */
export const PAUSE_MS = 10_000

/** Pause after the first failed reading, in milliseconds; it doubles with each further one, up to the pause above. */
const RETRY_AFTER_MS = 1000

/** Keys older than this are read again, in milliseconds, so that a withdrawn one is noticed. */
export const REFRESH_AFTER_MS = 3_600_000

const MAX_KEYS = 100

/**
 * The public keys of one issuer. They are read when first needed, when a token names an unknown one, and every hour.
 *
 * Concurrent callers share one reading. Keys stay in use while the issuer cannot be reached. A key that is not among
 * those read in the last ten seconds is unknown: issuers publish a key before they sign with it.
 */
export class IssuerKeys {
  private keys: ReadonlyMap<string, IssuerKey> | undefined
  private readAt: EpochMs | undefined
  private failedAt: EpochMs | undefined
  private failures = 0
  private failure: unknown
  private reading: Promise<void> | undefined

  constructor(
    private readonly uri: string,
    private readonly options: { readonly clock: Clock; readonly fetch: FetchJwks },
  ) {}

  /**
   * The key of this id. Who has a key that has only grown old waits for the reading no longer than half of the time,
   * and not for another's.
   *
   * @param deadlineMs time to wait, in milliseconds.
   */
  async find(kid: string, deadlineMs: number): Promise<Search> {
    const held = this.keys?.get(kid)
    if (held && (this.isWithin(REFRESH_AFTER_MS, this.readAt) || this.reading)) return { key: held }
    if (!this.inCooldown()) this.reading ??= this.read()
    if (this.reading) await waitAtMost(held ? deadlineMs / 2 : deadlineMs, this.reading)

    const key = this.keys?.get(kid)
    if (key || this.isWithin(PAUSE_MS, this.readAt)) return { key }
    const late = new Error(`${this.uri} did not answer within ${Math.round(deadlineMs)} ms`)
    return { unavailable: this.reading ? late : this.failure }
  }

  private inCooldown(): boolean {
    const failurePauseMs = Math.min(PAUSE_MS, RETRY_AFTER_MS * 2 ** (this.failures - 1))
    return this.isWithin(PAUSE_MS, this.readAt) || this.isWithin(failurePauseMs, this.failedAt)
  }

  /** A time in the future was recorded before the clock was set back, and is ignored. */
  private isWithin(ms: number, since: EpochMs | undefined): boolean {
    const age = this.options.clock() - (since ?? -Infinity)
    return age >= 0 && age < ms
  }

  private async read(): Promise<void> {
    try {
      this.keys = toKeys(await this.options.fetch(this.uri), this.uri)
      this.readAt = this.options.clock()
      this.failures = 0
    } catch (error) {
      this.failure = error
      this.failedAt = this.options.clock()
      this.failures++
    } finally {
      this.reading = undefined
    }
  }
}

/**
 * The keys of a set that can verify signatures, by id; of two with one id the first. Other keys, such as those for
 * encryption or of an unsupported kind, are left out.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5
 * @throws Error when no key remains: a mistake of the issuer must not remove the keys that were known.
 */
function toKeys(json: string, uri: string): ReadonlyMap<string, IssuerKey> {
  const { keys: published } = Object(safeJsonParse(json)) as { keys?: unknown }
  const keys = new Map<string, IssuerKey>()
  for (const jwk of Array.isArray(published) ? published.slice(0, MAX_KEYS) : []) {
    const key = toKey(jwk as Jwk)
    if (key && !keys.has(key.jwk.kid!)) keys.set(key.jwk.kid!, key)
  }
  if (keys.size === 0) throw new Error(`${uri} has no key that can check signatures`)
  return keys
}

function toKey(jwk: Jwk): IssuerKey | undefined {
  try {
    assertIsSignatureJwk(jwk)
    return typeof jwk.kid === 'string' ? { jwk, key: createPublicKey({ key: jwk, format: 'jwk' }) } : undefined
  } catch {
    return undefined
  }
}
