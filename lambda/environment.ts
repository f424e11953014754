import * as v from 'valibot'
import { ConfigError, printed } from '../limiter/errors'
import { LOG_LEVELS, type LogLevel } from './telemetry/log'

/** What the function is told by its environment. */
export interface Config {
  readonly stateTable: string
  readonly configTable: string
  /** Another DynamoDB than the Region's own. */
  readonly endpoint: string | undefined
  /** How old the configuration may get, in milliseconds. */
  readonly configTtlMs: number
  /** How long a credential that nobody has is remembered as such, in milliseconds. */
  readonly negativeTtlMs: number
  /** Time for one decision, in milliseconds. */
  readonly deadlineMs: number
  readonly onStoreError: 'local' | 'allow' | 'deny'
  /**
   * `none`: no caller has to show credentials, so the failure mode decides while nothing can be read; `config`: the
   * config table says who has to.
   */
  readonly authentication: 'config' | 'none'
  /** Bits of an IPv6 address that tell callers apart. */
  readonly ipv6Prefix: number
  /**
   * Who answers a request over the limit on an HTTP API: the gateway with its 403, or the backend, which is let have
   * the request, with 429.
   */
  readonly httpDenials: 'gateway' | 'backend'
  /** Name or ARN of the function that is asked before anything is counted. */
  readonly delegate: string | undefined
  /** Time for its answer, in milliseconds. */
  readonly delegateDeadlineMs: number
  /** How long its answers are held to, in milliseconds; 0: not at all. */
  readonly delegateTtlMs: number
  /** The headers, in lower case, by which its answers differ. */
  readonly delegateCacheHeaders: readonly string[]
  /** Log entries below it are left out. */
  readonly logLevel: LogLevel
  /** Whether the log names callers by hash only, or by their id and address, too. */
  readonly logCallers: 'hashed' | 'clear'
  /** Metrics are written at most this often, in milliseconds; 0: with every request. */
  readonly metricsFlushMs: number
  /** Where CloudWatch keeps the metrics. */
  readonly metricsNamespace: string
  /** Whether they are counted by API, too. */
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

const VARIABLES = {
  stateTable: { name: 'SLUICE_STATE_TABLE', ...table, otherwise: undefined },
  configTable: { name: 'SLUICE_CONFIG_TABLE', ...table, otherwise: undefined },
  endpoint: {
    name: 'SLUICE_DYNAMODB_ENDPOINT',
    schema: v.pipe(v.string(), v.url(), v.regex(/^https?:/i)), // `localhost:8000` is a URL, too
    wanted: 'a URL such as "http://localhost:8000"',
    otherwise: null,
  },
  configTtlMs: { name: 'SLUICE_CONFIG_TTL_MS', ...integer(1, 86_400_000), otherwise: '30000' },
  negativeTtlMs: { name: 'SLUICE_NEGATIVE_TTL_MS', ...integer(1, 86_400_000), otherwise: '30000' },
  deadlineMs: { name: 'SLUICE_DEADLINE_MS', ...integer(20, 9000), otherwise: '300' },
  onStoreError: {
    name: 'SLUICE_ON_STORE_ERROR',
    ...oneOf(['local', 'allow', 'deny']),
    otherwise: 'local',
  },
  authentication: { name: 'SLUICE_AUTHENTICATION', ...oneOf(['config', 'none']), otherwise: 'config' },
  ipv6Prefix: { name: 'SLUICE_IPV6_PREFIX', ...integer(1, 128), otherwise: '56' },
  httpDenials: {
    name: 'SLUICE_HTTP_DENIALS',
    ...oneOf(['gateway', 'backend']),
    otherwise: 'gateway',
  },
  delegate: {
    name: 'SLUICE_DELEGATE',
    schema: v.pipe(v.string(), v.regex(/^[\w:$-]{1,256}$/)),
    wanted: 'the name or ARN of a function',
    otherwise: null,
  },
  delegateDeadlineMs: { name: 'SLUICE_DELEGATE_DEADLINE_MS', ...integer(20, 9000), otherwise: '2000' },
  delegateTtlMs: { name: 'SLUICE_DELEGATE_TTL_MS', ...integer(0, 3_600_000), otherwise: '0' },
  delegateCacheHeaders: {
    name: 'SLUICE_DELEGATE_CACHE_HEADERS',
    schema: v.pipe(
      v.string(),
      v.regex(/^[\w-]{1,64}(,[\w-]{1,64}){0,15}$/),
      v.transform((names) => names.toLowerCase().split(',')),
    ),
    wanted: 'names of 1 to 16 headers with commas between them',
    otherwise: null,
  },
  logLevel: {
    name: 'SLUICE_LOG_LEVEL',
    ...oneOf(LOG_LEVELS),
    otherwise: 'info',
  },
  logCallers: {
    name: 'SLUICE_LOG_CALLERS',
    ...oneOf(['hashed', 'clear']),
    otherwise: 'hashed',
  },
  metricsFlushMs: { name: 'SLUICE_METRICS_FLUSH_MS', ...integer(0, 3_600_000), otherwise: '10000' },
  metricsNamespace: {
    name: 'SLUICE_METRICS_NAMESPACE',
    schema: v.pipe(v.string(), v.regex(/^(?!AWS\/)[\w.\-/#]{1,255}$/)),
    wanted: 'a namespace such as "Sluice", and not one of AWS',
    otherwise: 'Sluice',
  },
  metricsByApi: {
    name: 'SLUICE_METRICS_BY_API',
    schema: v.pipe(
      v.picklist(['true', 'false']),
      v.transform((text) => text === 'true'),
    ),
    wanted: 'true or false',
    otherwise: 'false',
  },
} as const

/**
 * Reads the environment: the only code that does.
 *
 * @throws ConfigError that names every variable that is missing or wrong, what was got and what was wanted.
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const issues: string[] = []
  const values = Object.entries(VARIABLES).map(([field, { name, schema, wanted, otherwise }]) => {
    const text = environment[name] || otherwise
    if (text === null) return [field, undefined]
    const parsed = v.safeParse(schema as v.GenericSchema, text)
    if (!parsed.success)
      issues.push(
        text === undefined
          ? `${name} is missing, it must be ${wanted}`
          : `${name} must be ${wanted}, got ${printed(text)}`,
      )
    return [field, parsed.output]
  })
  const { delegateCacheHeaders = [], ...others } = Object.fromEntries(values)
  if (issues.length === 0 && others.delegateTtlMs > 0 && delegateCacheHeaders.length === 0)
    issues.push(
      'SLUICE_DELEGATE_CACHE_HEADERS must name the headers by which answers differ where SLUICE_DELEGATE_TTL_MS is not 0, got none',
    )
  if (issues.length > 0) throw new ConfigError(issues)
  return { ...others, delegateCacheHeaders }
}

/**
 * By what this function may call others: its Region, its role's credentials, and the SDK's variable for another Lambda
 * than the Region's own.
 */
export const lambdaAccess = () => ({
  region: process.env.AWS_REGION ?? '',
  endpoint: process.env.AWS_ENDPOINT_URL_LAMBDA || process.env.AWS_ENDPOINT_URL || undefined,
  credentials: {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
    sessionToken: process.env.AWS_SESSION_TOKEN,
  },
})

/** The environment of this process. */
export const config = (): Config => parseConfig(process.env)
