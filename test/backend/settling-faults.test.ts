import type Middy from '@middy/core' with { 'resolution-mode': 'import' }
import { handOn, rateLimit, reportCost, withRateLimit } from '../../backend'
import { StoreUnavailableError } from '../../limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { inTime } from '../in-time'
import type * as Scene from './settled-scene'
import { scene, TOKENS, warnings } from './settled-scene'

const { default: middy } = jest.requireActual<{ default: typeof Middy }>('@middy/core')

jest.mock('../../backend/settler', () => ({
  ...jest.requireActual('../../backend/settler'),
  settlerFor: () => jest.requireActual<typeof Scene>('./settled-scene').settlerOfScene,
}))

const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '60s' }
const OK = { statusCode: 200 }

const logged = warnings()
const passing = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('a cost that goes wrong', () => {
  it.each<[string, () => Promise<number>]>([
    ['never resolves', () => new Promise(() => {})],
    ['resolves late', () => passing(150).then(() => 5)],
  ])('delays no answer where it %s', async (_, cost) => {
    const { event } = scene()
    const one = await event()
    expect(await inTime(120, () => withRateLimit(async (_: object) => OK, { cost })(one))).toMatchObject(OK)
  })

  it('delays the answer by 20 ms, and leaves the request charged as it was reserved after ten seconds of nothing', async () => {
    const { event, used, open } = scene()
    const one = await event()
    jest.useFakeTimers({ doNotFake: ['Date'] })
    try {
      let isAnswered = false
      const handler = withRateLimit(async (_: object) => OK, { cost: () => new Promise<number>(() => {}) })
      void handler(one).then(() => {
        isAnswered = true
      })
      await jest.advanceTimersByTimeAsync(19)
      expect(isAnswered).toBe(false)
      await jest.advanceTimersByTimeAsync(1)
      expect(isAnswered).toBe(true)
      await jest.advanceTimersByTimeAsync(9_979)
      expect(await open()).toBe(1)
      await jest.advanceTimersByTimeAsync(1)
      expect([await open(), await used(), logged]).toEqual([0, 400, []])
    } finally {
      jest.useRealTimers()
    }
  })

  it('settles to what it says once it is known', async () => {
    const { event, used, open } = scene()
    await withRateLimit(async (_: object) => OK, { cost: () => passing(60).then(() => 5) })(await event())
    expect(await open()).toBe(1)
    await passing(80)
    expect([await open(), await used()]).toEqual([0, 5])
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an object that has no text', Object.create(null)],
    ['an error whose message is none', Object.assign(new Error(), { message: 1n })],
  ])('fails no answer where it throws %s', async (_, thrown) => {
    const { event, used, open } = scene()
    const cost = () => {
      throw thrown
    }
    expect(await withRateLimit(async (_: object) => OK, { cost })(await event())).toMatchObject(OK)
    expect([await open(), await used(), logged]).toEqual([0, 400, ['cost_failed']])
  })

  it('frees a slot, and warns of nothing, where the request holds no units', async () => {
    const { event, open } = scene([RUNNING])
    const used = { costs: { tokens: 5 } }
    await withRateLimit(async (_: object) => OK, { cost: () => used })(await event())
    expect([await open(), logged]).toEqual([0, []])
  })
})

describe('one request in several wrappers', () => {
  it('is settled once the outermost ends, to the cost that any of them knows', async () => {
    const { event, used, open } = scene()
    const inner = withRateLimit(async (_: object) => OK)
    await withRateLimit(inner, { cost: () => 7 })(await event())
    expect([await open(), await used()]).toEqual([0, 7])
    const known = withRateLimit(async (_: object) => OK, { cost: () => 9 })
    await withRateLimit(known)(await event())
    expect(await used()).toBe(400 + 7 + 9)
  })

  it('is handed on by any of them', async () => {
    const { event, used } = scene()
    let handed: string | undefined
    const inner = withRateLimit(async (one: object) => {
      handed = handOn(one)
      return OK
    })
    await withRateLimit(inner)(await event())
    await reportCost(handed!, 7)
    expect(await used()).toBe(7)
  })
})

