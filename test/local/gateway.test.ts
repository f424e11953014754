import { connect as openSocket } from 'node:net'
import type { Api } from '../../local/gateway/api'
import type { Authorize } from '../../local/gateway/authorizer'
import { createBackend } from '../../local/gateway/backend'
import { startGateway } from '../../local/gateway/gateway'
import { httpApi } from '../../local/gateway/http-api'
import type { LoopbackServer } from '../../local/gateway/loopback-server'
import { restApi } from '../../local/gateway/rest-api'
import { ALLOWED, NOW, SHAPES } from '../responses/decisions'
import { draft10, xRateLimit } from '../responses/expected-headers'
import { allow, allowing, denying } from './answers'

const gateways: LoopbackServer[] = []
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close(0)))
})

/** What the tests read one by one of an event. */
interface Asked {
  readonly headers: Readonly<Record<string, string>>
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>
}

/** A gateway with this authorizer, the events that it was asked with, and what it logged. */
async function open(authorize: Authorize, api: Api = restApi) {
  const events: Asked[] = []
  const logged: string[] = []
  const gateway = await startGateway({
    api,
    authorize: (event) => {
      events.push(event as Asked)
      return authorize(event)
    },
    backend: createBackend(),
    port: 0,
    log: (text) => logged.push(text),
  })
  gateways.push(gateway)
  const url = `http://127.0.0.1:${gateway.port}`
  const calls = async () => (await fetch(`${url}/_local/backend-calls`)).json()
  return { url, events, logged, calls, gateway }
}

const throwing = (message: string) => async () => {
  throw new Error(message)
}

