import type { StateStore } from '../limiter/stores/store'

/** Settings of the authorizer's environment. */
export interface TieredSettings {
  /** The failure mode while the state table is unavailable, for tiers without their own. @default 'local' */
  readonly failureMode?: 'local' | 'allow' | 'deny' | undefined
  /**
   * `none`: no caller has to show credentials, so the failure mode decides while the config table cannot be read;
   * `config`: a caller that cannot be verified is refused.
   * @default 'config'
   */
  readonly authentication?: 'config' | 'none' | undefined
  /** Time for one decision, in milliseconds, 20 to 9000. @default 300 */
  readonly deadlineMs?: number | undefined
  /** Bits of an IPv6 address that identify one caller, unless the settings have them; 1 to 128. @default 56 */
  readonly ipv6Prefix?: number | undefined
  /**
   * Gets each line of the log and of the metrics, as the authorizer writes them, without a line break.
   * @default stdout, where Lambda and CloudWatch read them
   */
  readonly write?: ((line: string) => void) | undefined
}

/** Tiers that a program has itself, and where their counts are. */
export interface TiersInProgram extends TieredSettings {
  /** The content of a tiers file, as an object: `{ tiers, routes, settings, global }`; or its `tiers` alone. */
  readonly tiers: Readonly<Record<string, unknown>>
  /** Such as `new MemoryStore()` or `new DynamoDbStore({ tableName })`. */
  readonly store: StateStore
  /** As for `createLimiter`. @default none: subjects are stored under SHA-256 */
  readonly hmacKey?: string | Uint8Array | undefined
}
