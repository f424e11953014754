import * as v from 'valibot'
import type { FieldRules } from '../limiter/policies/report'

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

const integer = (least: number, most: number) =>
  ({
    schema: v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most)),
    wanted: `an integer from ${least} to ${most}`,
    optional: true,
  }) as const
const oneOf = <const Words extends readonly string[]>(words: Words) =>
  ({ schema: v.picklist(words), wanted: `one of ${words.join(', ')}`, optional: true }) as const

export const SETTINGS = {
  failureMode: oneOf(['local', 'allow', 'deny']),
  authentication: oneOf(['config', 'none']),
  deadlineMs: integer(20, 9000),
  ipv6Prefix: integer(1, 128),
  write: {
    schema: v.custom((write) => typeof write === 'function'),
    wanted: 'a function that takes a line',
    optional: true,
  },
} as const satisfies FieldRules
