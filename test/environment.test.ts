import { parseConfig } from '../lambda/environment'
import { issuesOf } from './policies/issues'

const TABLES = { SLUICE_STATE_TABLE: 'state', SLUICE_CONFIG_TABLE: 'config' }
const issuesIn = (environment: Record<string, string>) => issuesOf(() => parseConfig({ ...TABLES, ...environment }))

describe('the environment', () => {
  it('needs the names of two tables and has defaults for the rest', () => {
    expect(parseConfig(TABLES)).toEqual({
      stateTable: 'state',
      configTable: 'config',
      dynamodbEndpoint: undefined,
      configTtlMs: 30_000,
      deadlineMs: 300,
      failureMode: 'local',
      authentication: 'config',
      ipv6Prefix: 56,
      negativeTtlMs: 30_000,
      denials: 'gateway',
      upstream: undefined,
      upstreamDeadlineMs: 2000,
      upstreamTtlMs: 0,
      upstreamCacheHeaders: [],
      logLevel: 'info',
      logCallers: 'hashed',
      metricsFlushMs: 10_000,
      metricsNamespace: 'Sluice',
      metricsByApi: false,
    })
  })

  it('sets everything', () => {
    expect(
      parseConfig({
        SLUICE_STATE_TABLE: 'arn:aws:dynamodb:us-east-1:123456789012:table/Sluice_State-1.x',
        SLUICE_CONFIG_TABLE: 'abc',
        SLUICE_DYNAMODB_ENDPOINT: 'http://localhost:8000',
        SLUICE_CONFIG_TTL_MS: '5000',
        SLUICE_DEADLINE_MS: '20',
        SLUICE_FAILURE_MODE: 'deny',
        SLUICE_AUTHENTICATION: 'none',
        SLUICE_IPV6_PREFIX: '64',
        SLUICE_NEGATIVE_TTL_MS: '7000',
        SLUICE_DENIALS: 'backend',
        SLUICE_UPSTREAM: 'arn:aws:lambda:eu-west-1:123456789012:function:check-tokens:live',
        SLUICE_UPSTREAM_DEADLINE_MS: '500',
        SLUICE_UPSTREAM_TTL_MS: '300000',
        SLUICE_UPSTREAM_CACHE_HEADERS: 'Authorization,x-tenant',
        SLUICE_LOG_LEVEL: 'debug',
        SLUICE_LOG_CALLERS: 'clear',
        SLUICE_METRICS_FLUSH_MS: '0',
        SLUICE_METRICS_NAMESPACE: 'Shop/limits',
        SLUICE_METRICS_BY_API: 'true',
        HOME: '/nowhere',
      }),
    ).toEqual({
      stateTable: 'arn:aws:dynamodb:us-east-1:123456789012:table/Sluice_State-1.x',
      configTable: 'abc',
      dynamodbEndpoint: 'http://localhost:8000',
      configTtlMs: 5000,
      deadlineMs: 20,
      failureMode: 'deny',
      authentication: 'none',
      ipv6Prefix: 64,
      negativeTtlMs: 7000,
      denials: 'backend',
      upstream: 'arn:aws:lambda:eu-west-1:123456789012:function:check-tokens:live',
      upstreamDeadlineMs: 500,
      upstreamTtlMs: 300_000,
      upstreamCacheHeaders: ['authorization', 'x-tenant'],
      logLevel: 'debug',
      logCallers: 'clear',
      metricsFlushMs: 0,
      metricsNamespace: 'Shop/limits',
      metricsByApi: true,
    })
  })

  it('takes an empty variable for one that is not set', () => {
    expect(
      parseConfig({ ...TABLES, SLUICE_DYNAMODB_ENDPOINT: '', SLUICE_DEADLINE_MS: '', SLUICE_FAILURE_MODE: '' }),
    ).toEqual(parseConfig(TABLES))
    expect(issuesIn({ SLUICE_STATE_TABLE: '' })).toEqual([
      'SLUICE_STATE_TABLE is missing, it must be the name or ARN of a table',
    ])
  })

  it.each(['SLUICE_DELEGATE', 'SLUICE_DELEGATE_TTL_MS', 'SLUICE_HTTP_DENIALS', 'SLUICE_ON_STORE_ERROR'])(
    'the former name %s is refused, so that nothing that it says is ignored',
    (name) => {
      expect(issuesIn({ [name]: 'deny' })).toEqual([`${name} was renamed: see CHANGELOG.md`])
    },
  )

  it.each([
    ['SLUICE_STATE_TABLE', 'ab', 'SLUICE_STATE_TABLE must be the name or ARN of a table, got "ab"'],
    ['SLUICE_CONFIG_TABLE', 'a b c', 'SLUICE_CONFIG_TABLE must be the name or ARN of a table, got "a b c"'],
    [
      'SLUICE_DYNAMODB_ENDPOINT',
      'localhost',
      'SLUICE_DYNAMODB_ENDPOINT must be a URL such as "http://localhost:8000", got "localhost"',
    ],
    [
      'SLUICE_DYNAMODB_ENDPOINT',
      'localhost:8000',
      'SLUICE_DYNAMODB_ENDPOINT must be a URL such as "http://localhost:8000", got "localhost:8000"',
    ],
    [
      'SLUICE_DYNAMODB_ENDPOINT',
      'ftp://x',
      'SLUICE_DYNAMODB_ENDPOINT must be a URL such as "http://localhost:8000", got "ftp://x"',
    ],
    ['SLUICE_CONFIG_TTL_MS', '0', 'SLUICE_CONFIG_TTL_MS must be an integer from 1 to 86400000, got "0"'],
    ['SLUICE_CONFIG_TTL_MS', '86400001', 'SLUICE_CONFIG_TTL_MS must be an integer from 1 to 86400000, got "86400001"'],
    ['SLUICE_CONFIG_TTL_MS', '30s', 'SLUICE_CONFIG_TTL_MS must be an integer from 1 to 86400000, got "30s"'],
    ['SLUICE_DEADLINE_MS', '19', 'SLUICE_DEADLINE_MS must be an integer from 20 to 9000, got "19"'],
    ['SLUICE_DEADLINE_MS', '9001', 'SLUICE_DEADLINE_MS must be an integer from 20 to 9000, got "9001"'],
    ['SLUICE_DEADLINE_MS', '300.5', 'SLUICE_DEADLINE_MS must be an integer from 20 to 9000, got "300.5"'],
    ['SLUICE_DEADLINE_MS', ' 300', 'SLUICE_DEADLINE_MS must be an integer from 20 to 9000, got " 300"'],
    ['SLUICE_FAILURE_MODE', 'throw', 'SLUICE_FAILURE_MODE must be one of local, allow, deny, got "throw"'],
    ['SLUICE_FAILURE_MODE', 'Deny', 'SLUICE_FAILURE_MODE must be one of local, allow, deny, got "Deny"'],
    ['SLUICE_IPV6_PREFIX', '129', 'SLUICE_IPV6_PREFIX must be an integer from 1 to 128, got "129"'],
    ['SLUICE_DENIALS', '429', 'SLUICE_DENIALS must be one of gateway, backend, got "429"'],
    ['SLUICE_UPSTREAM', 'a b', 'SLUICE_UPSTREAM must be the name or ARN of a function, got "a b"'],
    [
      'SLUICE_UPSTREAM_DEADLINE_MS',
      '9001',
      'SLUICE_UPSTREAM_DEADLINE_MS must be an integer from 20 to 9000, got "9001"',
    ],
    ['SLUICE_UPSTREAM_TTL_MS', '3600001', 'SLUICE_UPSTREAM_TTL_MS must be an integer from 0 to 3600000, got "3600001"'],
    [
      'SLUICE_UPSTREAM_TTL_MS',
      '1',
      'SLUICE_UPSTREAM_CACHE_HEADERS must name the headers by which answers differ where SLUICE_UPSTREAM_TTL_MS is not 0, got none',
    ],
    [
      'SLUICE_UPSTREAM_CACHE_HEADERS',
      'a, b',
      'SLUICE_UPSTREAM_CACHE_HEADERS must be names of 1 to 16 headers with commas between them, got "a, b"',
    ],
    ['SLUICE_LOG_LEVEL', 'INFO', 'SLUICE_LOG_LEVEL must be one of debug, info, warn, error, got "INFO"'],
    ['SLUICE_LOG_CALLERS', 'yes', 'SLUICE_LOG_CALLERS must be one of hashed, clear, got "yes"'],
    [
      'SLUICE_METRICS_FLUSH_MS',
      '3600001',
      'SLUICE_METRICS_FLUSH_MS must be an integer from 0 to 3600000, got "3600001"',
    ],
    [
      'SLUICE_METRICS_NAMESPACE',
      'AWS/Lambda',
      'SLUICE_METRICS_NAMESPACE must be a namespace such as "Sluice", and not one of AWS, got "AWS/Lambda"',
    ],
    ['SLUICE_METRICS_BY_API', 'yes', 'SLUICE_METRICS_BY_API must be true or false, got "yes"'],
    [
      'SLUICE_METRICS_NAMESPACE',
      'a b',
      'SLUICE_METRICS_NAMESPACE must be a namespace such as "Sluice", and not one of AWS, got "a b"',
    ],
    ['SLUICE_IPV6_PREFIX', '/56', 'SLUICE_IPV6_PREFIX must be an integer from 1 to 128, got "/56"'],
  ])('%s=%j is wrong, and it says so', (name, value, sentence) => {
    expect(issuesIn({ [name]: value })).toEqual([sentence])
  })

  it('reports every mistake at once', () => {
    expect(issuesOf(() => parseConfig({ SLUICE_DEADLINE_MS: 'x', SLUICE_FAILURE_MODE: 'x' }))).toEqual([
      'SLUICE_STATE_TABLE is missing, it must be the name or ARN of a table',
      'SLUICE_CONFIG_TABLE is missing, it must be the name or ARN of a table',
      'SLUICE_DEADLINE_MS must be an integer from 20 to 9000, got "x"',
      'SLUICE_FAILURE_MODE must be one of local, allow, deny, got "x"',
    ])
  })

  it('is not repeated at length', () => {
    for (const issue of issuesIn({
      SLUICE_STATE_TABLE: 'x '.repeat(100_000),
      SLUICE_DYNAMODB_ENDPOINT: 'x'.repeat(100_000),
    })) {
      expect(issue.length).toBeLessThan(250)
    }
  })
})
