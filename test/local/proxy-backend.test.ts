import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../local/gateway/api'
import type { Authorize } from '../../local/gateway/authorizer'
import type { Decided } from '../../local/gateway/decided'
import { startGateway } from '../../local/gateway/gateway'
import { httpApi } from '../../local/gateway/http-api'
import type { LoopbackServer } from '../../local/gateway/loopback-server'
import { backendUrl, createProxy } from '../../local/gateway/proxy-backend'
import { restApi } from '../../local/gateway/rest-api'
import { CATCH_ALL, type Route, routerOf } from '../../local/gateway/routes'
import { ALLOWED, NOW, SHAPES } from '../responses/decisions'
import { draft10, xRateLimit } from '../responses/expected-headers'
import { allow, allowing, denying } from './answers'
import { type OwnServer, ownServer, raw } from './own-server'

const gateways: LoopbackServer[] = []
const servers: { close(): void }[] = []
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close(0)))
  for (const server of servers.splice(0)) server.close()
})

interface Setup {
  readonly authorize?: Authorize
  readonly api?: Api
  readonly routes?: readonly Route[]
  /** Of the backend, with its path. */
  readonly url?: string
  readonly allowHosts?: readonly string[]
}

/** A gateway before a server. */
async function open(server: Pick<OwnServer, 'url' | 'close'>, { authorize = allowing, ...setup }: Setup = {}) {
  const { api = restApi, routes = CATCH_ALL, url = server.url, allowHosts = [] } = setup
  const logged: string[] = []
  const decided: Decided[] = []
  servers.push(server)
  const gateway = await startGateway({
    api,
    authorize,
    backend: createProxy(backendUrl(url), (text) => logged.push(text)),
    router: routerOf(routes, api.name === 'rest'),
    port: 0,
    log: (text) => logged.push(text),
    decided: (one) => decided.push(one),
    allowHosts,
  })
  gateways.push(gateway)
  return { url: `http://127.0.0.1:${gateway.port}`, port: gateway.port, logged, decided }
}

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe.each([restApi, httpApi])('a request that the authorizer denies never reaches the backend: $name', (api) => {
  test.each<[string, Authorize]>([
    ['a denial', denying],
    ['401', async () => Promise.reject(new Error('Unauthorized'))],
    ['an error', async () => Promise.reject(new Error('boom'))],
    ['nonsense', async () => 'Allow'],
  ])('%s, whatever the request', async (_, authorize) => {
    const server = await ownServer()
    const { url, port } = await open(server, { api, authorize })
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const body = /^P/.test(method) ? 'x'.repeat(100_000) : undefined
      const { status } = await fetch(`${url}/a%2Fb`, { method, body })
      expect([method, status]).toEqual([method, expect.any(Number)])
      expect(status).toBeGreaterThanOrEqual(400)
    }
    const answer = await raw(
      port,
      `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 (?!100)/) // it ends the connection, and asks for no body
    expect(server.seen).toEqual([])
  })

  test('a path or a method that the API does not have', async () => {
    const server = await ownServer()
    const { url, decided } = await open(server, { api, routes: [{ method: 'GET', resource: '/a', resourceId: 'a' }] })
    const statuses = await Promise.all(
      [fetch(`${url}/a`, { method: 'POST' }), fetch(`${url}/b`)].map(async (answer) => (await answer).status),
    )
    expect(statuses).toEqual(api.name === 'rest' ? [403, 403] : [404, 404])
    expect([server.seen, decided]).toEqual([[], []])
  })
})

describe.each([restApi, httpApi])('a request under a name that is not allowed reaches nobody: $name', (api) => {
  const refused = async (port: number, target: string, host: string | undefined) => {
    const head = [`POST ${target} HTTP/1.1`, ...(host === undefined ? [] : [`Host: ${host}`]), 'Connection: close']
    const answer = await raw(port, [...head, 'Content-Length: 2', '', 'ok'].join('\r\n'))
    return answer.startsWith('HTTP/1.1 200 ') ? `${host} at ${target} passed` : undefined
  }

  test('a page whose name leads here (DNS rebinding), in any spelling of the name or the target', async () => {
    const server = await ownServer()
    const asked = jest.fn(allowing)
    const { port } = await open(server, { api, authorize: asked, allowHosts: ['box.example'] })
    const hosts = [
      `evil.example:${port}`,
      'evil.example',
      `localhost.evil.example:${port}`,
      `localhost:${port}.evil.example`,
      `evil.example@localhost:${port}`,
      `localhost:${port}@evil.example:${port}`,
      `localhost.:${port}`,
      'localhost',
      'localhost:1',
      `127.1:${port}`,
      `0.0.0.0:${port}`,
      `[::]:${port}`,
      `evil.box.example:${port}`,
      new URL(server.url).host, // the server's own, which the gateway sets
      '',
      undefined,
    ]
    for (const host of hosts)
      for (const target of ['/', '/_local/../a', '//localhost/'])
        expect(await refused(port, target, host)).toBeUndefined()
    const own = `localhost:${port}`
    for (const target of [`http://evil.example:${port}/`, `http://${own}@evil.example/`, `HTTP://evil.example?${own}`])
      expect(await refused(port, target, own)).toBeUndefined()
    expect([server.seen, asked.mock.calls]).toEqual([[], []])
  })

  test('this machine’s names and those of --allow-host do', async () => {
    const server = await ownServer()
    const { port } = await open(server, { api, allowHosts: ['box.example', 'two.example:8443'] })
    const hosts = [`LOCALHOST:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]
    for (const host of [...hosts, 'box.example', `Box.example:${port}`, 'two.example:8443'])
      expect(await refused(port, '/', host)).toBe(`${host} at / passed`)
    expect(await refused(port, '/', 'two.example')).toBeUndefined()
    expect(new Set(server.seen.map(({ headers }) => headers.host))).toEqual(new Set([new URL(server.url).host]))
  })
})

describe('an allowed request reaches the backend as it was sent', () => {
  test.each([
    ['GET', '/a/b?x=1&x=2'],
    ['DELETE', '/a%2Fb/%c3%a4'],
    ['GET', '//double//slashes/'],
    ['GET', '/dots/../x?'],
    ['GET', '/?'],
    ['PROPFIND', '/'],
  ])('%s %s', async (method, path) => {
    const server = await ownServer()
    const { port } = await open(server)
    const answer = await raw(port, `${method} ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/)
    expect(server.seen.map(({ method, url }) => [method, url])).toEqual([[method, path]])
  })

  test('an absolute form is sent as its path', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const target = `http://localhost:${port}/a?b`
    await raw(port, `GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`)
    expect(server.seen[0]).toMatchObject({ url: '/a?b', headers: { host: `127.0.0.1:${server.port}` } })
  })

  test('with the path of --backend in front', async () => {
    const server = await ownServer()
    const { url } = await open(server, { url: `${server.url}/v1/` })
    await fetch(`${url}/a?b=c`)
    expect(server.seen[0]?.url).toBe('/v1/a?b=c')
  })

  test('with its headers, in their spelling, and without those of the connection', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    await raw(
      port,
      [
        `POST /a HTTP/1.1\r\nHost: localhost:${port}\r\nX-Two: a\r\nx-two: b\r\nCookie: a=1\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 5`,
        'Proxy-Authorization: secret\r\nX-Forwarded-For: 203.0.113.9\r\nX-Sluice-Tier: enterprise',
        'Connection: close, X-Hop, x-forwarded-for\r\nContent-Length: 2\r\n\r\nok',
      ].join('\r\n'),
    )
    const [{ rawHeaders, headers, body }] = server.seen as [OwnServer['seen'][number]]
    expect(rawHeaders).toEqual(expect.arrayContaining(['X-Two', 'a', 'x-two', 'b', 'Cookie', 'a=1']))
    for (const name of ['x-hop', 'te', 'keep-alive', 'proxy-authorization']) expect(headers).not.toHaveProperty(name)
    expect(headers).toMatchObject({ 'x-forwarded-for': '203.0.113.9, 127.0.0.1', 'content-length': '2' })
    expect(String(await body)).toBe('ok')
  })

  test('with the decision in X-Sluice headers, which only the gateway can set', async () => {
    const server = await ownServer()
    const { url } = await open(server)
    await fetch(url, { headers: { 'X-Sluice-Tier': 'enterprise', 'x-sluice-anything': '1' } })
    const told = Object.entries(server.seen[0]!.headers).filter(([name]) => name.startsWith('x-sluice-'))
    expect(Object.fromEntries(told)).toMatchObject({
      'x-sluice-tier': 'free',
      'x-sluice-subject': 'client:abc',
      'x-sluice-allowed': 'true',
      'x-sluice-remaining': '59',
      'x-sluice-retry-after': '0',
    })
    expect(told.map(([name]) => name)).not.toContain('x-sluice-anything')
  })

  test('whatever a client sends, a server that reads `_` or any other character as `-` finds what the gateway set', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const spellings = ['X_Sluice_Tier', 'x-sluice_tier', 'X.SLUICE.TIER', 'X_Sluice-Reservation', "X'Sluice~Anything"]
    const own = ['X_Forwarded_For', 'X-Forwarded_For', 'X_Forwarded_Proto', 'X_Forwarded_Port', 'X_Amzn_Trace_Id']
    const framing = ['Content_Length', 'Transfer_Encoding', 'Proxy_Authorization', 'Keep.Alive', 'Expect_', 'X_Hop']
    const sent = [...spellings, ...own, ...framing, 'X_Own', 'X_Forwarded_Host'].map((name) => `${name}: forged`)
    const head = ['GET / HTTP/1.1', `Host: localhost:${port}`, 'Connection: close, X-Hop', ...sent]
    await raw(port, [...head, '', ''].join('\r\n'))
    const [{ rawHeaders }] = server.seen as [OwnServer['seen'][number]]
    const variables = rawHeaders.flatMap((name, i) =>
      i % 2 === 0 ? [[name.toUpperCase().replace(/[^A-Z0-9]/g, '_'), rawHeaders[i + 1]!] as const] : [],
    )
    const forged = variables.filter(([, value]) => value === 'forged').map(([name]) => name)
    expect(forged).toEqual(['EXPECT_', 'X_OWN']) // nobody sets these
    const tier = variables.filter(([name]) => name === 'X_SLUICE_TIER')
    expect(tier).toEqual([['X_SLUICE_TIER', 'free']])
  })

  test.each(['Content-Length', 'chunks'])('with a large body, told by %s', async (by) => {
    const server = await ownServer((incoming, response) => incoming.pipe(response))
    const { url } = await open(server)
    const sent = randomBytes(9 * 2 ** 20)
    const body = by === 'chunks' ? new Blob([sent]).stream() : sent
    const answer = await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect(hash(new Uint8Array(await answer.arrayBuffer()))).toBe(hash(sent))
    expect(server.seen[0]?.headers[by === 'chunks' ? 'transfer-encoding' : 'content-length']).toBeDefined()
  })

  test('an empty POST says so, and a GET says nothing of a body', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    for (const method of ['POST', 'GET', 'DELETE'])
      await raw(port, `${method} / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`)
    expect(server.seen.map(({ headers }) => [headers['content-length'], headers['transfer-encoding']])).toEqual([
      ['0', undefined],
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  test('a body that waits for 100 Continue is asked for', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`,
    )
    const [first] = await once(socket, 'data')
    expect(String(first)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('body')
    const [second] = await once(socket, 'data')
    expect(String(second)).toMatch(/^HTTP\/1.1 200 OK/)
    expect(String(await server.seen[0]!.body)).toBe('body')
    expect(server.seen[0]!.headers).not.toHaveProperty('expect')
    socket.destroy()
  })
})

describe('what the backend answers reaches the client unchanged but for the documented headers', () => {
  const ADDED = /^(x-ratelimit-|ratelimit|retry-after|x-amzn-requestid|apigw-requestid)/

  test.each([
    [200, 'OK'],
    [201, 'Made It'],
    [301, 'Moved Permanently'],
    [404, 'Not Found'],
    [429, 'Slow Down'],
    [500, 'Internal Server Error'],
  ])('%i %s, with headers as they are spelled and repeated', async (status, message) => {
    const sent = [
      'X-Own',
      '1',
      'Set-Cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'Content-Length',
      '4',
      'Location',
      'http://x/',
    ]
    const server = await ownServer((_, response) => {
      response.sendDate = false
      response.writeHead(status, message, sent as never).end('\u0000\u00ff\u0001', 'utf8')
    })
    const { port } = await open(server)
    const answer = await raw(port, `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`)
    const [head, body] = answer.split('\r\n\r\n') as [string, string]
    const [line, ...headers] = head.split('\r\n')
    expect(line).toBe(`HTTP/1.1 ${status} ${message}`)
    expect(body).toBe('\u0000\u00c3\u00bf\u0001')
    const theirs = headers.filter((header) => !ADDED.test(header.toLowerCase()) && !/^connection: /i.test(header))
    expect(theirs).toEqual(sent.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${sent[i + 1]}`] : [])))
  })

  test('the headers of the decision are added, and those that the backend set are kept', async () => {
    const server = await ownServer((_, response) => response.writeHead(503, { 'X-RateLimit-Limit': 'own' }).end())
    const { url } = await open(server)
    const { headers } = await fetch(url)
    const expected = { ...xRateLimit(ALLOWED, NOW), ...draft10(ALLOWED, SHAPES), 'X-RateLimit-Limit': 'own' }
    for (const [name, value] of Object.entries(expected)) expect([name, headers.get(name)]).toEqual([name, value])
    expect(headers.get('x-amzn-requestid')).not.toBeNull()
  })

  test('HEAD, with the length that the body would have', async () => {
    const server = await ownServer((_, response) => response.writeHead(200, { 'Content-Length': 1234 }).end())
    const { url } = await open(server)
    const answer = await fetch(url, { method: 'HEAD' })
    expect([answer.headers.get('content-length'), await answer.text()]).toEqual(['1234', ''])
  })

  test('a stream, each part when it is sent', async () => {
    let next = () => {}
    const server = await ownServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('one')
      next = () => response.end('two')
    })
    const { url, decided } = await open(server)
    const reader = (await fetch(url)).body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('one')
    expect(decided).toHaveLength(1) // told when the head is sent, not at the end
    next()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('two')
    expect((await reader.read()).done).toBe(true)
  })

  test('many requests on one connection, each with its own answer', async () => {
    const server = await ownServer((incoming, response) => response.end(incoming.url))
    const { port } = await open(server)
    const asked = ['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
    const answer = await raw(
      port,
      `${asked.join('')}GET /4 HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`,
    )
    expect(answer.match(/\r\n\/\d/g)?.map((path) => path.trim())).toEqual(['/1', '/2', '/3', '/4'])
  })
})

