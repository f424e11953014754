import fc from 'fast-check'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { StateStore } from '../../limiter/stores/store'
import { Gateway, PREFLIGHT } from '../authorize/gateway'
import { codePoint } from '../code-point'
import { policy } from '../policies/issues'
import httpRequest from '../responses/events/http-request.json'
import restRequest from '../responses/events/rest-request.json'
import websocket from '../responses/events/websocket-connect.json'

/**
 * Every request costs something, and preflights too: whoever has used up his limits has nothing left to spend, however
 * he spells what he wants.
 */
const SET = parseTiersFile(
  {
    settings: { preflight: { limit: 1, window: '1h' }, basePaths: ['/v1'] },
    tiers: { anonymous: { by: 'ip', policies: [policy({ limit: 1, window: '1h' })] } },
    routes: {
      'GET /search': { cost: 5, policies: [policy({ name: 'search', by: ['ip', 'route'] })] },
      'ANY /users/{id}': { policies: [policy({ name: 'users', by: 'route', limit: 100 })] },
      'ANY /admin/*': { credentials: 'required' },
      'HEAD /a': {},
      'OPTIONS /a': {},
      $connect: { policies: [policy({ name: 'connections', by: 'ip' })] },
    },
  },
  'f',
)

const IP = '198.51.100.7'

const pathPart = fc.oneof(
  fc.constantFrom(
    '/',
    '//',
    'a',
    'search',
    'users',
    'admin',
    'v1',
    'prod',
    '..',
    '.',
    '%2e',
    '%2F',
    '%252f',
    '\\',
    ';',
    '..;',
    '?',
    '#',
    '%',
    'A',
    'é',
    '\u0000',
    '\ud800',
    '{id}',
    '*',
    '$connect',
    '__proto__',
  ),
  fc.string({ maxLength: 6 }),
  fc.string({ unit: codePoint, maxLength: 3 }),
)
const path = fc.oneof(
  { weight: 30, arbitrary: fc.array(pathPart, { maxLength: 12 }).map((parts) => `/${parts.join('')}`) },
  {
    weight: 1,
    arbitrary: fc.tuple(pathPart, fc.integer({ min: 100, max: 3000 })).map(([part, times]) => `/${part.repeat(times)}`),
  },
)
const method = fc.oneof(
  fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'POST', 'get', 'ANY', 'PURGE'),
  fc.string({ maxLength: 5 }),
)
const resource = fc.oneof(
  fc.constantFrom(
    '/{proxy+}',
    '/search',
    '/users/{id}',
    '/admin/{proxy+}',
    '/',
    '$default',
    '$connect',
    '/{a}/{b+}',
    '{',
    '/{}',
    '',
  ),
  path,
)
const parameters = fc.dictionary(fc.constantFrom('proxy', 'id', 'a', 'b', '__proto__', 'constructor'), path)
const headers = fc.oneof(
  fc.constant({}),
  fc.constant(PREFLIGHT),
  fc.dictionary(
    fc.constantFrom('X-Api-Key', 'Origin', 'X-Forwarded-For', 'X-HTTP-Method-Override', '__proto__', 'Host'),
    fc.string(),
  ),
)
const domain = fc.constantFrom('x.execute-api.eu-west-1.amazonaws.com', 'api.example.com', undefined)
const stage = fc.constantFrom('prod', '$default', 'v1', 'search', '', undefined)

/**
 * Events of every kind of API, from one address, in which a client, and whoever configured the API, chose all the rest.
 */
const event = fc
  .record({
    kind: fc.constantFrom('rest', 'http', 'websocket'),
    method,
    path,
    resource,
    parameters,
    headers,
    domain,
    stage,
  })
  .map(({ kind, method, path, resource, parameters, headers, domain, stage }) => {
    const context = { stage, domainName: domain }
    if (kind === 'http') {
      const http = { ...httpRequest.requestContext.http, method, path, sourceIp: IP }
      const requestContext = { ...httpRequest.requestContext, ...context, http }
      return {
        ...httpRequest,
        rawPath: path,
        routeKey: `${method} ${resource}`,
        pathParameters: parameters,
        headers,
        requestContext,
      }
    }
    const like = kind === 'rest' ? restRequest : websocket
    const requestContext = {
      ...like.requestContext,
      ...context,
      identity: { ...like.requestContext.identity, sourceIp: IP, apiKeyId: null },
    }
    const asked = kind === 'rest' ? { httpMethod: method, path, resource, pathParameters: parameters } : {}
    return { ...like, ...asked, headers, multiValueHeaders: null, requestContext }
  })

/** Notes how long keys get. */
class KeyLengths implements StateStore {
  longest = 0
  readonly store = new MemoryStore()
  private noted<T>(key: string, then: () => Promise<T>): Promise<T> {
    this.longest = Math.max(this.longest, key.length)
    return then()
  }
  write: StateStore['write'] = (key, write) => this.noted(key, () => this.store.write(key, write))
  read: StateStore['read'] = (key) => this.noted(key, () => this.store.read(key))
  delete: StateStore['delete'] = (key, guard) => this.noted(key, () => this.store.delete(key, guard))
}

/**
 * Whatever comes from somebody who has used up his limits: never a pass, never an error but the one that means 401,
 * never a key without bound.
 */
export async function holdEvents(runs: number): Promise<void> {
  const store = new KeyLengths()
  const gateway = new Gateway({ set: SET, store })
  await gateway.rest({ ip: IP, path: '/elsewhere' })
  await gateway.rest({ ip: IP, method: 'OPTIONS', headers: PREFLIGHT })
  let slowest = 0
  await fc.assert(
    fc.asyncProperty(event, async (one) => {
      const startedAt = performance.now()
      const answer = await gateway.authorize(one).catch((error: Error) => {
        if (error.message !== 'Unauthorized') throw error
      })
      slowest = Math.max(slowest, performance.now() - startedAt)
      if (answer) expect(answer.context).toMatchObject({ allowed: false })
    }),
    { numRuns: runs },
  )
  expect(gateway.entries).toEqual([]) // nothing went wrong inside
  expect(slowest).toBeLessThan(1000) // some milliseconds, but for the machine's own pauses
  expect(store.longest).toBeLessThanOrEqual(60)
  expect(store.store.size).toBeLessThanOrEqual(7) // the address, its preflights, its routes, everybody
}
