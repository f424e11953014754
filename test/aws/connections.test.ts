import dns from 'node:dns'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import type { EndSignal } from '../../limiter/deadline'
import { DirectCalls } from '../../limiter/stores/direct-calls'
import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'
import { SELF_SIGNED } from '../faults/certificate'
import { answerOf, delivered, RawServer, reply, until } from './server'

const access = { region: 'eu-west-1', credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' } }
const ITEM = { Item: { n: { N: '1' } } }
const ANSWER = answerOf(JSON.stringify(ITEM))

let server: RawServer
let calls: DirectCalls
beforeEach(async () => {
  server = new RawServer()
  await server.listen()
  server.respond = (socket) => void socket.write(ANSWER)
  calls = new DirectCalls({ ...access, endpoint: server.endpoint })
})
afterEach(async () => {
  calls.destroy()
  await server.close()
})

const get = (signal?: EndSignal, from = calls) =>
  from.call('GetItem', { TableName: 't', Key: {} }, signal && { signal })
const failureOf = (call: Promise<unknown>) => call.catch((error) => toStoreUnavailable(error, 't').reason)

describe('connections', () => {
  it('are kept and used again', async () => {
    for (let i = 0; i < 20; i++) await get()
    expect(server.sockets).toBe(1)
  })

  it('are kept after a refusal, too', async () => {
    server.respond = (socket) => void socket.write(answerOf('{"__type":"x#ValidationException"}', '400 Bad Request'))
    for (let i = 0; i < 5; i++) expect(await failureOf(get())).toBe('refused')
    expect(server.sockets).toBe(1)
  })

  it.each([undefined, 1, 3])('are bounded, and further calls wait for one: maxSockets %p', async (maxSockets) => {
    const bounded = new DirectCalls({ ...access, endpoint: server.endpoint, ...(maxSockets && { maxSockets }) })
    let most = 0
    server.respond = async (socket) => {
      most = Math.max(most, server.open.size)
      await delivered()
      socket.write(ANSWER)
    }
    await Promise.all(Array.from({ length: 120 }, () => get(undefined, bounded)))
    expect([most, server.sockets, server.requests]).toEqual([maxSockets ?? 50, maxSockets ?? 50, 120])
    bounded.destroy()
  })

  it('are not opened for a call that was given up while it waited for one', async () => {
    const bounded = new DirectCalls({ ...access, endpoint: server.endpoint, maxSockets: 1 })
    const answers: (() => void)[] = []
    server.respond = (socket) => void answers.push(() => socket.write(ANSWER))
    const first = get(undefined, bounded)
    await until(() => server.requests === 1)
    const end = new AbortController()
    const second = get(end.signal as EndSignal, bounded)
    await delivered()
    end.abort()
    await expect(second).rejects.toMatchObject({ name: 'AbortError' })
    const third = get(undefined, bounded)
    answers[0]!()
    await first
    await until(() => server.requests === 2)
    answers[1]!()
    expect(await third).toMatchObject(ITEM)
    expect([server.requests, server.sockets]).toEqual([2, 1])
    bounded.destroy()
  })

  it('that the server has ended while they were idle are not used again', async () => {
    for (let i = 1; i <= 5; i++) {
      expect(await get()).toMatchObject({ $metadata: { requestId: 'R1' } })
      for (const socket of server.open) socket.end()
      await until(() => server.open.size === 0)
      await delivered()
      expect(server.sockets).toBe(i)
    }
  })

  it('that the server says it will end are not used again', async () => {
    server.respond = (socket) => void socket.end(answerOf(JSON.stringify(ITEM), '200 OK', 'connection: close\r\n'))
    for (let i = 0; i < 3; i++) expect(await get()).toMatchObject(ITEM)
    expect(server.sockets).toBe(3)
  })
})

describe('a server whose certificate', () => {
  let port: number
  let requests = 0
  const secure = createServer({ ...SELF_SIGNED }, (_, response) => {
    requests++
    reply(response, 200, ITEM)
  })
  const { lookup } = dns
  const { connect } = tls

  beforeAll(async () => {
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    port = (secure.address() as AddressInfo).port
  })
  beforeEach(() => {
    requests = 0
  })
  afterEach(() => {
    Object.assign(dns, { lookup })
    Object.assign(tls, { connect })
  })
  afterAll(() => void secure.close())

  const call = async (host: string) => {
    const secured = new DirectCalls({ ...access, endpoint: `https://${host}:${port}` })
    return get(undefined, secured).finally(() => secured.destroy())
  }
  /** Has this process know the test's authority, as by NODE_EXTRA_CA_CERTS, and find each name on this machine. */
  const trust = () => {
    const at = (_: string, options: { all?: boolean }, callback: (...found: unknown[]) => void) =>
      options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)
    const trusting = (options: object, ...rest: never[]) => connect({ ...options, ca: SELF_SIGNED.cert }, ...rest)
    Object.assign(dns, { lookup: at })
    Object.assign(tls, { connect: trusting })
  }

  it('is signed by nobody who is trusted is refused, and gets no request', async () => {
    await expect(call('127.0.0.1')).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    expect(await failureOf(call('127.0.0.1'))).toBe('unreachable')
    expect(requests).toBe(0)
  })

  it('has another name is refused, and gets no request', async () => {
    trust()
    for (const host of ['table.example', 'a.b.sluice.test', 'sluice.test', '127.0.0.1'])
      await expect(call(host)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    expect(await failureOf(call('table.example'))).toBe('unreachable')
    expect(requests).toBe(0)
  })

  it('is trusted and has its name is called', async () => {
    trust()
    expect(await call('table.sluice.test')).toMatchObject(ITEM)
    expect(requests).toBe(1)
  })

  it('is missing, since it speaks no TLS, is refused', async () => {
    const plain = new DirectCalls({ ...access, endpoint: server.endpoint.replace('http', 'https') })
    server.respond = (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    setTimeout(() => [...server.open].map((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')), 20)
    expect(await failureOf(get(undefined, plain))).toBe('unreachable')
    plain.destroy()
  })
})