describe('a backend that fails', () => {
  test('is not running: 502 says so', async () => {
    const server = await ownServer()
    server.close()
    const { url, logged, decided } = await open(server)
    const answer = await fetch(`${url}/a`, { method: 'POST', body: 'x'.repeat(1_000_000) })
    const message = `Bad Gateway: the backend ${server.url} does not listen: is it running?`
    expect([answer.status, await answer.json()]).toEqual([502, { message }])
    expect(logged).toEqual([`backend: POST /a: ${message.replace('Bad Gateway: ', '')}\n`])
    expect(decided).toMatchObject([{ status: 502, context: { tier: 'free' } }])
  })

  test.each([
    ['closes the connection', '', 'closed the connection before it answered'],
    ['answers something else', 'SSH-2.0-OpenSSH\r\n', 'failed before it answered: Error: Parse Error'],
  ])('%s: 502 says so', async (_, said, message) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(said))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { url } = await open({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: () => server.close(),
    })
    const answer = await fetch(url)
    expect([answer.status, ((await answer.json()) as { message: string }).message]).toEqual([
      502,
      expect.stringContaining(message),
    ])
  })

  test('breaks off in the middle: the client sees that it did', async () => {
    const server = await ownServer((_, response) => {
      response.writeHead(200, { 'Content-Length': 100 }).write('half')
      setImmediate(() => response.destroy())
    })
    const { url } = await open(server)
    await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow()
    expect((await fetch(`${url}/_local/backend-calls`)).status).toBe(200)
  })

  test('answers before it has read the body: the answer arrives', async () => {
    const server = await ownServer((_, response) => response.writeHead(413).end('enough'))
    const { url } = await open(server)
    const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(5_000_000) })
    expect([answer.status, await answer.text()]).toEqual([413, 'enough'])
  })
})

