import fc from 'fast-check'
import { fromEvent, type GatewayRequest } from '../../lambda/responses/request'
import { runs } from '../runs'
import httpDefaultPreflight from './events/http-default-preflight.json'
import httpRequest from './events/http-request.json'
import restConsoleTest from './events/rest-console-test.json'
import restPreflight from './events/rest-preflight.json'
import restRequest from './events/rest-request.json'
import token from './events/token.json'
import websocketConnect from './events/websocket-connect.json'

test('reads a REST request', () => {
  const request = fromEvent(restRequest)!
  expect(request).toMatchObject({
    api: 'rest',
    method: 'GET',
    path: '/users/42',
    resource: '/users/{id}',
    sourceIp: '198.51.100.7',
    apiKeyId: 'a1b2c3d4e5',
    methodArn: 'arn:aws:execute-api:us-east-1:123456789012:abcdef1234/prod/GET/users/42',
    preflight: false,
  })
  expect(request.headers.get('x-api-key')).toBe('sk_live_4eC39HqLyjWDarjtT1zdp7dc')
  expect(request.headers.get('x-tag')).toBe('green, blue')
  expect(request.headers.size).toBe(9)
  expect([...request.query]).toEqual([['fields', 'name, email']])
  expect([...request.pathParameters]).toEqual([['id', '42']])
})

test('reads an HTTP request, without its stage', () => {
  const request = fromEvent(httpRequest)!
  expect(request).toMatchObject({
    api: 'http',
    method: 'GET',
    path: '/users/42',
    resource: '/users/{id}',
    sourceIp: '198.51.100.7',
    apiKeyId: undefined,
    methodArn: 'arn:aws:execute-api:us-east-1:123456789012:qrstuv5678/live/GET/users/{id}',
    preflight: false,
  })
  expect(request.headers.get('x-tag')).toBe('green,blue')
  expect([...request.query]).toEqual([['fields', 'name,email']])
  expect([...request.pathParameters]).toEqual([['id', '42']])
})

test('reads a WebSocket connection', () => {
  const request = fromEvent(websocketConnect)!
  expect(request).toMatchObject({
    api: 'websocket',
    method: 'GET',
    path: '$connect',
    resource: '$connect',
    sourceIp: '198.51.100.7',
    methodArn: 'arn:aws:execute-api:us-east-1:123456789012:wxyzab9012/prod/$connect',
    preflight: false,
  })
  expect(request.headers.get('upgrade')).toBe('websocket')
  expect(request.query.get('room')).toBe('lobby')
  expect(request.pathParameters.size).toBe(0)
})

test('recognizes a preflight', () => {
  expect(fromEvent(restPreflight)).toMatchObject({
    api: 'rest',
    preflight: true,
    resource: '/{proxy+}',
    path: '/users',
  })
  expect(fromEvent(httpDefaultPreflight)).toMatchObject({ api: 'http', preflight: true, path: '/users/42' })
})

test('the catch-all route is one resource, whatever paths clients make up', () => {
  expect(fromEvent(httpDefaultPreflight)).toMatchObject({ resource: '$default' })
})

test("reads the console's test event, whose maps are null", () => {
  const request = fromEvent(restConsoleTest)!
  expect(request).toMatchObject({ method: 'GET', path: '/', apiKeyId: 'test-invoke-api-key-id' })
  expect([...request.headers]).toEqual([['x-tag', 'from the console']])
  expect(request.query.size).toBe(0)
})

test.each([
  ['/live', 'live', '/'],
  ['/live/', 'live', '/'],
  ['/live/live', 'live', '/live'],
  ['/lively', 'live', '/lively'],
  ['/users', 'live', '/users'],
  ['/$default/users', '$default', '/$default/users'],
  ['/undefined/users', undefined, '/undefined/users'],
  ['/users?id=1', 'live', '/users?id=1'], // decoded: it is a part of the path that came as %3F
])('the raw path %s in the stage %s is the path %s', (rawPath, stage, path) => {
  const event = { ...httpRequest, rawPath, requestContext: { ...httpRequest.requestContext, stage } }
  expect(fromEvent(event)?.path).toBe(path)
})

test('the resource is the path where there is no route', () => {
  expect(fromEvent({ ...restRequest, resource: undefined })?.resource).toBe('/users/42')
  expect(fromEvent({ ...httpRequest, routeKey: null })?.resource).toBe('/users/42')
})

test('a method counts as the same in any case', () => {
  expect(fromEvent({ ...restPreflight, httpMethod: 'options' })).toMatchObject({ method: 'OPTIONS', preflight: true })
})

