import * as v from 'valibot'
import { assembleParts } from '../lambda/assemble-parts'
import { lazyVerifiers } from '../lambda/identity/load-verifier'
import { makeTelemetry } from '../lambda/telemetry/telemetry'
import { systemClock } from '../limiter/clock'
import { checkOptions, type FieldRules } from '../limiter/policies/report'
import { loadForOutage } from '../limiter/rate-limiter'
import { type ConnectionOptions, connect } from '../limiter/stores/connection'
import type { TieredLimiter } from './tiered-decision'
import { tieredLimiter } from './tiered-limiter'

/** The tables of a deployment, and the other settings of the authorizer's environment. */
export interface TieredLimiterOptions extends ConnectionOptions {
  /** Name or ARN of the table with tiers, routes, settings and clients. */
  readonly configTable: string
  /** Name or ARN of the table with the counts. */
  readonly stateTable: string
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

const TABLE = {
  schema: v.pipe(v.string(), v.regex(/^[\w.:/-]{3,1024}$/)),
  wanted: 'the name or ARN of a table',
} as const
const integer = (least: number, most: number) =>
  ({
    schema: v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most)),
    wanted: `an integer from ${least} to ${most}`,
    optional: true,
  }) as const
const oneOf = <const Words extends readonly string[]>(words: Words) =>
  ({ schema: v.picklist(words), wanted: `one of ${words.join(', ')}`, optional: true }) as const

const CHECKED_BY_CONNECT = { schema: v.any(), wanted: 'an option of DynamoDbStore', optional: true } as const

const OPTIONS = {
  region: CHECKED_BY_CONNECT,
  endpoint: CHECKED_BY_CONNECT,
  credentials: CHECKED_BY_CONNECT,
  client: CHECKED_BY_CONNECT,
  configTable: TABLE,
  stateTable: TABLE,
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

/**
 * Makes the authorizer's decisions available to a program: the same tiers, routes, settings and clients, from the same
 * tables. Make it once for a process.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function createTieredLimiter(options: TieredLimiterOptions): TieredLimiter {
  checkOptions(options, OPTIONS)
  const { configTable, stateTable, write = toStdout } = options
  const { failureMode = 'local', authentication = 'config', deadlineMs = 300, ipv6Prefix = 56 } = options
  const parts = assembleParts({
    calls: connect(options),
    configTable,
    stateTable,
    failureMode,
    authentication,
    deadlineMs,
    ipv6Prefix,
    configTtlMs: 30_000,
    negativeTtlMs: 30_000,
    telemetry: makeTelemetry({ write, clock: systemClock }),
    verifierOf: lazyVerifiers(systemClock),
  })
  loadForOutage()
  return tieredLimiter(parts, () => parts.limiter.close())
}

const toStdout = (line: string) => void process.stdout.write(`${line}\n`)
