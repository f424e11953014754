import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as openSocket, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientOptions, WebSocket } from 'ws'
import type { Authorize } from '../../local/gateway/authorizer'
import type { Decided } from '../../local/gateway/decided'
import type { LoopbackServer } from '../../local/gateway/loopback-server'
import { handlerBackend, type WebSocketBackend } from '../../local/web-socket/backends'
import { startWebSocketGateway } from '../../local/web-socket/gateway'
import { routeSelection } from '../../local/web-socket/route-selection'
import { allow, allowing, denying } from './answers'

const gateways: LoopbackServer[] = []
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close(0)))
})

type Event = Parameters<WebSocketBackend>[0]

/** A gateway before a function, and what both were asked with. */
async function open(authorize: Authorize = allowing, answer: (event: Event) => unknown = () => ({ statusCode: 200 })) {
  const asked: object[] = []
  const events: Event[] = []
  const logged: string[] = []
  const decided: Decided[] = []
  const gateway = await startWebSocketGateway({
    authorize: (event) => {
      asked.push(event)
      return authorize(event)
    },
    backend: async (event) => {
      events.push(event)
      return (await answer(event)) as never
    },
    selectRoute: routeSelection('$request.body.action', ['say']),
    port: 0,
    log: (text) => logged.push(text),
    decided: (one) => decided.push(one),
    about: { here: true },
  })
  gateways.push(gateway)
  const types = () => events.map(({ requestContext }) => requestContext.eventType)
  return { port: gateway.port, gateway, asked, events, types, logged, decided }
}

/** A client that is connected, or the answer that refused it. */
async function client(
  port: number,
  {
    path = '/local',
    protocols = [] as string[],
    ...options
  }: ClientOptions & { path?: string; protocols?: string[] } = {},
) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, options)
  const heard: string[] = []
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  socket.on('message', (data) => heard.push(String(data)))
  const refused = await new Promise<{ status: number; body: unknown } | undefined>((resolve, reject) => {
    socket.on('open', () => resolve(undefined))
    socket.on('error', reject)
    socket.on('unexpected-response', async (_, response) => {
      let body = ''
      for await (const chunk of response) body += chunk
      resolve({ status: response.statusCode!, body: JSON.parse(body) })
    })
  })
  const next = async (count = heard.length + 1) => {
    while (heard.length < count) await Promise.race([new Promise((resolve) => socket.once('message', resolve)), closed])
    return heard[count - 1]
  }
  const say = async (text: string) => {
    const answer = next()
    socket.send(text)
    return answer
  }
  return { socket, heard, closed, refused, say }
}

const IDS = { connectionId: expect.any(String), requestId: expect.any(String) }

