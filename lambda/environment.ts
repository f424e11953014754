import * as v from 'valibot'
import { ConfigError, Mistake, printed } from '../limiter/errors'
import { LOG_LEVELS, type LogLevel } from './telemetry/log'

/** The function's configuration from its environment. */
export interface Config {
  readonly stateTable: string
  readonly configTable: string
  /** URL of a DynamoDB to use instead of the Region's own. */
  readonly dynamodbEndpoint: string | undefined
  /** How old the configuration may get, in milliseconds. */
  readonly configTtlMs: number
  /** How long an unknown credential is remembered as unknown, in milliseconds. */
  readonly negativeTtlMs: number
  /** Time for one decision, in milliseconds. */
  readonly deadlineMs: number
  /** What happens to requests while the state table is unavailable, where their tier does not say. */
  readonly failureMode: 'local' | 'allow' | 'deny'
  /**
   * `none`: no caller has to show credentials, so the failure mode decides while nothing can be read; `config`: the
   * config table says which callers have to.
   */
  readonly authentication: 'config' | 'none'
  /** Bits of an IPv6 address that tell callers apart. */
  readonly ipv6Prefix: number
  /** Who answers requests over the limit on HTTP APIs: API Gateway its 403, or the backend 429. */
  readonly denials: 'gateway' | 'backend'
  /** Name or ARN of the upstream authorizer's function, which is called before anything is counted. */
  readonly upstream: string | undefined
  /** Time for its answer, in milliseconds. */
  readonly upstreamDeadlineMs: number
  /** How long its answers are cached, in milliseconds; 0: not at all. */
  readonly upstreamTtlMs: number
  /** The headers, in lower case, on which its answers depend. */
  readonly upstreamCacheHeaders: readonly string[]
  /** Log entries below this level are left out. */
  readonly logLevel: LogLevel
  /** Whether the log names callers by hash only, or also by id and address. */
  readonly logCallers: 'hashed' | 'clear'
  /** Metrics are written at most this often, in milliseconds; 0: with every request. */
  readonly metricsFlushMs: number
  /** The CloudWatch namespace of the metrics. */
  readonly metricsNamespace: string
  /** Whether metrics are also counted by API. */
  readonly metricsByApi: boolean
}

const TABLE_NAME = /^[a-zA-Z0-9_.:/-]{3,1024}$/

const table = { schema: v.pipe(v.string(), v.regex(TABLE_NAME)), wanted: 'the name or ARN of a table' }
const integer = (least: number, most: number) => ({
  schema: v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number), v.minValue(least), v.maxValue(most)),
  wanted: `an integer from ${least} to ${most}`,
})
const oneOf = <const Words extends readonly string[]>(words: Words) => ({
  schema: v.picklist(words),
  wanted: `one of ${words.join(', ')}`,
})

/** By field; the variable of `configTtlMs` is `SLUICE_CONFIG_TTL_MS`. */
const VARIABLES = {
  stateTable: { ...table, otherwise: undefined },
  configTable: { ...table, otherwise: undefined },
  dynamodbEndpoint: {
    schema: v.pipe(v.string(), v.check(URL.canParse), v.regex(/^https?:/i)), // `localhost:8000` is a URL, too
    wanted: 'a URL such as "http://localhost:8000"',
    otherwise: null,
  },
  configTtlMs: { ...integer(1, 86_400_000), otherwise: '30000' },
  negativeTtlMs: { ...integer(1, 86_400_000), otherwise: '30000' },
  deadlineMs: { ...integer(20, 9000), otherwise: '300' },
  failureMode: {
    ...oneOf(['local', 'allow', 'deny']),
    otherwise: 'local',
  },
  authentication: { ...oneOf(['config', 'none']), otherwise: 'config' },
  ipv6Prefix: { ...integer(1, 128), otherwise: '56' },
  denials: {
    ...oneOf(['gateway', 'backend']),
    otherwise: 'gateway',
  },
  upstream: {
    schema: v.pipe(v.string(), v.regex(/^[\w:$-]{1,256}$/)),
    wanted: 'the name or ARN of a function',
    otherwise: null,
  },
  upstreamDeadlineMs: { ...integer(20, 9000), otherwise: '2000' },
  upstreamTtlMs: { ...integer(0, 3_600_000), otherwise: '0' },
  upstreamCacheHeaders: {
    schema: v.pipe(
      v.string(),
      v.regex(/^[\w-]{1,64}(,[\w-]{1,64}){0,15}$/),
      v.transform((names) => names.toLowerCase().split(',')),
    ),
    wanted: 'names of 1 to 16 headers with commas between them',
    otherwise: null,
  },
  logLevel: {
    ...oneOf(LOG_LEVELS),
    otherwise: 'info',
  },
  logCallers: {
    ...oneOf(['hashed', 'clear']),
    otherwise: 'hashed',
  },
  metricsFlushMs: { ...integer(0, 3_600_000), otherwise: '10000' },
  metricsNamespace: {
    schema: v.pipe(v.string(), v.regex(/^(?!AWS\/)[\w.\-/#]{1,255}$/)),
    wanted: 'a namespace such as "Sluice", and not one of AWS',
    otherwise: 'Sluice',
  },
  metricsByApi: {
    schema: v.pipe(
      v.picklist(['true', 'false']),
      v.transform((text) => text === 'true'),
    ),
    wanted: 'true or false',
    otherwise: 'false',
  },
} as const

/**
 * Former names. A setting under one of them must not be ignored: without its upstream authorizer, an API would be open.
 */
const RENAMED = /^SLUICE_(DELEGATE|HTTP_DENIALS|ON_STORE_ERROR)/

/**
 * Reads the environment; no other code does.
 *
 * @throws ConfigError that names every missing or invalid variable, what was got and what was wanted.
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const issues: Mistake[] = []
  const wrong = (sentence: string) => void issues.push(new Mistake('invalid_environment', sentence))
  for (const name of Object.keys(environment)) if (RENAMED.test(name)) wrong(`${name} was renamed: see CHANGELOG.md`)
  const values = Object.entries(VARIABLES).map(([field, { schema, wanted, otherwise }]) => {
    const name = `SLUICE_${field.replace(/[A-Z]/g, '_$&').toUpperCase()}`
    const text = environment[name] || otherwise
    if (text === null) return [field, undefined]
    const parsed = v.safeParse(schema as v.GenericSchema, text)
    if (!parsed.success)
      wrong(
        text === undefined
          ? `${name} is missing, it must be ${wanted}`
          : `${name} must be ${wanted}, got ${printed(text)}`,
      )
    return [field, parsed.output]
  })
  const { upstreamCacheHeaders = [], ...others } = Object.fromEntries(values)
  if (issues.length === 0 && others.upstreamTtlMs > 0 && upstreamCacheHeaders.length === 0)
    wrong(
      'SLUICE_UPSTREAM_CACHE_HEADERS must name the headers by which answers differ where SLUICE_UPSTREAM_TTL_MS is not 0, got none',
    )
  if (issues.length > 0) throw new ConfigError(issues)
  return { ...others, upstreamCacheHeaders }
}

/** The environment of this process. */
export const config = (): Config => parseConfig(process.env)