describe('a REST API', () => {
  test('calls the backend when allowed, which answers with the headers of the decision', async () => {
    const { url, calls } = await open(allowing)
    const response = await fetch(`${url}/hello`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ message: 'hello' })
    for (const [name, value] of Object.entries({ ...xRateLimit(ALLOWED, NOW), ...draft10(ALLOWED, SHAPES) })) {
      expect([name, response.headers.get(name)]).toEqual([name, value])
    }
    expect(response.headers.get('retry-after')).toBeNull()
    expect(await calls()).toEqual({ total: 1, routes: { 'GET /hello': 1 } })
  })

  test('turns a Deny into 429 with headers and a problem body, without a call to the backend', async () => {
    const { url, calls } = await open(denying)
    const response = await fetch(`${url}/hello`)
    expect(response.status).toBe(429)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('retry-after')).toBe('13')
    expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(await response.json()).toMatchObject({
      title: 'Too Many Requests',
      status: 429,
      policy: 'per-minute',
      retryAfter: '13',
    })
    expect(await calls()).toEqual({ total: 0, routes: {} })
  })

  test('answers 401 to the one message Unauthorized', async () => {
    const { url } = await open(throwing('Unauthorized'))
    const response = await fetch(`${url}/hello`)
    expect([response.status, await response.json()]).toEqual([401, { message: 'Unauthorized' }])
  })

  test.each<[string, Authorize]>([
    ['another error', throwing('unauthorized')],
    ['nothing', async () => undefined],
    ['a text', async () => 'Allow'],
    ['an HTTP API’s answer', async () => ({ isAuthorized: true })],
    ['no principal', async () => ({ ...allow('*'), principalId: undefined })],
    ['no policy', async () => ({ principalId: 'me' })],
    [
      'an unknown effect',
      async () => ({
        principalId: 'me',
        policyDocument: { Statement: [{ Effect: 'allow', Action: '*', Resource: '*' }] },
      }),
    ],
    ['a resource that is too long', async () => allow(`arn:${'a'.repeat(509)}`)],
    ['an object in the context', async () => allow('*', { nested: {} })],
    ['null in the context', async () => allow('*', { nothing: null })],
    ['a list as context', async () => allow('*', ['a'])],
  ])('answers 500 and says why in the log when the authorizer gives %s', async (_, authorize) => {
    const { url, logged, calls } = await open(authorize)
    const response = await fetch(`${url}/hello`)
    expect([response.status, await response.json()]).toEqual([500, { message: null }])
    expect(logged.join('')).toMatch(/^authorizer: /)
    expect(await calls()).toMatchObject({ total: 0 })
  })

  test.each([
    ['*', 200],
    ['arn:aws:execute-api:*:*:*/*/GET/hello', 200],
    ['arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/GET/hell?', 200],
    [['arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/POST/*', 'arn:*/GET/hello'], 200],
    ['arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/GET/hell', 429],
    ['arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/POST/*', 429],
    ['arn.aws.execute-api.us-east-1.000000000000.sluicelocal/local/GET/hello', 429],
  ])('takes an Allow for %j as %i', async (resource, status) => {
    const { url } = await open(async () => allow(resource))
    expect((await fetch(`${url}/hello`)).status).toBe(status)
  })

  test('calls the authorizer with the event that API Gateway sends', async () => {
    const { url, events, gateway } = await open(allowing)
    await fetch(`${url}/a%20b/c?x=1&x=2%203&y`, {
      headers: { 'X-Api-Key': 'secret', 'X-Forwarded-For': '203.0.113.9' },
    })
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      type: 'REQUEST',
      methodArn: 'arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/GET/a%20b/c',
      resource: '/{proxy+}',
      path: '/a%20b/c',
      httpMethod: 'GET',
      headers: { 'X-Forwarded-For': '203.0.113.9, 127.0.0.1', 'X-Forwarded-Port': String(gateway.port) },
      queryStringParameters: { x: '2 3', y: '' },
      multiValueQueryStringParameters: { x: ['1', '2 3'], y: [''] },
      pathParameters: { proxy: 'a%20b/c' },
      stageVariables: {},
      requestContext: {
        stage: 'local',
        path: '/local/a%20b/c',
        resourcePath: '/{proxy+}',
        identity: { sourceIp: '127.0.0.1', apiKeyId: null },
        requestId: expect.any(String),
        requestTime: expect.stringMatching(/^\d{2}\/[A-Z][a-z]{2}\/\d{4}:\d{2}:\d{2}:\d{2} \+0000$/),
      },
    })
  })

  test('keeps the spelling of header names, and all values of those that are repeated', async () => {
    const { gateway, events } = await open(allowing)
    await raw(
      gateway.port,
      `GET /hello HTTP/1.1\r\nHost: localhost:${gateway.port}\r\nX-API-Key: a\r\nx-api-key: b\r\nConnection: close\r\n\r\n`,
    )
    expect(events[0]?.headers).toMatchObject({ Host: `localhost:${gateway.port}`, 'X-API-Key': 'b' })
    expect(events[0]?.multiValueHeaders).toMatchObject({ Host: [`localhost:${gateway.port}`], 'X-API-Key': ['a', 'b'] })
    expect(Object.keys(events[0]!.headers)).not.toContain('Connection')
  })

  test('hands over a path that starts with two slashes as it is', async () => {
    const { gateway, events } = await open(allowing)
    await raw(
      gateway.port,
      `GET //evil.example/hello HTTP/1.1\r\nHost: localhost:${gateway.port}\r\nConnection: close\r\n\r\n`,
    )
    expect(events[0]).toMatchObject({ path: '//evil.example/hello', resource: '/{proxy+}' })
  })

  test('says of itself nothing to other names and origins; the API is open to other origins', async () => {
    const { url, gateway } = await open(allowing)
    for (const name of ['backend-calls', 'denials', 'gateway']) {
      const asked = `GET /_local/${name} HTTP/1.1\r\nHost: evil.example:${gateway.port}\r\nConnection: close\r\n\r\n`
      expect(await raw(gateway.port, asked)).toContain('403 Forbidden')
      expect((await fetch(`${url}/_local/${name}`, { headers: { Origin: 'http://evil.example' } })).status).toBe(403)
      expect((await fetch(`${url}/_local/${name}`)).status).toBe(200)
    }
    expect((await fetch(`${url}/hello`, { headers: { Origin: 'http://evil.example' } })).status).toBe(200)
  })

  test('answers 500 and lives on when a header cannot be sent', async () => {
    const { url } = await open(async () => ({ ...allow('arn:other'), context: { retryAfter: 'a\nb' } }))
    expect((await fetch(`${url}/hello`)).status).toBe(500)
    expect((await fetch(`${url}/_local/backend-calls`)).status).toBe(200)
  })
})

