import * as v from 'valibot'
import type { CommonOptions } from '../lambda/assemble-parts'
import { lazyVerifiers } from '../lambda/identity/load-verifier'
import { makeTelemetry } from '../lambda/telemetry/telemetry'
import { systemClock } from '../limiter/clock'
import { Lazy, lazyMeter } from '../limiter/lazy'
import { checkOptions, type FieldRules } from '../limiter/policies/report'
import { type ConnectionOptions, connect } from '../limiter/stores/connection'
import { SETTINGS } from './settings-rules'
import type { TieredLimiter } from './tiered-decision'
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
  const common: CommonOptions = {
    failureMode,
    authentication,
    deadlineMs,
    ipv6Prefix,
    telemetry: makeTelemetry({ write: options.write ?? toStdout, clock: systemClock }),
    verifierOf: lazyVerifiers(systemClock),
  }
  const limiter = new Lazy(async () => {
    const [{ tieredLimiter }, parts] = await Promise.all([import('./tiered-limiter.ts'), make(common)])
    return tieredLimiter(parts, () => parts.limiter.close())
  })
  limiter.preload()
  return {
    decide: async (request) => {
      const own = asGiven(request)
      return (limiter.loaded ?? (await limiter.get())).decide(own)
    },
    decideMessage: async (event, known) => {
      const own = asGiven(known)
      return (limiter.loaded ?? (await limiter.get())).decideMessage(event, own)
    },
    settle: async (reservation, used) => (await limiter.get()).settle(reservation, used),
    meter: (reservation, options) => lazyMeter(limiter.get().then((loaded) => loaded.meter(reservation, options))),
    releaseSlots: async (reservation) => (await limiter.get()).releaseSlots(reservation),
    close: async () => (await limiter.get()).close(),
  }
}

/** An object as it is now, whatever its caller changes later; what is none stays as it is, to be refused. */
const asGiven = <Given>(given: Given): Given => (Object(given) === given ? { ...given } : given)

const isInProgram = (options: TieredLimiterOptions | TiersInProgram): options is TiersInProgram =>
  Object(options) === options && ('tiers' in options || 'store' in options)

function checkedTables(options: TieredLimiterOptions) {
  checkOptions(options, OPTIONS)
  const { configTable, stateTable } = options
  const tables = { configTable, stateTable, configTtlMs: 30_000, negativeTtlMs: 30_000 }
  const calls = connect(options)
  return async (common: CommonOptions) => {
    const { assembleParts } = await import('../lambda/assemble-parts.ts')
    return assembleParts({ ...common, ...tables, calls })
  }
}

const toStdout = (line: string) => void process.stdout.write(`${line}\n`)