describe('a connection', () => {
  test('is let in, and every event of it has the authorizer’s context, as texts', async () => {
    const { port, asked, events, types, decided } = await open(allowing, ({ requestContext: { routeKey }, body }) => ({
      statusCode: 200,
      body: `${routeKey}: ${body}`,
    }))
    const { say, socket, closed } = await client(port, { path: '/local?room=1&room=2', headers: { 'X-Api-Key': 'k' } })
    expect(await say('{"action":"say"}')).toBe('say: {"action":"say"}')
    expect(await say('{"action":"sing"}')).toBe('$default: {"action":"sing"}')
    expect(await say('no json')).toBe('$default: no json')
    socket.close(4001, 'enough')
    await closed
    while (events.length < 5) await new Promise(setImmediate)
    expect(types()).toEqual(['CONNECT', 'MESSAGE', 'MESSAGE', 'MESSAGE', 'DISCONNECT'])
    expect(asked).toEqual([
      expect.objectContaining({
        type: 'REQUEST',
        methodArn: 'arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/$connect',
        headers: expect.objectContaining({ 'X-Api-Key': 'k' }),
        multiValueQueryStringParameters: { room: ['1', '2'] },
        requestContext: expect.objectContaining({ eventType: 'CONNECT', routeKey: '$connect', stage: 'local' }),
      }),
    ])
    const contexts = events.map(({ requestContext }) => requestContext)
    expect(new Set(contexts.map(({ connectionId }) => connectionId)).size).toBe(1)
    expect(new Set(contexts.map(({ requestId }) => requestId)).size).toBe(5)
    for (const { authorizer } of contexts)
      expect(authorizer).toMatchObject({ allowed: 'true', tier: 'free', principalId: 'client:abc' })
    expect(contexts[1]).toMatchObject({ messageId: contexts[1]!.requestId, identity: { sourceIp: '127.0.0.1' } })
    expect(contexts[4]).toMatchObject({ disconnectStatusCode: 4001, disconnectReason: 'enough' })
    expect(events[1]).not.toHaveProperty('headers')
    expect(decided.map(({ status, path }) => [status, path])).toEqual([
      [101, '$connect'],
      [200, 'say'],
      [200, '$default'],
      [200, '$default'],
    ])
  })

  test.each<[string, Authorize, number, string]>([
    [
      'denies',
      denying,
      403,
      'User is not authorized to access this resource with an explicit deny in an identity-based policy',
    ],
    ['allows something else', async () => allow('arn:aws:execute-api:*:*:*/other/*'), 403, 'User is not authorized'],
    ['says Unauthorized', async () => Promise.reject(new Error('Unauthorized')), 401, 'Unauthorized'],
    ['fails', async () => Promise.reject(new Error('boom')), 500, 'Internal server error'],
    ['answers nonsense', async () => 7, 500, 'Internal server error'],
  ])('is refused where the authorizer %s, and reaches no function', async (_, authorize, status, message) => {
    const { port, events, decided } = await open(authorize)
    const { refused } = await client(port)
    expect(refused).toEqual({ status, body: { message: expect.stringContaining(message), ...IDS } })
    expect([events, decided.map((one) => one.status)]).toEqual([[], [status]])
  })

  test.each<[string, () => unknown, number]>([
    ['answers 403', () => ({ statusCode: 403 }), 403],
    ['fails', () => Promise.reject(new Error('boom')), 500],
  ])('is refused where $connect %s, without $disconnect', async (_, answer, status) => {
    const { port, types } = await open(allowing, answer)
    expect((await client(port)).refused?.status).toBe(status)
    expect(types()).toEqual(['CONNECT'])
  })

  test('has the protocol that $connect chose, and no other', async () => {
    const chosen = { statusCode: 200, headers: { 'sec-websocket-protocol': 'b' } }
    const { port } = await open(allowing, ({ requestContext: { eventType } }) =>
      eventType === 'CONNECT' ? chosen : {},
    )
    expect((await client(port, { protocols: ['a', 'b'] })).socket.protocol).toBe('b')
  })

  test('is refused on a path that is no stage, and HTTP requests are', async () => {
    const { port, events } = await open()
    expect((await client(port, { path: '/other' })).refused).toMatchObject({
      status: 403,
      body: { message: 'Forbidden' },
    })
    const response = await fetch(`http://127.0.0.1:${port}/local`)
    expect([response.status, events]).toEqual([403, []])
    expect(await (await fetch(`http://127.0.0.1:${port}/_local/gateway`)).json()).toEqual({ here: true })
    const foreign = { headers: { Origin: 'http://evil.example' } }
    expect((await fetch(`http://127.0.0.1:${port}/_local/gateway`, foreign)).status).toBe(403)
    expect(await (await fetch(`http://127.0.0.1:${port}/_local/`)).json()).toEqual({
      message: expect.stringContaining('no console'),
    })
    expect(await (await fetch(`http://127.0.0.1:${port}/_local/backend-calls`)).json()).toEqual({
      total: 0,
      routes: {},
    })
  })

  test('whose client has gone while it was decided about ends at once', async () => {
    let client: Socket | undefined
    const { port, types, events } = await open(async (event) => {
      const closed = new Promise((resolve) => client!.once('close', resolve))
      client!.destroy()
      await closed
      return allowing(event)
    })
    const handshake = ['GET / HTTP/1.1', `Host: localhost:${port}`, 'Connection: Upgrade', 'Upgrade: websocket']
    const key = `Sec-WebSocket-Key: ${'A'.repeat(22)}==`
    client = openSocket(port, '127.0.0.1')
    client.write([...handshake, 'Sec-WebSocket-Version: 13', key, '', ''].join('\r\n'))
    for (let turns = 0; events.length < 2 && turns < 1000; turns++)
      await new Promise((resolve) => setTimeout(resolve, 1))
    expect(types()).toEqual(['CONNECT', 'DISCONNECT'])
  })

  test('under a name that is not this machine’s is refused before anything is asked, and so is a call to a connection', async () => {
    const { port, asked, events } = await open()
    const first = (text: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = openSocket(port, '127.0.0.1')
        socket.write(text)
        socket.once('data', (data) => resolve(String(data))).once('error', reject)
      })
    const host = `Host: evil.example:${port}\r\n`
    const key = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n`
    const answer = await first(`GET / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`)
    expect([answer.slice(0, 13), asked, events]).toEqual(['HTTP/1.1 403 ', [], []])
    expect(answer).toContain('--allow-host')
    const call = await first(`DELETE /local/@connections/x HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)
    expect(call.slice(0, 13)).toBe('HTTP/1.1 403 ') // and not 410
  })

  test('that is no handshake is answered, and harms nobody', async () => {
    const { port, asked, events } = await open()
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = openSocket(port, '127.0.0.1')
      socket.write(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
      socket.once('data', (data) => resolve(String(data))).once('error', reject)
    })
    expect([answer.slice(0, 13), asked, events]).toEqual(['HTTP/1.1 400 ', [], []])
    expect((await client(port)).refused).toBeUndefined()
  })
})

