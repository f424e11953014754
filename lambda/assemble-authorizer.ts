import { systemClock } from '../limiter/clock'
import type { ItemCalls } from '../limiter/stores/item-calls'
import { assembleParts } from './assemble-parts'
import { makeAuthorizer } from './authorize'
import type { FirstReadings } from './config-table/first-readings'
import type { Config } from './environment'
import { lazyVerifiers } from './identity/load-verifier'
import type { AuthorizerAnswer } from './responses/answers'
import { makeTelemetry } from './telemetry/telemetry'
import { loadUpstream } from './upstream/load-upstream'

/**
 * Not `console`: in Lambda it puts time and request id before a line, which must be JSON from its first character on.
 */
const write = (line: string) => process.stdout.write(`${line}\n`)

/** The authorizer as its function's environment configures it, with all that lives as long as the instance. */
export function assembleAuthorizer(
  config: Config,
  calls: ItemCalls,
  first: FirstReadings,
): (event: unknown) => Promise<AuthorizerAnswer> {
  const {
    denials,
    logLevel: level,
    logCallers: callers,
    metricsFlushMs: flushMs,
    metricsNamespace,
    metricsByApi,
  } = config
  const { upstream, upstreamDeadlineMs, upstreamTtlMs: ttlMs, upstreamCacheHeaders: cacheHeaders } = config
  const counting = { flushMs, namespace: metricsNamespace, byApi: metricsByApi }
  const telemetry = makeTelemetry({ write, clock: systemClock, level, callers, ...counting })
  const asking = { deadlineMs: upstreamDeadlineMs, ttlMs, cacheHeaders, clock: systemClock }
  return makeAuthorizer({
    ...assembleParts({ ...config, calls, first, telemetry, verifierOf: lazyVerifiers(systemClock) }),
    denials,
    upstream: upstream === undefined ? undefined : loadUpstream({ ...asking, functionName: upstream }),
  })
}