test('OPTIONS without the preflight headers is not a preflight', () => {
  for (const missing of ['origin', 'access-control-request-method']) {
    const without = (headers: object) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => name !== missing))
    const { headers, multiValueHeaders } = restPreflight
    expect(missing in headers && missing in multiValueHeaders).toBe(true)
    const event = { ...restPreflight, headers: without(headers), multiValueHeaders: without(multiValueHeaders) }
    expect(fromEvent(event)).toMatchObject({ method: 'OPTIONS', preflight: false })
  }
  expect(fromEvent({ ...restPreflight, httpMethod: 'POST' })).toMatchObject({ preflight: false })
})

test('on a custom domain, the stage is kept where it may be a part of the path', () => {
  const requestContext = { ...httpRequest.requestContext, domainName: 'api.example.com' }
  expect(fromEvent({ ...httpRequest, requestContext })).toMatchObject({ path: '/live/users/42', stage: 'live' })
  expect(fromEvent(httpRequest)).toMatchObject({ path: '/users/42', stage: undefined })
  const rest = { ...restRequest.requestContext, domainName: 'api.example.com' }
  expect(fromEvent({ ...restRequest, requestContext: rest })).toMatchObject({ stage: 'prod' })
  expect(fromEvent(restRequest)).toMatchObject({ stage: undefined })
})

test('one header under two spellings is one name with two values', () => {
  const multiValueHeaders = { 'X-Api-Key': ['a'], 'x-api-key': ['b', 'c'] }
  expect([...fromEvent({ ...restRequest, multiValueHeaders })!.headers]).toEqual([['x-api-key', 'a, b, c']])
})

test('query names keep their case', () => {
  const multiValueQueryStringParameters = { Id: ['1'], id: ['2'], '': ['3'] }
  expect([...fromEvent({ ...restRequest, multiValueQueryStringParameters })!.query]).toEqual([
    ['Id', '1'],
    ['id', '2'],
    ['', '3'],
  ])
})

test('names from Object.prototype are names like all others', () => {
  const headers = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')
  const request = fromEvent({ ...httpRequest, headers, queryStringParameters: headers })!
  expect([...request.headers]).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['tostring', 'c'],
  ])
  expect(request.query.get('__proto__')).toBe('a')
  expect(({} as { a?: string }).a).toBeUndefined()
})

test('a header name that is not a token is left out, even where its lower case is ASCII', () => {
  const headers = { 'X-Api-\u212aey': 'a', 'x api key': 'b', '': 'c', 'x-tag': 'd' }
  expect([...fromEvent({ ...httpRequest, headers })!.headers]).toEqual([['x-tag', 'd']])
})

test('values of other types are left out', () => {
  const headers = { a: 1, b: null, c: { d: 'e' }, f: [1, 'g', null], h: [], i: '' }
  expect([...fromEvent({ ...httpRequest, headers })!.headers]).toEqual([
    ['f', 'g'],
    ['i', ''],
  ])
})

test('a huge event makes a request of bounded size, and keeps what comes first', () => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`h${index}`, 'x'.repeat(20)]))
  const request = fromEvent({
    ...restRequest,
    path: `/${'p'.repeat(1_000_000)}`,
    multiValueHeaders: { first: ['1'], long: Array(1_000).fill('y'.repeat(1_000)), ...many },
    queryStringParameters: many,
    multiValueQueryStringParameters: null,
  })!
  expect(request.headers.get('first')).toBe('1')
  expect(sizeOf(request)).toBeLessThan(200_000)
})

describe('a map has at most 32,768 characters', () => {
  const many = (value: unknown) =>
    Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [index.toString(36), value]))

  test.each([
    ['of a long value', { a: 'x'.repeat(100_000) }],
    ['of long values', { a: 'x'.repeat(20_000), b: 'y'.repeat(20_000) }],
    ['of many values of one name', { a: Array(100_000).fill('x') }],
    ['of one name in two spellings', { a: 'x'.repeat(20_000), A: 'y'.repeat(20_000) }],
    ['of many names', many('')],
    ['of many names with values', many('x')],
    ['of a long name', { ['a'.repeat(100_000)]: 'x' }],
  ])('%s', (_, values) => {
    const { headers, query } = fromEvent({ ...httpRequest, headers: values, queryStringParameters: values })!
    for (const map of [headers, query]) expect([...map].flat().join('').length).toBeLessThanOrEqual(32_768)
    const { headers: few, pathParameters } = httpRequest
    for (const one of [{ headers: values }, { queryStringParameters: values }, { pathParameters: values }])
      expect(fromEvent({ ...httpRequest, headers: few, pathParameters, ...one })!.isCut).toBe(true)
  })

  test('and says so of a path, too', () => {
    const isCut = (length: number) => fromEvent({ ...httpRequest, rawPath: `/${'p'.repeat(length)}` })!.isCut
    expect([isCut(10), isCut(40_000)]).toEqual([false, true])
  })

  test('and is not cut at the limit', () => {
    const isCut = (length: number) =>
      fromEvent({ ...httpRequest, queryStringParameters: { ab: 'x'.repeat(length) } })!.isCut
    expect([32_765, 32_766].map(isCut)).toEqual([false, true])
  })

  test('and its first entries are kept unchanged, up to this limit', () => {
    const { headers } = fromEvent({
      ...httpRequest,
      headers: { a: 'x'.repeat(32_000), b: 'y'.repeat(32_000), c: 'z' },
    })!
    expect([...headers].map(([name, value]) => [name, value.length])).toEqual([
      ['a', 32_000],
      ['b', 32_768 - 32_000 - 2 - 2 - 2],
    ])
  })
})

