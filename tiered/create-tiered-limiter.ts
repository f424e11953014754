import * as v from 'valibot'
import { assembleParts, type CommonOptions } from '../lambda/assemble-parts'
import { lazyVerifiers } from '../lambda/identity/load-verifier'
import { makeTelemetry } from '../lambda/telemetry/telemetry'
import { systemClock } from '../limiter/clock'
import { loadForOutage } from '../limiter/consistency/strategies'
import { checkOptions, type FieldRules } from '../limiter/policies/report'
import { type ConnectionOptions, connect } from '../limiter/stores/connection'
import { SETTINGS } from './settings-rules'
import type { TieredLimiter } from './tiered-decision'
import { tieredLimiter } from './tiered-limiter'
import type { TieredSettings, TiersInProgram } from './tiered-settings'
import { checkedTiers } from './tiers-in-program'

/** The tables of a deployment. */
export interface TieredLimiterOptions extends ConnectionOptions, TieredSettings {
  /** Name or ARN of the table with tiers, routes, settings and clients. */
  readonly configTable: string
  /** Name or ARN of the table with the counts. */
  readonly stateTable: string
}

const TABLE = {
  schema: v.pipe(v.string(), v.regex(/^[\w.:/-]{3,1024}$/)),
  wanted: 'the name or ARN of a table',
} as const

const CHECKED_BY_CONNECT = { schema: v.any(), wanted: 'an option of DynamoDbStore', optional: true } as const

const OPTIONS = {
  region: CHECKED_BY_CONNECT,
  endpoint: CHECKED_BY_CONNECT,
  credentials: CHECKED_BY_CONNECT,
  client: CHECKED_BY_CONNECT,
  configTable: TABLE,
  stateTable: TABLE,
  ...SETTINGS,
} as const satisfies FieldRules

/**
 * Makes the authorizer's decisions available to a program: the same tiers, routes, settings and clients, from the same
 * tables; or tiers of the program's own, `{ tiers, store }`, without a config table. Make it once for a process.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function createTieredLimiter(options: TieredLimiterOptions | TiersInProgram): TieredLimiter {
  const make = isInProgram(options) ? checkedTiers(options) : checkedTables(options)
  const { failureMode = 'local', authentication = 'config', deadlineMs = 300, ipv6Prefix = 56 } = options
  const parts = make({
    failureMode,
    authentication,
    deadlineMs,
    ipv6Prefix,
    telemetry: makeTelemetry({ write: options.write ?? toStdout, clock: systemClock }),
    verifierOf: lazyVerifiers(systemClock),
  })
  loadForOutage()
  return tieredLimiter(parts, () => parts.limiter.close())
}

const isInProgram = (options: TieredLimiterOptions | TiersInProgram): options is TiersInProgram =>
  Object(options) === options && ('tiers' in options || 'store' in options)

function checkedTables(options: TieredLimiterOptions) {
  checkOptions(options, OPTIONS)
  const { configTable, stateTable } = options
  const tables = { configTable, stateTable, configTtlMs: 30_000, negativeTtlMs: 30_000 }
  return (common: CommonOptions) => assembleParts({ ...common, ...tables, calls: connect(options) })
}

const toStdout = (line: string) => void process.stdout.write(`${line}\n`)
