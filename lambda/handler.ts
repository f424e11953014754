import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { systemClock } from '../limiter/clock'
import { RateLimiter } from '../limiter/rate-limiter'
import { DynamoDbStore } from '../limiter/stores/dynamodb-store'
import { makeAuthorizer } from './authorize'
import { Plans } from './charge-plans'
import { Clients } from './config-table/clients'
import { PolicySets } from './config-table/configuration'
import { HmacKeys } from './config-table/hmac-keys'
import { LastValid } from './config-table/last-valid'
import { config, lambdaAccess } from './environment'
import { lazyVerifiers } from './identity/load-verifier'
import { Sources } from './identity/sources'
import { makeTelemetry } from './telemetry/telemetry'
import { loadUpstream } from './upstream/load-upstream'

/** The only place that assembles the parts. Clients are made once, and live as long as the instance. */
const {
  stateTable,
  configTable,
  dynamodbEndpoint: endpoint,
  configTtlMs,
  negativeTtlMs,
  deadlineMs,
  failureMode,
  ipv6Prefix,
  denials,
  ...rest
} = config()
const {
  logLevel: level,
  logCallers: callers,
  metricsFlushMs: flushMs,
  metricsNamespace: namespace,
  metricsByApi: byApi,
} = rest
const { authentication } = rest
const { upstream, upstreamDeadlineMs, upstreamTtlMs: ttlMs, upstreamCacheHeaders: cacheHeaders } = rest

/**
 * Not `console`: in Lambda it puts time and request id before a line, which must be JSON from its first character on.
 */
const write = (line: string) => process.stdout.write(`${line}\n`)
const telemetry = makeTelemetry({ write, clock: systemClock, level, callers, flushMs, namespace, byApi })
const { log, onEvent } = telemetry

const client = new DynamoDBClient({
  endpoint,
  maxAttempts: 1, // the take loop retries by itself, within the deadline and without counting twice
  requestHandler: new NodeHttpHandler({ connectionTimeout: 1000, httpsAgent: { keepAlive: true, maxSockets: 50 } }),
})
const reading = { client, tableName: configTable, clock: systemClock, log, deadlineMs: 2000 }

const asking = { deadlineMs: upstreamDeadlineMs, ttlMs, cacheHeaders, clock: systemClock }

/** Lambda's entry point. */
export const handler = makeAuthorizer({
  limiter: new RateLimiter({
    store: new DynamoDbStore({ client, tableName: stateTable }),
    deadlineMs,
    onStoreError: failureMode,
    onEvent,
  }),
  configuration: new PolicySets({ ...reading, ttlMs: configTtlMs, authentication, lastValid: new LastValid(reading) }),
  subjectKeys: new HmacKeys(reading),
  plans: new Plans(log),
  clients: new Clients({ ...reading, ttlMs: configTtlMs, negativeTtlMs, deadlineMs }),
  sources: new Sources(lazyVerifiers(systemClock), deadlineMs),
  clock: systemClock,
  log,
  telemetry,
  ipv6Prefix,
  authentication,
  failOpen: failureMode !== 'deny',
  denials,
  upstream:
    upstream === undefined
      ? undefined
      : loadUpstream().lambdaUpstream({ ...asking, ...lambdaAccess(), functionName: upstream }),
})
