import { createLimiter, DynamoDbStore } from '../../limiter'
import { SignedCalls } from '../../limiter/aws/signed-calls'
import type { EndSignal } from '../../limiter/deadline'
import { DirectCalls } from '../../limiter/stores/direct-calls'
import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'
import { inTime } from '../in-time'
import { answerOf, delivered, RawServer, until } from './server'

const access = { region: 'eu-west-1', credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' } }
const ITEM = { Item: { pk: { S: 'größe 😀' }, n: { N: '1' } } }
const BODY = Buffer.from(JSON.stringify(ITEM))
const HEAD = 'HTTP/1.1 200 OK\r\nx-amzn-requestid: R1\r\n'
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
/** The body as two chunks, parted at a byte, which may be in the middle of a character. */
const chunkedAt = (at: number) =>
  Buffer.concat([
    Buffer.from(`${HEAD}transfer-encoding: chunked\r\n\r\n`),
    ...[BODY.subarray(0, at), BODY.subarray(at)].filter(({ length }) => length > 0).map(chunk),
    Buffer.from('0\r\n\r\n'),
  ])
const WITH_LENGTH = answerOf(BODY)
const CHUNKED = chunkedAt(15)

let server: RawServer
let calls: DirectCalls
beforeEach(async () => {
  server = new RawServer()
  await server.listen()
  calls = new DirectCalls({ ...access, endpoint: server.endpoint })
})
afterEach(async () => {
  calls.destroy()
  await server.close()
})

const get = (signal?: EndSignal, from = calls) =>
  from.call('GetItem', { TableName: 't', Key: {} }, signal && { signal })
const failureOf = (call: Promise<unknown>) =>
  call.then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    (error) => toStoreUnavailable(error, 't').reason,
  )

describe('an answer is read in full', () => {
  it.each([
    ['content-length', WITH_LENGTH],
    ['chunked', CHUNKED],
  ])('wherever the network parts it: %s', async (_, bytes) => {
    for (let at = 1; at < bytes.length; at++) {
      server.respond = async (socket) => {
        socket.setNoDelay().write(bytes.subarray(0, at))
        await delivered()
        socket.write(bytes.subarray(at))
      }
      expect(await get()).toMatchObject(ITEM)
    }
    expect(server.sockets).toBe(1)
  })

  it('wherever its chunks end, in the middle of a character too', async () => {
    for (let at = 0; at <= BODY.length; at++) {
      server.respond = (socket) => void socket.write(chunkedAt(at))
      expect(await get()).toMatchObject(ITEM)
    }
  })

  it('if it drips byte by byte', async () => {
    server.respond = async (socket) => {
      for (const byte of WITH_LENGTH) {
        socket.setNoDelay().write(Buffer.from([byte]))
        await delivered()
      }
    }
    expect(await get()).toMatchObject(ITEM)
  })

  it('if it ends with its connection', async () => {
    server.respond = (socket) => void socket.end(Buffer.concat([Buffer.from(`${HEAD}connection: close\r\n\r\n`), BODY]))
    expect(await get()).toMatchObject(ITEM)
  })

  it('if it is as long as DynamoDB’s longest', async () => {
    const item = { Item: { pk: { S: 'x'.repeat(16 * 2 ** 20) } } }
    server.respond = (socket) => void socket.write(answerOf(JSON.stringify(item)))
    expect((await get()).Item?.pk?.S).toHaveLength(16 * 2 ** 20)
  })
})