describe('a message', () => {
  test('that its function fails on is answered as on AWS, and the connection stays', async () => {
    const { port, logged } = await open(allowing, ({ body }) => {
      if (body === 'bad') throw new Error('boom')
      return { statusCode: 200, ...(body !== undefined && { body }) }
    })
    const { say } = await client(port)
    expect(JSON.parse((await say('bad'))!)).toEqual({ message: 'Internal server error', ...IDS })
    expect(await say('good')).toBe('good')
    expect(logged.join()).toContain('backend: $default: Error: boom')
  })

  test.each<[string, string | Buffer, number]>([
    ['of more than 128 KB', 'x'.repeat(128 * 1024 + 1), 1009],
    ['of bytes', Buffer.from([1, 2]), 1003],
  ])('%s ends the connection', async (_, data, code) => {
    const { port, types } = await open()
    const { socket, closed } = await client(port)
    socket.send(data)
    expect([await closed, types()]).toEqual([code, expect.not.arrayContaining(['MESSAGE'])])
  })
})

describe('@connections', () => {
  test('tells of a connection, posts to it and closes it; one that is gone is 410', async () => {
    const { port, events } = await open()
    const { heard, closed } = await client(port, { headers: { 'User-Agent': 'me' } })
    const id = encodeURIComponent(String(events[0]!.requestContext.connectionId))
    const call = async (method: string, body?: string, to = `/local/@connections/${id}`) =>
      fetch(`http://localhost:${port}${to}`, { method, ...(body !== undefined && { body }) })
    expect((await call('POST', 'hällo')).status).toBe(200)
    expect((await call('POST', 'x'.repeat(128 * 1024 + 1))).status).toBe(413)
    expect((await call('PUT')).status).toBe(405)
    expect(await (await call('GET', undefined, `/@connections/${id}`)).json()).toEqual({
      connectedAt: expect.stringMatching(/Z$/),
      identity: { sourceIp: '127.0.0.1', userAgent: 'me' },
      lastActiveAt: expect.stringMatching(/Z$/),
    })
    expect((await call('DELETE')).status).toBe(204)
    expect([await closed, heard]).toEqual([1000, ['hällo']])
    for (const method of ['POST', 'GET', 'DELETE']) expect((await call(method)).status).toBe(410)
    expect((await call('GET', undefined, '/local/@connections/%')).headers.get('x-amzn-errortype')).toBe(
      'GoneException',
    )
  })
})

test('closing the gateway closes its connections, of whom each gets its $disconnect', async () => {
  const { port, gateway, types } = await open()
  const clients = [await client(port), await client(port)]
  await gateway.close(1000)
  expect(await Promise.all(clients.map(({ closed }) => closed))).toEqual([1001, 1001])
  expect(types()).toEqual(['CONNECT', 'CONNECT', 'DISCONNECT', 'DISCONNECT'])
})

test.each([
  ['$request.body.action', '{"action":"say"}', 'say'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as API Gateway writes it, too
  ['${request.body.action}', '{"action":"say"}', 'say'],
  ['$request.body.a.b', '{"a":{"b":"say"}}', 'say'],
  ['$request.body.a.b', '{"a":null}', '$default'],
  ['$request.body.action', '{"action":"$connect"}', '$default'],
  ['$request.body.action', '{"action":["say"]}', '$default'],
  ['$request.body.constructor', '{}', '$default'],
  ['$request.body.action', '', '$default'],
])('by %s the message %s is for %s', (expression, body, key) => {
  expect(routeSelection(expression, ['say', 'sing'])(body)).toBe(key)
})

describe('a function of one’s own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-handler-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  test('gets events and a context, as in Lambda', async () => {
    const text =
      'exports.handler = async ({ body }, context) => ({ body: body + (context.getRemainingTimeInMillis() > 9000) })'
    const backend = handlerBackend(file('good.js', text))
    expect(await backend({ body: 'hi' } as never)).toEqual({ body: 'hitrue' })
    expect(await handlerBackend(file('empty.js', 'exports.handler = () => {}'))({} as never)).toEqual({})
  })

  test.each([
    ['no-such.js', undefined, /^--handler .*no-such\.js cannot be loaded: .*Cannot find module/],
    ['broken.js', 'throw new Error("no table")', /cannot be loaded: no table$/],
    ['other.js', 'exports.main = 1', /must export a function as "handler"/],
  ])('that is in %s is reported', (name, text, problem) => {
    const at = text === undefined ? join(folder, name) : file(name, text)
    expect(() => handlerBackend(at)).toThrow(problem)
  })
})

test.each(['action', '$request.header.x', '$request.body.', ''])('%j selects no route', (expression) => {
  expect(() => routeSelection(expression, [])).toThrow('--route-selection must look like "$request.body.action"')
})