describe('what the handler says of itself', () => {
  it('leaves a request to who it is handed to, though the report with it was no number', async () => {
    const { event, open, used } = scene()
    let handed: string | undefined
    await withRateLimit(async (one: object) => {
      await reportCost(one, Number.NaN)
      handed = handOn(one)
      return OK
    })(await event())
    expect([await open(), logged]).toEqual([1, ['settlement_failed']])
    await reportCost(handed, 3)
    expect(await used()).toBe(3)
  })

  it('hands units on and keeps no slot, by an error too', async () => {
    const { event, open } = scene([RUNNING, TOKENS])
    const handler = withRateLimit(async (one: object) => {
      handOn(one)
      throw new Error('broken')
    })
    await expect(handler(await event())).rejects.toThrow('broken')
    expect(await open()).toBe(1)
  })
})

describe('a settlement that did not get through', () => {
  const away = () => Promise.reject(new StoreUnavailableError('unreachable', 'away'))

  it('goes on with the next request, which may hold nothing', async () => {
    const { event, gateway, used, write } = scene()
    const handler = withRateLimit(async (_: object) => OK, { cost: () => 10 })
    const first = await event()
    write.mockImplementation(away)
    await handler(first)
    write.mockImplementation(MemoryStore.prototype.write.bind(gateway.store))
    await handler({})
    await passing(20)
    expect(await used()).toBe(10)
  })

  it('goes on at the end of the next request where it failed during that, as after a freeze', async () => {
    const { event, gateway, used, write } = scene()
    const [first, second] = [await event(), await event()]
    const original = MemoryStore.prototype.write.bind(gateway.store)
    let fail = (_: Error) => {}
    write.mockImplementationOnce(
      () =>
        new Promise((_, reject) => {
          fail = reject
        }),
    )
    write.mockImplementationOnce(away).mockImplementationOnce(away).mockImplementation(original)
    await withRateLimit(async (_: object) => OK, { cost: () => 10, settleWithinMs: 1 })(first)
    const thawed = async (_: object) => {
      fail(new StoreUnavailableError('unreachable', 'away'))
      await passing(5)
      return OK
    }
    await withRateLimit(thawed, { cost: () => 10, settleWithinMs: 500 })(second)
    expect([await used(), logged]).toEqual([20, ['settlement_failed']])
  })
})

describe('rateLimit, for middy', () => {
  it('forgets requests that another middleware has answered early, once they are many', async () => {
    const { event, used } = scene()
    const early = { before: async () => OK }
    const handler = middy(async () => OK).use([rateLimit(), early] as never[]) as unknown as (
      event: unknown,
      context: object,
    ) => Promise<unknown>
    const one = await event()
    await handler(one, {})
    for (let i = 0; i < 1000; i++) await handler({ requestContext: { authorizer: { reservation: `${i}` } } }, {})
    await reportCost(one, 6)
    expect(await used()).toBe(6)
  })
})

it('finds the context behind the stream of a streaming handler, and waits not into the last second', async () => {
  const context = { getRemainingTimeInMillis: () => 1040 }
  const handler = withRateLimit(async (_event: object, _stream: object, _context: object) => OK)
  const event = { requestContext: { authorizer: { delayMs: '400' } } }
  await inTime(300, () => handler(event, { write: () => {} }, context))
})

it('reads its own context where an upstream authorizer has a key of the name that HTTP APIs give it', async () => {
  const { event, open } = scene([RUNNING])
  const one = await event()
  const authorizer = { ...one.requestContext.authorizer, lambda: 'theirs' }
  await withRateLimit(async (_: object) => OK)({ requestContext: { authorizer } })
  expect(await open()).toBe(0)
})