describe('what API Gateway does not take', () => {
  test.each(['Content-Length', 'chunks'])('a body of more than 10 MB, told by %s, is 413', async (by) => {
    const server = await ownServer()
    server.close()
    const own = await ownServer((incoming, response) => incoming.on('end', () => response.end()).resume())
    const { url } = await open(own)
    const large = new Uint8Array(10 * 2 ** 20 + 1)
    const body = by === 'chunks' ? new Blob([large]).stream() : large
    const answer = await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect([answer.status, await answer.json()]).toEqual([413, { message: 'Request Too Long' }])
    for (const { body } of own.seen) expect(await body).toBeUndefined() // it never saw the end
  })

  test('a WebSocket is told where to go, and never reaches the backend', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const upgrade = `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const socket = connect(port, '127.0.0.1', () => socket.write(upgrade))
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 501 [\s\S]*connect to the backend itself/)
    socket.destroy()
    expect(server.seen).toEqual([])
  })

  test('another upgrade is ignored, as clients offer HTTP/2', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const offer = 'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__'
    expect(await raw(port, `GET / HTTP/1.1\r\nHost: localhost:${port}\r\n${offer}\r\n\r\n`)).toMatch(/^HTTP\/1.1 200/)
    expect(server.seen[0]!.headers).not.toHaveProperty('http2-settings')
  })

  test('CONNECT', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const answer = await raw(port, `CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 405 /)
    expect(server.seen).toEqual([])
  })

  test('a request with two lengths is a 400, and reaches nobody', async () => {
    const server = await ownServer()
    const { port } = await open(server)
    const answer = await raw(
      port,
      `POST / HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(server.seen).toEqual([])
  })
})

test('a client that goes away takes its request to the backend with it', async () => {
  let gone = () => {}
  const left = new Promise<void>((resolve) => {
    gone = resolve
  })
  const server = await ownServer((_, response) => response.once('close', gone))
  const { url, logged } = await open(server)
  const client = httpRequest(url).on('error', () => {})
  client.end()
  while (server.seen.length === 0) await sleep(5)
  client.destroy()
  await left
  expect(logged).toEqual([])
})

test('a decision that delays the request delays it, and not the client that is gone', async () => {
  const server = await ownServer()
  const { url } = await open(server, { authorize: async () => allow('*', { delayMs: 150 }) })
  const before = Date.now()
  await fetch(url)
  expect(Date.now() - before).toBeGreaterThanOrEqual(140)
  await expect(fetch(url, { signal: AbortSignal.timeout(40) })).rejects.toThrow()
  await sleep(200)
  expect(server.seen).toHaveLength(1)
})

test('an OPTIONS method that the API names has no authorizer', async () => {
  const server = await ownServer((_, response) => response.writeHead(204).end())
  const routes = ['GET', 'OPTIONS'].map((method) => ({ method, resource: '/a', resourceId: 'a' }))
  const { url } = await open(server, { authorize: denying, routes })
  const answer: Response = await fetch(`${url}/a`, { method: 'OPTIONS' })
  expect([answer.status, (await fetch(`${url}/a`)).status]).toEqual([204, 429])
  expect(server.seen.map(({ method }) => method)).toEqual(['OPTIONS'])
})

test.each(['localhost:4000', 'ftp://localhost', 'http://localhost/?a', '4000'])('--backend %s is a mistake', (text) => {
  expect(() => backendUrl(text)).toThrow(`--backend must be a URL such as http://localhost:4000, got "${text}"`)
})
