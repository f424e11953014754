import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type Middy from '@middy/core' with { 'resolution-mode': 'import' }
import { rateLimit, reportCost, withRateLimit } from '../../backend'
import { OwnTime } from '../in-time'
import { Work } from '../middleware/slots/work'
import type * as Scene from './settled-scene'
import { scene, TOKENS, warnings } from './settled-scene'

const { default: middy } = jest.requireActual<{ default: typeof Middy }>('@middy/core')

jest.mock('../../backend/settler', () => ({
  ...jest.requireActual('../../backend/settler'),
  settlerFor: () => jest.requireActual<typeof Scene>('./settled-scene').settlerOfScene,
}))

const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '2h' }
const logged = warnings()

/** What receives a response: how its bytes go out differs. */
interface Receiver {
  readonly stream: Writable
  close(): void
}

const RECEIVERS: Record<string, () => Promise<Receiver>> = {
  'a stream of Node': async () => ({ stream: new PassThrough().resume(), close: () => {} }),
  /** Lambda's runtime hands out a plain object, whose methods are those of a request to Lambda. */
  'the stream of Lambda’s runtime': async () => {
    const server = createServer((incoming: IncomingMessage, response) => {
      incoming.resume().on('end', () => response.end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const inner = request({ host: '127.0.0.1', port, method: 'POST', agent: false })
    inner.on('error', () => {})
    const stream = {} as Record<string, unknown>
    for (const name of ['write', 'end', 'on', 'once', 'emit', 'destroy', 'removeListener', 'off', 'listenerCount'])
      stream[name] = (inner[name as keyof typeof inner] as () => unknown).bind(inner)
    for (const name of ['destroyed', 'writable', 'writableEnded', 'writableFinished', 'writableNeedDrain'])
      Object.defineProperty(stream, name, { get: () => inner[name as keyof typeof inner] })
    const close = () => {
      server.closeAllConnections()
      server.close()
    }
    return { stream: stream as unknown as Writable, close }
  },
}

const ignored = () => {}

/** How a handler streams what it does. Each of them is seen until its work has ended. */
const WAYS: Record<string, (work: Work, stream: Writable) => Promise<unknown>> = {
  'waits for a pipeline': async (work, stream) => pipeline(Readable.from(work.parts()), stream),
  'pipes, and returns': async (work, stream) => {
    const parts = Readable.from(work.parts())
    parts.on('error', () => stream.destroy()).pipe(stream)
  },
  'begins a pipeline, and returns': async (work, stream) =>
    void pipeline(Readable.from(work.parts()), stream).catch(ignored),
  writes: async (work, stream) => {
    for await (const part of work.parts()) stream.write(part)
    stream.end()
  },
  'works on after its answer': async (work, stream) => {
    stream.end('answered')
    await work.text()
  },
}

describe.each(Object.entries(RECEIVERS))('a response streamed to %s', (_, receiverOf) => {
  const cases = Object.keys(WAYS).flatMap((way) => [
    [way, 'is answered', { parts: 4 }] as const,
    [way, 'takes long', { parts: 4, slowPart: 2 }] as const,
    [way, 'fails at once', { parts: 4, failsAt: 0 }] as const,
    [way, 'fails mid-stream', { parts: 4, failsAt: 2 }] as const,
  ])

  test.each(cases)('%s, %s: what it holds is settled within 100 ms after its end, not before', async (way, _, job) => {
    const { event, open } = scene([RUNNING, TOKENS])
    const work = new Work(job)
    const { stream, close } = await receiverOf()
    let overAt: number | undefined
    for (const name of ['finish', 'close'])
      stream.on(name, () => {
        overAt ??= performance.now()
      })
    const handler = withRateLimit(async (_event: object, to: Writable) => WAYS[way]!(work, to))
    const one = await event()
    expect(await open()).toBe(2)
    const time = new OwnTime()
    const answered = handler(one, stream).then(
      () => true,
      () => false,
    )
    while ((await open()) > 0) await sleep(2)
    const settledAt = performance.now()
    const isAnswered = await answered
    expect(work.endedAt).toBeLessThanOrEqual(settledAt)
    if (isAnswered) expect(overAt).toBeLessThanOrEqual(settledAt) // where it fails, Lambda ends the stream
    expect(time.between(Math.max(work.endedAt!, isAnswered ? overAt! : 0), settledAt)).toBeLessThan(100)
    time.stop()
    close()
    expect(logged).toEqual([])
  })

  test('a report of what is streamed counts until the stream is over', async () => {
    const { event, used, open } = scene()
    const { stream, close } = await receiverOf()
    const handler = withRateLimit(async (one: object, to: Writable) => {
      async function* parts() {
        for (const units of [1, 2, 30]) {
          await sleep(5)
          await reportCost(one, units)
          yield 'part'
        }
      }
      Readable.from(parts()).pipe(to)
    })
    await handler(await event(), stream)
    expect([await open(), await used()]).toEqual([0, 30])
    close()
  })
})

test('a response that is not held back where the request holds nothing', async () => {
  const stream = new PassThrough()
  expect(await withRateLimit(async (_event: object, _stream: Writable) => 'done')({}, stream)).toBe('done')
})

describe('rateLimit, for middy that streams', () => {
  const awslambda = {
    streamifyResponse: (handler: unknown) => handler,
    HttpResponseStream: { from: (to: unknown) => to },
  }
  beforeEach(() => Object.assign(globalThis, { awslambda }))
  afterEach(() => {
    delete (globalThis as { awslambda?: unknown }).awslambda
  })

  const bodies: Record<string, (work: Work) => unknown> = {
    'a stream of Node': (work) => Readable.from(work.parts()),
    'a web stream': (work) => Readable.toWeb(Readable.from(work.parts())),
  }
  const shapes: Record<string, (body: unknown) => unknown> = {
    'as the body of a response': (body) => ({ statusCode: 200, body }),
    'as the response': (body) => body,
  }
  const cases = Object.keys(bodies).flatMap((body) => Object.keys(shapes).map((shape) => [body, shape] as const))

  const run = async (body: string, shape: string, work: Work, to: Writable) => {
    const { event, open, used } = scene([RUNNING, TOKENS])
    const answer = async () => shapes[shape]!(bodies[body]!(work))
    const made = middy(answer as never, { streamifyResponse: true })
    const handler = made.use(rateLimit({ cost: () => 30 }) as never) as unknown as Handle
    const one = { version: '2.0', ...(await event()) }
    const done = handler(one, to, { getRemainingTimeInMillis: () => 10_000 })
    return { done, open, used }
  }
  type Handle = (event: object, stream: Writable, context: object) => Promise<unknown>

  test.each(cases)('settles %s %s once that is over, before the response ends', async (body, shape) => {
    const work = new Work({ parts: 3, slowPart: 1 })
    const to = new PassThrough()
    let openAtEnd: number | undefined
    const { done, open, used } = await run(body, shape, work, to)
    let text = ''
    to.on('data', (part) => {
      text += part
    })
    to.on('finish', async () => {
      openAtEnd = await open()
    })
    while (work.beganAt === undefined) await sleep(2)
    expect(await open()).toBe(2)
    await done
    await sleep(5)
    expect([openAtEnd, text.length]).toEqual([0, 3 * (await new Work({ parts: 1 }).text()).length])
    expect(await used()).toBe(30)
  })

  test.each(cases)('settles %s %s whose source fails', async (body, shape) => {
    const to = new PassThrough().resume()
    to.on('error', ignored)
    const { done, open } = await run(body, shape, new Work({ parts: 3, failsAt: 1 }), to)
    await expect(done).rejects.toThrow()
    expect(await open()).toBe(0)
  })

  test.each(cases)('settles %s %s that nobody reads any more', async (body, shape) => {
    const to = new PassThrough().resume()
    to.on('error', ignored)
    const { done, open } = await run(body, shape, new Work({ parts: 100 }), to)
    setTimeout(() => to.destroy(), 20)
    await done.catch(ignored)
    while ((await open()) > 0) await sleep(2)
  })
})
