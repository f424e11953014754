import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { makeAuthorizer } from '../../lambda/authorize'
import { Plans } from '../../lambda/charge-plans'
import { Clients } from '../../lambda/config-table/clients'
import { PolicySets } from '../../lambda/config-table/configuration'
import { Sources } from '../../lambda/identity/sources'
import type { EpochMs } from '../../limiter/clock'
import { RateLimiter } from '../../limiter/rate-limiter'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import type { OpenEngine } from '../stores'

/** A new instance of the authorizer on the tables that the command line works on, for whom time stands still. */
export function newAuthorizer({ client }: Pick<OpenEngine, 'client'>, now: EpochMs): ReturnType<typeof makeAuthorizer> {
  const clock = () => now
  const config = {
    calls: sdkCalls(client),
    tableName: LOCAL_TABLES.config,
    clock,
    log: () => {},
    ttlMs: 1000,
    negativeTtlMs: 1000,
    deadlineMs: 2000,
  }
  return makeAuthorizer({
    limiter: new RateLimiter({ store: new DynamoDbStore({ client, tableName: LOCAL_TABLES.state }), clock }),
    configuration: new PolicySets(config),
    plans: new Plans(() => {}),
    clients: new Clients(config),
    sources: new Sources(() => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) }), 300),
    clock,
    log: () => {},
    ipv6Prefix: 56,
    failOpen: false,
  })
}
