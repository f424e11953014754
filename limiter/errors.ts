/**
 * Everything that Sluice throws. A denial is not among it: that is a `Decision`.
 * Each `code` is a heading in docs/errors.md.
 */
export abstract class SluiceError extends Error {
  abstract readonly code: string
}

/** In microseconds, and with the longest burst on top, times are exact until here: in September 2112. */
export const LATEST_MS = Math.floor(2 ** 52 / 1000)

/** What kind of mistake it is, by what its author has to do. Each is a heading in docs/errors.md. */
export type MistakeCode =
  | 'invalid_value'
  | 'missing_field'
  | 'unknown_field'
  | 'field_not_applicable'
  | 'fields_conflict'
  | 'unsuitable_number'
  | 'too_many'
  | 'duplicate_name'
  | 'state_too_large'
  | 'state_collision'
  | 'invalid_name'
  | 'invalid_route'
  | 'duplicate_route'
  | 'overlapping_scopes'
  | 'duplicate_label'
  | 'unknown_tier'
  | 'missing_anonymous_tier'
  | 'untrusted_header'
  | 'credentials_disabled'
  | 'invalid_identity'
  | 'invalid_access_entry'
  | 'invalid_item_key'
  | 'invalid_hmac_key'
  | 'invalid_signing_key'
  | 'invalid_environment'
  | 'invalid_file'
  | 'missing_package'

/** One mistake in a configuration. As a text it is its sentence. */
export class Mistake {
  readonly #place: readonly string[]

  /**
   * @param message what, got, wanted, and where.
   * @param place where it stands, outermost first. It is no part of the mistake's JSON.
   */
  constructor(
    readonly code: MistakeCode,
    readonly message: string,
    place: readonly string[] = [],
  ) {
    this.#place = place
  }

  /** Where it stands, outermost first: `['tiers.yaml', 'tier "free"', 'policy "per-minute"']`. */
  get place(): readonly string[] {
    return this.#place
  }

  /** The sentence. */
  toString(): string {
    return this.message
  }
}

/** Mistakes in policies, tiers, options or the environment: all that were found. */
export class ConfigError extends SluiceError {
  override readonly name = 'ConfigError'
  readonly code = 'invalid_config'
  /** One sentence each. */
  readonly issues: readonly string[]

  /** @param mistakes the same, each with its code. */
  constructor(readonly mistakes: readonly Mistake[]) {
    super(
      mistakes.length === 1
        ? mistakes[0]!.message
        : `${mistakes.length} mistakes in the configuration:\n${mistakes.map((one) => `  - ${one}`).join('\n')}`,
    )
    this.issues = mistakes.map(String)
  }
}

/** The error of one value that is invalid. */
export const invalidValue = (sentence: string): ConfigError => new ConfigError([new Mistake('invalid_value', sentence)])

/**
 * A cost that is not a whole number from 0. Like the built-in `RangeError`, it is the caller's mistake, and nothing was
 * charged.
 */
export class CostError extends SluiceError {
  override readonly name = 'CostError'
  readonly code = 'invalid_cost'

  constructor(
    readonly cost: unknown,
    readonly least: 0 | 1 = 0,
    name?: string,
  ) {
    super(
      `${name === undefined ? 'cost' : `costs.${name}`} must be an integer from ${least} to ${Number.MAX_SAFE_INTEGER}, got ${printed(cost)}`,
    )
  }
}

/** An invalid moment, or one in the future, for units to give back. Nothing was given back. */
export class ChargedAtError extends SluiceError {
  override readonly name = 'ChargedAtError'
  readonly code = 'invalid_charged_at'

  constructor(
    readonly option: 'chargedAt' | 'delayMs',
    readonly got: unknown,
    wanted: string,
  ) {
    super(`${option} must be ${wanted}, got ${printed(got)}`)
  }
}

/** A reservation that no decision gave, or that was changed. Nothing was settled. */
export class ReservationError extends SluiceError {
  override readonly name = 'ReservationError'
  readonly code = 'invalid_reservation'

  constructor(readonly got: unknown) {
    super(`reservation must be what a decision gave as \`reservation\`, unchanged, got ${printed(got)}`)
  }
}

/** A clock that tells no time: not a number of milliseconds from 1970 to 2112. Nothing was charged. */
export class ClockError extends SluiceError {
  override readonly name = 'ClockError'
  readonly code = 'invalid_clock'

  constructor(readonly told: unknown) {
    super(`clock must return epoch milliseconds from 0 to ${LATEST_MS}, got ${printed(told)}`)
  }
}

/** A subject that is not a string with at least one character. */
export class SubjectError extends SluiceError {
  override readonly name = 'SubjectError'
  readonly code = 'invalid_subject'

  constructor(readonly subject: unknown) {
    super(`subject must be a string of one character or more, got ${printed(subject)}`)
  }
}

/**
 * - `timeout`: no answer within the deadline. The write may have been applied.
 * - `contention`: others kept changing the item until the deadline.
 * - `throttled`: the table refuses for lack of capacity.
 * - `hot-key`: one item gets more writes than DynamoDB takes for an item (1,000 units a second).
 * - `item`: a write to one item is refused for what that item or the write is, such as an item that would pass 400 KB.
 *   The table is well.
 * - `unusable-client`: the client has no Region, no credentials or no valid endpoint, so it sent nothing.
 * - `missing-table`: there is no such table here.
 * - `refused`: credentials, permissions or the request itself were turned down.
 * - `unreachable`: no connection, or one that broke.
 * - `malformed`: an answer that is not one of DynamoDB's.
 * - `in-doubt`: a refund or a reset whose answer was lost, and others have written since: it is unknown whether it
 *   happened. It is not tried again.
 */
export type StoreFailure =
  | 'timeout'
  | 'contention'
  | 'throttled'
  | 'hot-key'
  | 'item'
  | 'unusable-client'
  | 'missing-table'
  | 'refused'
  | 'unreachable'
  | 'malformed'
  | 'in-doubt'

/** Failures that do not pass by themselves: until the store has answered once, the set-up is wrong. */
export const SETUP_FAILURES: readonly StoreFailure[] = ['unusable-client', 'missing-table', 'refused']

/** Failures after which a write may have been applied, or may yet be. */
export const IN_DOUBT_FAILURES: readonly StoreFailure[] = ['timeout', 'unreachable', 'malformed']

/** The state of a subject cannot be read or written. */
export class StoreUnavailableError extends SluiceError {
  override readonly name = 'StoreUnavailableError'
  readonly code = 'store_unavailable'

  constructor(
    readonly reason: StoreFailure,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options)
  }
}

/** Whether an item gets more writes than the store takes. */
export const isHotKey = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError && error.reason === 'hot-key'

/** A value as a message shows it: short, quoted, never throwing. */
export function printed(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/** For calls of which it does not matter whether the store could be asked. @throws what is no failure of the store. */
export function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error
  return undefined
}
