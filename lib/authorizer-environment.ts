import { parseConfig } from '../lambda/environment'
import { ConfigError, Mistake } from '../limiter/errors'
import type { AuthorizerFunctionOptions, AuthorizerFunctionProps } from './authorizer-options'

/** Names are unknown before the deployment, and need no check. */
const NAMES_FOR_A_CHECK = { SLUICE_STATE_TABLE: 'state', SLUICE_CONFIG_TABLE: 'config', SLUICE_UPSTREAM: 'upstream' }

/** The prop behind each variable of the function's environment. */
const PROPS: Readonly<Record<string, keyof AuthorizerFunctionOptions>> = {
  SLUICE_FAILURE_MODE: 'failureMode',
  SLUICE_AUTHENTICATION: 'authentication',
  SLUICE_DEADLINE_MS: 'decisionDeadline',
  SLUICE_CONFIG_TTL_MS: 'configTtl',
  SLUICE_IPV6_PREFIX: 'ipv6Prefix',
  SLUICE_DENIALS: 'denials',
  SLUICE_UPSTREAM: 'upstream',
  SLUICE_UPSTREAM_DEADLINE_MS: 'upstreamDeadline',
  SLUICE_UPSTREAM_TTL_MS: 'upstreamCacheTtl',
  SLUICE_UPSTREAM_CACHE_HEADERS: 'upstreamCacheHeaders',
  SLUICE_LOG_LEVEL: 'logLevel',
  SLUICE_LOG_CALLERS: 'logCallers',
  SLUICE_METRICS_FLUSH_MS: 'metricsInterval',
  SLUICE_METRICS_NAMESPACE: 'metricsNamespace',
  SLUICE_METRICS_BY_API: 'metricsByApi',
}

/**
 * The authorizer's environment.
 *
 * @throws ConfigError that names each invalid prop, so that it fails the synth and not the first request.
 */
export function environmentOf(props: AuthorizerFunctionProps): Record<string, string> {
  const environment = { ...fromProps(props), ...props.functionOptions?.environment }
  try {
    parseConfig({ ...environment, ...NAMES_FOR_A_CHECK })
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(error.mistakes.map(withProps)) : error
  }
  return environment
}

/** `decisionDeadline (SLUICE_DEADLINE_MS) must be …`. */
const withProps = ({ code, message }: Mistake): Mistake =>
  new Mistake(
    code,
    message.replace(/\bSLUICE_\w+/g, (variable) => (PROPS[variable] ? `${PROPS[variable]} (${variable})` : variable)),
  )

function fromProps(props: AuthorizerFunctionProps): Record<string, string> {
  const settings = {
    SLUICE_STATE_TABLE: props.stateTable.tableName,
    SLUICE_CONFIG_TABLE: props.configTable.tableName,
    SLUICE_FAILURE_MODE: props.failureMode,
    SLUICE_AUTHENTICATION: props.authentication,
    SLUICE_DEADLINE_MS: props.decisionDeadline?.toMilliseconds(),
    SLUICE_CONFIG_TTL_MS: props.configTtl?.toMilliseconds(),
    SLUICE_IPV6_PREFIX: props.ipv6Prefix,
    SLUICE_DENIALS: props.denials === 'backend-429' ? 'backend' : undefined,
    SLUICE_UPSTREAM: props.upstream?.functionArn,
    SLUICE_UPSTREAM_DEADLINE_MS: props.upstreamDeadline?.toMilliseconds(),
    SLUICE_UPSTREAM_TTL_MS: props.upstreamCacheTtl?.toMilliseconds(),
    SLUICE_UPSTREAM_CACHE_HEADERS: props.upstreamCacheHeaders?.join(','),
    SLUICE_LOG_LEVEL: props.logLevel,
    SLUICE_LOG_CALLERS: props.logCallers,
    SLUICE_METRICS_FLUSH_MS: props.metricsInterval?.toMilliseconds(),
    SLUICE_METRICS_NAMESPACE: props.metricsNamespace,
    SLUICE_METRICS_BY_API: props.metricsByApi,
  }
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}