describe('an HTTP API', () => {
  test('calls the backend when allowed, which finds the context under lambda', async () => {
    const { url, calls } = await open(allowing, httpApi)
    const response = await fetch(`${url}/search?q=a`)
    expect(await response.json()).toEqual({ query: 'a', results: [] })
    expect(response.headers.get('x-ratelimit-remaining')).toBe('59')
    expect(await calls()).toEqual({ total: 1, routes: { 'GET /search': 1 } })
  })

  test('turns every denial into the same 403, whatever the context says', async () => {
    const { url, calls } = await open(denying, httpApi)
    const response = await fetch(`${url}/hello`)
    expect([response.status, await response.json()]).toEqual([403, { message: 'Forbidden' }])
    expect(response.headers.get('retry-after')).toBeNull()
    expect(await calls()).toMatchObject({ total: 0 })
  })

  test.each<[string, Authorize]>([
    ['an error', throwing('boom')],
    ['a policy', async () => allow('*')],
    ['a text for a truth', async () => ({ isAuthorized: 'true' })],
    ['nothing', async () => null],
  ])('answers 500 when the authorizer gives %s', async (_, authorize) => {
    const { url } = await open(authorize, httpApi)
    const response = await fetch(`${url}/hello`)
    expect([response.status, await response.json()]).toEqual([500, { message: 'Internal Server Error' }])
  })

  test('calls the authorizer with the event of payload 2.0', async () => {
    const { url, events } = await open(allowing, httpApi)
    await fetch(`${url}/batch?x=1&x=2`, {
      method: 'POST',
      body: 'ignored',
      headers: { 'X-Api-Key': 'secret', Cookie: 'a=1; b=2' },
    })
    expect(events[0]).toMatchObject({
      version: '2.0',
      type: 'REQUEST',
      routeArn: 'arn:aws:execute-api:us-east-1:000000000000:sluicelocal/$default/POST/batch',
      identitySource: null,
      routeKey: 'POST /batch',
      rawPath: '/batch',
      rawQueryString: 'x=1&x=2',
      cookies: ['a=1', 'b=2'],
      headers: { 'x-api-key': 'secret' },
      queryStringParameters: { x: '1,2' },
      requestContext: {
        http: { method: 'POST', path: '/batch', sourceIp: '127.0.0.1' },
        stage: '$default',
        timeEpoch: expect.any(Number),
      },
    })
    expect(events[0]?.headers).not.toHaveProperty('cookie')
  })

  test('sends what no route matches to $default', async () => {
    const { url, events } = await open(allowing, httpApi)
    await fetch(`${url}/`)
    expect(events[0]).toMatchObject({ routeKey: '$default', requestContext: { routeKey: '$default' } })
    expect(events[0]).not.toHaveProperty('queryStringParameters')
  })
})

test('a preflight is answered without the authorizer or the backend', async () => {
  const { url, events, calls } = await open(denying)
  const response = await fetch(`${url}/hello`, { method: 'OPTIONS' })
  expect(response.status).toBe(204)
  expect(response.headers.get('access-control-allow-headers')).toMatch(/X-Api-Key/)
  expect(events).toHaveLength(0)
  expect(await calls()).toEqual({ total: 0, routes: {} })
})

describe('closing', () => {
  test('lets a request under way finish, and does not wait for a connection on which nothing was asked', async () => {
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { url, gateway } = await open(async (event) => {
      arrived()
      await held
      return allowing(event)
    })
    const silent = openSocket(gateway.port, '127.0.0.1')
    await new Promise((resolve) => silent.once('connect', resolve))
    const response = fetch(`${url}/hello`)
    await arrival
    const closed = gateway.close(10_000)
    release()
    expect((await response).status).toBe(200)
    await closed
    await expect(fetch(`${url}/hello`)).rejects.toThrow()
    silent.destroy()
  })

  test('stops waiting when the grace is over', async () => {
    const { url, gateway } = await open(() => new Promise(() => {}))
    const response = fetch(`${url}/hello`)
    response.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 50))
    await gateway.close(50)
    await expect(response).rejects.toThrow()
  })
})

/** Sends text as it is, which no HTTP client would, and returns the response as text. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = openSocket(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('end', () => resolve(received)).on('error', reject)
  })
}
