import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createLimiter, DynamoDbStore, type LimiterEvent } from '../../limiter'
import { ServerTime } from '../../limiter/clock'

const T = 1_763_683_200_000
const YEAR_MS = 31_536_000_000

/** A system clock, a monotonic clock, and the events about the system clock. */
function watched() {
  const time = { system: T, elapsed: 0 }
  const events: LimiterEvent[] = []
  const server = new ServerTime(
    () => time.system,
    (state, offMs) => events.push({ kind: 'clock', state, offMs }),
    () => time.elapsed,
  )
  const pass = (ms: number) => {
    time.system += ms
    time.elapsed += ms
  }
  /** A call that takes so long, whose answer has this Date header. */
  const call = (date: number, ms = 10) => {
    const answered = server.begin()
    pass(ms)
    answered(Math.floor(date / 1000) * 1000)
  }
  return { time, server, events, pass, call }
}

describe('the server’s time', () => {
  it.each([-60_000, -1000, 0, 1000, 60_000])('is not used while the clock is %i ms off', (offMs) => {
    const { server, events, call, time } = watched()
    call(T - offMs)
    expect([server.now(), events]).toEqual([time.system, []])
  })

  it.each([-YEAR_MS, -61_000, 62_000, YEAR_MS])(
    'is used while the clock is %i ms off, until the clock agrees',
    (offMs) => {
      const { server, events, pass, call, time } = watched()
      call(T - offMs)
      expect(events).toEqual([{ kind: 'clock', state: 'wrong', offMs: offMs + 10 }])
      pass(5000)
      expect(server.now()).toBe(T - offMs + 5000)
      time.system -= offMs
      expect(server.now()).toBe(T - offMs + 5000)
      call(time.system)
      expect(server.now()).toBe(time.system)
      expect(events.slice(1)).toEqual([{ kind: 'clock', state: 'right', offMs: expect.any(Number) }])
    },
  )

  it('is taken from each answer anew while the clock is wrong', () => {
    const { server, events, call } = watched()
    call(T - YEAR_MS)
    call(T - YEAR_MS + 7000)
    expect(server.now()).toBe(T - YEAR_MS + 7000)
    expect(events).toHaveLength(1)
  })

  it('is not thought to differ because the instance was frozen during a call', () => {
    const { server, events, call, time } = watched()
    call(T, 3_600_000)
    expect([server.now(), events]).toEqual([time.system, []])
  })

  it('is used from exactly a minute of difference on, allowing for the whole second in which a Date header ends', () => {
    for (const [date, events] of [
      [T - 61_000, 0],
      [T - 61_001, 1],
      [T + 60_010, 0],
      [T + 60_011, 1],
    ] as const) {
      const one = watched()
      const answered = one.server.begin()
      one.pass(10)
      answered(date)
      expect([date - T, one.events.length]).toEqual([date - T, events])
    }
  })

  it('is also taken from a call that took long', () => {
    const { server, events, call, time } = watched()
    call(T + YEAR_MS, 5000)
    expect([server.now(), events.length]).toEqual([T + YEAR_MS, 1])
    time.elapsed += 7
    expect(server.now()).toBe(T + YEAR_MS + 7)
  })

  it.each([
    [1000, 1],
    [1001, 0],
    [-1000, 1],
    [-1001, 0],
  ])(
    'is taken only if the clock moved about as far as time did during the call (%i ms further: %i)',
    (jumpMs, learnt) => {
      const { server, events, time } = watched()
      const answered = server.begin()
      time.elapsed += 2000
      time.system += 2000 + jumpMs
      answered(T + YEAR_MS)
      expect(events).toHaveLength(learnt)
    },
  )

  it('is taken anew from a call during which the wrong clock was set to another wrong time', () => {
    const { server, events, call, time } = watched()
    call(T + YEAR_MS)
    const answered = server.begin()
    time.system -= YEAR_MS
    time.elapsed += 10
    answered(T + YEAR_MS + 5000)
    expect([server.now(), events.length]).toEqual([T + YEAR_MS + 5000, 1])
  })

  it('is unknown if the clock was set, or time stood still, during the call', () => {
    for (const jumpMs of [-YEAR_MS, YEAR_MS]) {
      const { server, events, time } = watched()
      const answered = server.begin()
      time.system += jumpMs
      time.elapsed += 10
      answered(T + YEAR_MS / 2)
      expect([server.now(), events]).toEqual([time.system, []])
    }
  })
})

describe.each(['direct', 'by the SDK'])(
  'a limiter on a table, called %s, whose Date headers differ from the clock',
  (way) => {
    let engine: Server
    let offMs = 0
    let refuses = false
    const bodies: string[] = []

    beforeAll(async () => {
      engine = createServer((request, response) => {
        let body = ''
        request.on('data', (chunk) => {
          body += chunk
        })
        request.on('end', () => {
          bodies.push(body)
          response.sendDate = false
          response.setHeader('date', new Date(Date.now() - offMs).toUTCString())
          response.setHeader('x-amzn-requestid', 'R1')
          response.statusCode = refuses ? 400 : 200
          const refusal = { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', Item: {} }
          response.end(JSON.stringify(refuses ? refusal : {}))
          refuses = false
        })
      })
      await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve))
    })
    afterAll(() => new Promise((resolve) => engine.close(resolve)))

    const limiterOf = (events: LimiterEvent[], clock?: () => number) => {
      const { port } = engine.address() as AddressInfo
      const access = {
        endpoint: `http://127.0.0.1:${port}`,
        region: 'us-east-1',
        credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
      }
      const client = new DynamoDBClient({ ...access, maxAttempts: 1 })
      return createLimiter({
        store: new DynamoDbStore({ tableName: 'state', ...(way === 'direct' ? access : { client }) }),
        policies: [{ name: 'p', algorithm: 'fixed-window', limit: 100, window: '365d' }],
        onEvent: (event) => events.push(event),
        onStoreError: 'throw',
        ...(clock && { clock }),
      })
    }
    const yearAt = (at: number) =>
      Math.floor(at / YEAR_MS)
        .toString(36)
        .padStart(2, '0')
    const slotOf = (body: string) => /ADD \w{4}(\w+)/.exec(body)?.[1]

    it.each([false, true])(
      'counts by the Date header from the second call on, also after a refused write: %p',
      async (refused) => {
        ;[offMs, refuses] = [10 * YEAR_MS, refused]
        bodies.length = 0
        const events: LimiterEvent[] = []
        const limiter = limiterOf(events)
        await limiter.take('one')
        await limiter.take('two')
        const [ours, theirs] = [Date.now(), Date.now() - offMs].map(yearAt)
        const slots = bodies.map(slotOf)
        expect(slots).toEqual(refused ? [ours, theirs, theirs] : [ours, theirs])
        expect(events.filter(({ kind }) => kind === 'clock')).toEqual([
          { kind: 'clock', state: 'wrong', offMs: expect.any(Number) },
        ])

        offMs = 0
        await limiter.take('three')
        await limiter.take('four')
        expect(bodies.slice(-2).map(slotOf)).toEqual([theirs, ours])
        expect(events.filter(({ kind }) => kind === 'clock')).toHaveLength(2)
      },
    )

    it('follows a clock that it was given', async () => {
      offMs = 10 * YEAR_MS
      bodies.length = 0
      const events: LimiterEvent[] = []
      const limiter = limiterOf(events, () => T)
      for (const subject of ['one', 'two']) await limiter.take(subject)
      expect(bodies.map(slotOf)).toEqual([yearAt(T), yearAt(T)])
      expect(events.filter(({ kind }) => kind === 'clock')).toEqual([])
    })
  },
)
