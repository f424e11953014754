import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { makeAuthorizer } from '../../lambda/authorize'
import type { AuthorizerParts } from '../../lambda/authorizer-parts'
import { Plans } from '../../lambda/charge-plans'
import { type AccessEntry, AccessList } from '../../lambda/config-table/items/access-list'
import type { Client } from '../../lambda/config-table/items/client-item'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import type { PolicySet } from '../../lambda/config-table/items/policy-set'
import { hashApiKey } from '../../lambda/identity/api-key'
import { Sources } from '../../lambda/identity/sources'
import type { PolicyAnswer, SimpleAnswer } from '../../lambda/responses/answers'
import type { AuthorizerContext } from '../../lambda/responses/context'
import type { FailureMode } from '../../limiter/options'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { StateStore } from '../../limiter/stores/store'
import { type Entry, FakeClock, FakeLog } from '../config-table/fake-table'
import httpRequest from '../responses/events/http-request.json'
import restRequest from '../responses/events/rest-request.json'

/** Tokens are put to the test in test/identity. */
const NO_TOKENS = () => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) as const })

/** The repository's own tiers and routes. */
const TIERS = parseTiersFile(parse(readFileSync(path.join(__dirname, '../../tiers.yaml'), 'utf8')), 'tiers.yaml')

/** Keys that are known, by tier. */
export const KEYS = { free: 'key of free', pro: 'key of pro', enterprise: 'key of enterprise' } as const

export interface Request {
  readonly method?: string
  readonly path?: string
  readonly key?: string
  readonly ip?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a browser sends before a request to another origin. */
export const PREFLIGHT = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' } as const

const listed = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))

/** The event of a REST API. */
export function restEvent({
  method = 'GET',
  path: to = '/hello',
  key,
  ip = '198.51.100.7',
  headers: more = {},
}: Request = {}): Record<string, unknown> {
  const { 'X-Api-Key': _, ...headers } = restRequest.headers
  const { 'X-Api-Key': __, ...multiValueHeaders } = restRequest.multiValueHeaders
  return {
    ...restRequest,
    httpMethod: method,
    path: to,
    resource: '/{proxy+}',
    pathParameters: { proxy: to.slice(1) },
    methodArn: `arn:aws:execute-api:us-east-1:123456789012:abcdef1234/prod/${method}${to}`,
    headers: { ...headers, ...more, 'X-Forwarded-For': ip, ...(key !== undefined && { 'X-Api-Key': key }) },
    multiValueHeaders: {
      ...multiValueHeaders,
      ...listed(more),
      'X-Forwarded-For': [ip],
      ...(key !== undefined && { 'X-Api-Key': [key] }),
    },
    requestContext: {
      ...restRequest.requestContext,
      identity: { ...restRequest.requestContext.identity, sourceIp: ip, apiKey: key ?? null, apiKeyId: null },
    },
  }
}

/** The event of an HTTP API with payload 2.0. */
export function httpEvent({
  method = 'GET',
  path: to = '/hello',
  key,
  ip = '198.51.100.7',
  headers: more = {},
}: Request = {}): Record<string, unknown> {
  const { 'x-api-key': _, ...headers } = httpRequest.headers
  const { http, ...context } = httpRequest.requestContext
  return {
    ...httpRequest,
    routeKey: '$default',
    rawPath: `/${context.stage}${to}`,
    headers: { ...headers, ...more, 'x-forwarded-for': ip, ...(key !== undefined && { 'x-api-key': key }) },
    requestContext: { ...context, http: { ...http, method, path: `/${context.stage}${to}`, sourceIp: ip } },
  }
}

export interface Told extends AuthorizerContext {
  readonly effect: 'Allow' | 'Deny'
}

/** An authorizer around the real limiter, on a clock that stands still. */
export class Gateway {
  readonly clock = new FakeClock()
  readonly store = new MemoryStore()
  readonly log: FakeLog
  readonly authorize: ReturnType<typeof makeAuthorizer>
  /** Everything that was answered. */
  readonly answers: unknown[] = []

  constructor({
    set = TIERS,
    store,
    onStoreError = 'local',
    access = [],
    ...parts
  }: {
    set?: PolicySet | null
    access?: readonly AccessEntry[]
    store?: StateStore
    onStoreError?: FailureMode
  } & Partial<AuthorizerParts> = {}) {
    this.log = new FakeLog()
    const clients = new Map<string, Client>(
      Object.entries(KEYS).map(([tier, key]) => [
        hashApiKey(key),
        { id: `client-${tier}`, tier, overrides: {}, disabled: false },
      ]),
    )
    const configuration = set ? { policies: set, access: new AccessList(access) } : undefined
    this.authorize = makeAuthorizer({
      limiter: new RateLimiter({ store: store ?? this.store, clock: this.clock.read, onStoreError }),
      configuration: { current: async () => configuration },
      plans: new Plans(this.log.write),
      sources: new Sources(NO_TOKENS, 300),
      clients: { find: async (hash) => clients.get(hash) },
      clock: this.clock.read,
      log: this.log.write,
      ipv6Prefix: 56,
      failOpen: onStoreError !== 'deny',
      ...parts,
    })
  }

  /** How many items the store has beside the one in which the sample counts everybody. */
  get callers(): number {
    return this.store.size - 1
  }

  get entries(): readonly Entry[] {
    return this.log.entries
  }

  /** What a REST API answers with 500 is an error, as 401 is. */
  async rest(request?: Request): Promise<Told> {
    const answer = (await this.authorize(restEvent(request))) as PolicyAnswer
    this.answers.push(answer)
    return { ...answer.context, effect: answer.policyDocument.Statement[0].Effect }
  }

  async http(request?: Request): Promise<Told> {
    const answer = (await this.authorize(httpEvent(request))) as SimpleAnswer
    this.answers.push(answer)
    return { ...answer.context, effect: answer.isAuthorized ? 'Allow' : 'Deny' }
  }

  /** How many of these requests, one after another, are allowed. */
  async allowed(requests: readonly Request[]): Promise<number> {
    let allowed = 0
    for (const request of requests) if ((await this.rest(request)).effect === 'Allow') allowed++
    return allowed
  }
}

/** The same request over and over. */
export const times = (count: number, request: Request = {}): Request[] => Array.from({ length: count }, () => request)