test('an empty text counts as missing', () => {
  const identity = { sourceIp: '', apiKeyId: '' }
  const request = fromEvent({
    ...restRequest,
    methodArn: '',
    requestContext: { ...restRequest.requestContext, identity },
  })
  expect(request).toMatchObject({ sourceIp: undefined, apiKeyId: undefined, methodArn: undefined })
})

test.each([
  ['null', null],
  ['nothing', undefined],
  ['a number', 7],
  ['a string', 'GET /'],
  ['a list', [restRequest]],
  ['an empty object', {}],
  ['a TOKEN event', token],
  ['an HTTP event without its context', { ...httpRequest, requestContext: null }],
  ['an HTTP event without a path', { ...httpRequest, rawPath: undefined }],
  ['a REST event without a method', { ...restRequest, httpMethod: undefined }],
  ['a method with a line break', { ...restRequest, httpMethod: 'GET\r\n' }],
  ['a REST event with a path that is no path', { ...restRequest, path: 'users' }],
])('%s is no request', (_, event) => {
  expect(fromEvent(event)).toBeUndefined()
})

describe('fuzz', () => {
  const keys = fc.constantFrom('__proto__', 'constructor', 'headers', 'requestContext', 'version', 'path', 'sourceIp')
  const junk = fc.anything({
    key: fc.oneof(keys, fc.string()),
    maxDepth: 4,
    withNullPrototype: true,
    withSparseArray: true,
    withMap: true,
  })
  const FIXTURES = [restRequest, restPreflight, httpRequest, httpDefaultPreflight, websocketConnect, token]

  /** A real event in which some fields, at any depth, are something else. */
  const spoiled = fc
    .tuple(fc.constantFrom<unknown>(...FIXTURES), fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 4 }))
    .map(([event, faults]) => {
      const copy = structuredClone(event)
      for (const [where, fault] of faults) {
        const places = placesIn(copy)
        const [parent, key] = places[where % places.length]!
        parent[key] = fault
      }
      return copy
    })

  test.each([
    ['anything', junk],
    ['anything that JSON can say', fc.jsonValue({ maxDepth: 5 })],
    ['events with faults', spoiled],
  ] as [string, fc.Arbitrary<unknown>][])('%s gives a well-formed request or nothing', (_, events) => {
    fc.assert(
      fc.property(events, (event) => {
        const request = fromEvent(event)
        if (request !== undefined) expectWellFormed(request)
      }),
      { numRuns: runs(1500, 7_000) },
    )
  })

  function expectWellFormed(request: GatewayRequest) {
    const { api, method, path, resource, headers, query, pathParameters, sourceIp, apiKeyId, methodArn, preflight } =
      request
    const texts = [method, path, resource, ...[headers, query, pathParameters].flatMap((map) => [...map].flat())]
    const optional = [sourceIp, apiKeyId, methodArn].filter((text) => text !== undefined)
    const wellFormed =
      ['rest', 'http', 'websocket'].includes(api) &&
      [...texts, ...optional].every((text) => typeof text === 'string') &&
      /^[^a-z\s]+$/.test(method) &&
      (api === 'websocket' ? path === '$connect' : path.startsWith('/')) &&
      [...headers.keys()].every((name) => name === name.toLowerCase()) &&
      (!preflight || method === 'OPTIONS') &&
      sizeOf(request) < 200_000
    if (!wellFormed) throw new Error(`not well-formed: ${JSON.stringify(request)}`)
  }
})

function placesIn(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== 'object' || value === null) return []
  const parent = value as Record<string, unknown>
  return Object.keys(parent).flatMap(
    (key) => [[parent, key], ...placesIn(parent[key])] as [Record<string, unknown>, string][],
  )
}

function sizeOf(request: GatewayRequest): number {
  const { headers, query, pathParameters, ...rest } = request
  return JSON.stringify([rest, ...[headers, query, pathParameters].map((map) => [...map])]).length
}
