import { systemClock } from '../limiter/clock'
import { RateLimiter } from '../limiter/rate-limiter'
import type { ItemCalls } from '../limiter/stores/item-calls'
import { ItemStore } from '../limiter/stores/item-store'
import type { AuthorizerParts } from './authorizer-parts'
import { Plans } from './charge-plans'
import { Clients } from './config-table/clients'
import { PolicySets } from './config-table/configuration'
import type { JwtSettings } from './config-table/items/jwt-settings'
import { KeyRings } from './config-table/key-rings'
import { LastValid } from './config-table/last-valid'
import type { Config } from './environment'
import { Sources } from './identity/sources'
import type { TokenVerifier } from './identity/token-verifier'
import type { Telemetry } from './telemetry/telemetry'

/** What the parts are made with. */
export interface AssemblyOptions
  extends Pick<
    Config,
    | 'stateTable'
    | 'configTable'
    | 'configTtlMs'
    | 'negativeTtlMs'
    | 'deadlineMs'
    | 'failureMode'
    | 'ipv6Prefix'
    | 'authentication'
  > {
  readonly calls: ItemCalls
  readonly telemetry: Telemetry
  readonly verifierOf: (settings: JwtSettings) => TokenVerifier
}

/** The parts that read the tables, which live as long as the process. */
export function assembleParts(options: AssemblyOptions): AuthorizerParts & { readonly limiter: RateLimiter } {
  const { calls, stateTable, configTable, telemetry, verifierOf } = options
  const { configTtlMs: ttlMs, negativeTtlMs, deadlineMs, failureMode, ipv6Prefix, authentication } = options
  const { log, onEvent } = telemetry
  const reading = { calls, tableName: configTable, clock: systemClock, log, deadlineMs: 2000 }
  const { subjectKeys, signingKeys } = new KeyRings(reading)
  return {
    limiter: new RateLimiter({
      store: new ItemStore(calls, stateTable),
      deadlineMs,
      onStoreError: failureMode,
      onEvent,
    }),
    configuration: new PolicySets({ ...reading, ttlMs, authentication, lastValid: new LastValid(reading) }),
    subjectKeys,
    signingKeys,
    plans: new Plans(log),
    clients: new Clients({ ...reading, ttlMs, negativeTtlMs, deadlineMs }),
    sources: new Sources(verifierOf, deadlineMs),
    clock: systemClock,
    log,
    telemetry,
    ipv6Prefix,
    authentication,
    failOpen: failureMode !== 'deny',
  }
}