describe('an answer is never taken for another one', () => {
  it.each([
    ['content-length', 'ended', WITH_LENGTH],
    ['content-length', 'reset', WITH_LENGTH],
    ['chunked', 'ended', CHUNKED],
    ['chunked', 'reset', CHUNKED],
  ] as const)('if it is cut at any byte: %s, the connection is %s', async (_, how, bytes) => {
    const failures = new Set<string>()
    for (let at = 0; at < bytes.length; at++) {
      server.respond = async (socket) => {
        socket.write(bytes.subarray(0, at))
        await delivered()
        if (how === 'ended') socket.end()
        else socket.resetAndDestroy()
      }
      failures.add(await failureOf(get()))
    }
    expect([...failures].filter((reason) => !/^(unreachable|timeout)$/.test(reason))).toEqual([])
  })

  it('if it is cut where it says no length, and its JSON tells', async () => {
    for (let at = 0; at < BODY.length; at++) {
      server.respond = (socket) =>
        void socket.end(Buffer.concat([Buffer.from(`${HEAD}connection: close\r\n\r\n`), BODY.subarray(0, at)]))
      expect(await failureOf(get())).toBe('malformed')
    }
  })

  it.each([
    [
      'longer than it says',
      answerOf(BODY)
        .toString('latin1')
        .replace(/: \d+\r/, ': 10\r'),
    ],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x-filler: y\r\n'.repeat(3000)}`],
    ['a chunk of no length', `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['two lengths', `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `],
  ])('if it is %s', async (_, text) => {
    server.respond = (socket) => void socket.end(text, 'latin1')
    expect(await failureOf(get())).toMatch(/^(malformed|unreachable|timeout)$/)
  })

  it('if it comes after its own call was given up: the next call has a connection of its own', async () => {
    const signal: EndSignal = { aborted: false, onabort: null }
    let late = () => {}
    server.respond = (socket, count) => {
      const answer = answerOf(JSON.stringify({ Item: { n: { N: String(count) } } }))
      if (count === 1) late = () => void socket.write(answer)
      else socket.write(answer)
    }
    const first = failureOf(get(signal))
    await until(() => server.requests === 1)
    ;(signal.onabort as () => void)()
    late()
    expect(await first).toBe('timeout')
    expect(await get()).toMatchObject({ Item: { n: { N: '2' } } })
    expect(server.sockets).toBe(2)
  })

  it('if more follows it that nobody asked for', async () => {
    server.respond = (socket, count) => {
      const answer = answerOf(JSON.stringify({ Item: { n: { N: String(count) } } }))
      socket.write(count === 1 ? Buffer.concat([answer, answerOf('{"Item":{"n":{"N":"99"}}}')]) : answer)
    }
    expect(await get()).toMatchObject({ Item: { n: { N: '1' } } })
    await delivered()
    expect(await get()).toMatchObject({ Item: { n: { N: '2' } } })
  })
})

describe('an answer that is too long', () => {
  const short = () =>
    new SignedCalls({ ...access, endpoint: server.endpoint, service: 'dynamodb', maxAnswerBytes: 1000 })

  it.each([1000, 1001])('is refused, and its connection closed: %i bytes of 1,000', async (length) => {
    server.respond = (socket) => void socket.write(answerOf('x'.repeat(length)))
    const call = short().send({ headers: {}, body: '{}' })
    if (length <= 1000) return expect((await call).text).toHaveLength(length)
    await expect(call).rejects.toThrow('the answer is longer than 1000 bytes')
    await until(() => server.ended === 1)
  })

  it('is refused before it ends, if it ever does', async () => {
    server.respond = (socket) => {
      socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
      const more = () => socket.writable && socket.write(chunk(Buffer.alloc(100, 'x')), () => setImmediate(more))
      more()
    }
    await expect(short().send({ headers: {}, body: '{}' })).rejects.toThrow('the answer is longer than 1000 bytes')
    await until(() => server.ended === 1)
  })
})

describe('a call that is given up ends its connection, which the server sees:', () => {
  const STAGES: readonly (readonly [string, RawServer['respond']])[] = [
    ['without an answer', () => {}],
    ['in the headers of its answer', (socket) => void socket.write(WITH_LENGTH.subarray(0, 30))],
    ['in the body of its answer', (socket) => void socket.write(WITH_LENGTH.subarray(0, -5))],
    ['in a chunk of its answer', (socket) => void socket.write(CHUNKED.subarray(0, -15))],
    [
      'while its answer drips',
      async (socket) => {
        for (const byte of WITH_LENGTH) {
          if (!socket.writable) return
          socket.setNoDelay().write(Buffer.from([byte]))
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      },
    ],
  ]

  it.each(STAGES)('%s, by an AbortSignal', async (_, respond) => {
    server.respond = respond
    const end = new AbortController()
    const call = failureOf(get(end.signal as EndSignal))
    await until(() => server.requests === 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    end.abort()
    expect(await call).toMatch(/^(timeout|unreachable)$/)
    await until(() => server.ended === 1)
  })

  it.each(STAGES)('%s, by the deadline of a decision', async (_, respond) => {
    server.respond = respond
    const store = new DynamoDbStore({ ...access, endpoint: server.endpoint, tableName: 't' })
    const options = { deadlineMs: 100, firstDeadlineMs: 100, onStoreError: 'throw' } as const
    const limiter = createLimiter({ store, policies: [{ name: 'p', limit: 5, window: '1h' }], ...options })
    const taken = inTime(300, () => limiter.take('a'))
    await expect(taken).rejects.toMatchObject({ reason: expect.stringMatching(/^(timeout|unreachable)$/) })
    await until(() => server.ended === server.sockets)
  })

  it('before it began, it sends nothing', async () => {
    await expect(get(AbortSignal.abort() as EndSignal)).rejects.toMatchObject({ name: 'AbortError' })
    expect([server.sockets, server.requests]).toEqual([0, 0])
  })
})
