import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { makeAuthorizer } from '../lambda/authorize'
import { Plans } from '../lambda/charge-plans'
import { Clients } from '../lambda/config-table/clients'
import { PolicySets } from '../lambda/config-table/configuration'
import { KeyRings } from '../lambda/config-table/key-rings'
import { Sources } from '../lambda/identity/sources'
import type { StateStore } from '../limiter'
import type { Clock } from '../limiter/clock'
import { RateLimiter } from '../limiter/rate-limiter'
import { sdkCalls } from '../limiter/stores/sdk-calls'

/** The default of the function, in milliseconds. */
export const CONFIG_TTL_MS = 30_000

/** One function instance: the real authorizer, on a simulated clock. It throws what it would log as an error. */
export function authorizerInstance({
  store,
  client,
  configTable,
  clock,
}: {
  readonly store: StateStore
  /** Reads the config table. */
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly configTable: string
  readonly clock: Clock
}) {
  const log = (_level: string, message: string) => {
    throw new Error(`nothing should be logged, but "${message}" was`)
  }
  const reading = {
    calls: sdkCalls(client),
    tableName: configTable,
    clock,
    log,
    ttlMs: CONFIG_TTL_MS,
    deadlineMs: 10_000,
  }
  const { subjectKeys, signingKeys } = new KeyRings(reading)
  return makeAuthorizer({
    limiter: new RateLimiter({ store, clock, deadlineMs: 60_000, onStoreError: 'throw' }),
    configuration: new PolicySets(reading),
    subjectKeys,
    signingKeys,
    plans: new Plans(log),
    clients: new Clients({ ...reading, negativeTtlMs: CONFIG_TTL_MS }),
    sources: new Sources(() => {
      throw new Error('there are no tokens here')
    }, 1000),
    clock,
    log,
    ipv6Prefix: 56,
    failOpen: false,
  })
}
