import { systemClock } from '../limiter/clock'
import { DirectCalls } from '../limiter/stores/direct-calls'
import { assembleParts } from './assemble-parts'
import { makeAuthorizer } from './authorize'
import { config } from './environment'
import { lazyVerifiers } from './identity/load-verifier'
import { makeTelemetry } from './telemetry/telemetry'
import { loadUpstream } from './upstream/load-upstream'

/** Where Lambda puts the parts together. Clients are made once, and live as long as the instance. */
const { dynamodbEndpoint: endpoint, denials, ...settings } = config()
const { logLevel: level, logCallers: callers, metricsFlushMs: flushMs, metricsNamespace, metricsByApi } = settings
const { upstream, upstreamDeadlineMs, upstreamTtlMs: ttlMs, upstreamCacheHeaders: cacheHeaders } = settings

/**
 * Not `console`: in Lambda it puts time and request id before a line, which must be JSON from its first character on.
 */
const write = (line: string) => process.stdout.write(`${line}\n`)
const counting = { flushMs, namespace: metricsNamespace, byApi: metricsByApi }
const telemetry = makeTelemetry({ write, clock: systemClock, level, callers, ...counting })

const calls = new DirectCalls({ endpoint })

const asking = { deadlineMs: upstreamDeadlineMs, ttlMs, cacheHeaders, clock: systemClock }

/** Lambda's entry point. */
export const handler = makeAuthorizer({
  ...assembleParts({ ...settings, calls, telemetry, verifierOf: lazyVerifiers(systemClock) }),
  denials,
  upstream: upstream === undefined ? undefined : loadUpstream({ ...asking, functionName: upstream }),
})
