import { systemClock } from '../limiter/clock'
import { Lazy } from '../limiter/lazy'
import { RateLimiter } from '../limiter/rate-limiter'
import type { ItemCalls } from '../limiter/stores/item-calls'
import { ItemStore } from '../limiter/stores/item-store'
import type { StateStore } from '../limiter/stores/store'
import type { AuthorizerParts } from './authorizer-parts'
import { Plans } from './charge-plans'
import { Clients } from './config-table/clients'
import { PolicySets } from './config-table/configuration'
import type { FirstReadings } from './config-table/first-readings'
import type { JwtSettings } from './config-table/items/jwt-settings'
import { KeyRings } from './config-table/key-rings'
import type { LastValid, LastValidOptions } from './config-table/last-valid'
import { READING_DEADLINE_MS } from './config-table/read-with-retry'
import type { Config } from './environment'
import { Sources } from './identity/sources'
import type { TokenVerifier } from './identity/token-verifier'
import { errorDetails } from './telemetry/log'
import type { Telemetry } from './telemetry/telemetry'

type Settings = Pick<Config, 'deadlineMs' | 'failureMode' | 'ipv6Prefix' | 'authentication'>

/** What the parts are made with that do not depend on where the configuration is. */
export interface CommonOptions extends Settings {
  readonly telemetry: Telemetry
  readonly verifierOf: (settings: JwtSettings) => TokenVerifier
}

/** What the parts are made with. */
export interface AssemblyOptions
  extends CommonOptions,
    Pick<Config, 'stateTable' | 'configTable' | 'configTtlMs' | 'negativeTtlMs'> {
  readonly calls: ItemCalls
  /** Readings that began before any request. @default none */
  readonly first?: FirstReadings
}

type Assembled = AuthorizerParts & { readonly limiter: RateLimiter }

/** The parts that read the tables, which live as long as the process. */
export function assembleParts(options: AssemblyOptions): Assembled {
  const { calls, stateTable, configTable, telemetry, first } = options
  const { configTtlMs: ttlMs, negativeTtlMs, deadlineMs, authentication } = options
  const { log } = telemetry
  const reading = { calls, tableName: configTable, clock: systemClock, log, deadlineMs: READING_DEADLINE_MS }
  const { subjectKeys, signingKeys } = new KeyRings({ ...reading, first: first?.keyRings })
  return assembleWith(options, new ItemStore(calls, stateTable), {
    configuration: new PolicySets({
      ...reading,
      ttlMs,
      authentication,
      lastValid: lastValidOf(reading),
      first: first?.policySet,
    }),
    subjectKeys,
    signingKeys,
    clients: new Clients({ ...reading, ttlMs, negativeTtlMs, deadlineMs }),
  })
}

/** The parts that count in a store, and what they know of tiers, clients and secrets. */
export function assembleWith(
  { deadlineMs, failureMode, ipv6Prefix, authentication, telemetry, verifierOf }: CommonOptions,
  store: StateStore,
  known: Pick<AuthorizerParts, 'configuration' | 'subjectKeys' | 'signingKeys' | 'clients'>,
): Assembled {
  const { log, onEvent } = telemetry
  return {
    ...known,
    limiter: new RateLimiter({ store, deadlineMs, onStoreError: failureMode, onEvent }),
    plans: new Plans(log),
    sources: new Sources(verifierOf, deadlineMs),
    clock: systemClock,
    log,
    telemetry,
    ipv6Prefix,
    authentication,
    failOpen: failureMode !== 'deny',
  }
}

/** Loaded after the first reading: no request waits for it but those that meet an item that was never valid here. */
function lastValidOf(options: LastValidOptions): Pick<LastValid, 'keep' | 'read'> {
  const copies = new Lazy(async () => new (await import('./config-table/last-valid.ts')).LastValid(options))
  return {
    async keep(valid, present) {
      try {
        await (await copies.get()).keep(valid, present)
      } catch (error) {
        options.log('warn', 'last_valid_unwritable', { table: options.tableName, ...errorDetails(error) })
      }
    },
    read: async () => (await copies.get()).read(),
  }
}
