import type Middy from '@middy/core' with { 'resolution-mode': 'import' }
import { handOn, rateLimit, reportCost, withRateLimit } from '../../backend'
import { StoreUnavailableError } from '../../limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { KEYS } from '../authorize/gateway'
import { inTime } from '../in-time'
import type * as Scene from './settled-scene'
import { scene, TOKENS, warnings } from './settled-scene'

const { default: middy } = jest.requireActual<{ default: typeof Middy }>('@middy/core')

jest.mock('../../backend/settler', () => ({
  ...jest.requireActual('../../backend/settler'),
  settlerFor: () => jest.requireActual<typeof Scene>('./settled-scene').settlerOfScene,
}))

type Answer = { readonly statusCode: number; readonly usage?: unknown }
const answer = (tokens?: unknown): Answer => ({ statusCode: 200, usage: tokens })
const costOf = (_: unknown, { usage }: Answer) => usage as number

const logged = warnings()

describe('withRateLimit', () => {
  it('settles to what the answer says was used, in one write before the answer', async () => {
    const { event, used, open, write } = scene()
    const handler = withRateLimit(async (_: object) => answer(812), { cost: costOf })
    const response = await handler(await event())
    expect(response).toMatchObject({ statusCode: 200, headers: { 'X-RateLimit-Limit': '100' } })
    expect(write).toHaveBeenCalledTimes(2)
    expect([await open(), await used()]).toEqual([0, 812])
    expect(logged).toEqual([])
  })

  it.each([
    ['0 units', 0, 0],
    ['units by the name of a cost', { costs: { tokens: 30 } }, 30],
    ['more than the limit', 50_000, 50_000],
  ])('settles %s', async (_, units, expected) => {
    const { event, gateway } = scene([TOKENS])
    await withRateLimit(async (_: object) => answer(units), { cost: costOf })(await event())
    const { allowed, remaining } = await gateway.rest({ method: 'POST', path: '/chat', key: KEYS.free })
    expect([allowed, remaining]).toEqual(expected > 10_000 ? [false, 0] : [true, 10_000 - expected - 400])
  })

  it.each([
    ['is not known', undefined, []],
    ['is no number', Number.NaN, ['settlement_failed']],
    ['is below 0', -5, ['settlement_failed']],
    ['is a part of a unit', 1.5, ['settlement_failed']],
    ['names a cost that nothing reserves', { costs: { images: 3 } }, ['settlement_failed']],
    ['is a text', '812', ['settlement_failed']],
  ])('leaves a request charged as it was reserved, and ends it, where the cost %s', async (_, units, warnings) => {
    const { event, used, open } = scene()
    const response = await withRateLimit(async (_: object) => answer(units), { cost: costOf })(await event())
    expect(response).toMatchObject({ statusCode: 200 })
    expect([await open(), await used()]).toEqual([0, 400])
    expect(logged).toEqual(warnings)
  })

  it('lets no error of the cost fail an answer', async () => {
    const { event, used, open } = scene()
    const cost = () => {
      throw new TypeError('no usage')
    }
    expect(await withRateLimit(async (_: object) => answer(), { cost })(await event())).toMatchObject({
      statusCode: 200,
    })
    expect([await open(), await used(), logged]).toEqual([0, 400, ['cost_failed']])
  })

  it('ends a request whose handler throws, charged as it was reserved or reported', async () => {
    const { event, used, open } = scene()
    const broken = withRateLimit(async (_: object): Promise<Answer> => Promise.reject(new Error('broken')), {
      cost: costOf,
    })
    await expect(broken(await event())).rejects.toThrow('broken')
    expect([await open(), await used()]).toEqual([0, 400])
    const reported = withRateLimit(async (one: object) => {
      await reportCost(one, 7)
      throw new Error('broken')
    })
    await expect(reported(await event())).rejects.toThrow('broken')
    expect(await used()).toBe(400 + 400 + 7)
  })

  it('leaves alone what holds nothing', async () => {
    const { event, write } = scene([{ ...TOKENS, settle: false }])
    await withRateLimit(async (_: object) => answer(5), { cost: costOf })(await event())
    expect(write).toHaveBeenCalledTimes(1)
    await withRateLimit(async (_: object) => answer(5), { cost: costOf })({})
    expect(logged).toEqual([])
  })

  it.each(['x', 'a.b', '', 'é'.repeat(30_000), '{"a":1}'])(
    'answers, whatever the event has for a reservation: %p',
    async (reservation) => {
      scene()
      const event = { requestContext: { authorizer: { reservation } } }
      expect(await withRateLimit(async (_: object) => answer(5), { cost: costOf })(event)).toEqual(answer(5))
    },
  )

  it('answers after settleWithinMs where the table is slow, and settles all the same', async () => {
    const { event, gateway, used } = scene()
    const one = await event()
    const original = MemoryStore.prototype.write.bind(gateway.store)
    jest.spyOn(gateway.store, 'write').mockImplementationOnce(async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, 150))
      return original(...given)
    })
    await inTime(100, () => withRateLimit(async (_: object) => answer(1), { cost: costOf, settleWithinMs: 10 })(one))
    await new Promise((resolve) => setTimeout(resolve, 250))
    expect(await used()).toBe(1)
  })

  it('settles with the next request what it could not, and no more than once', async () => {
    const { event, gateway, used, write } = scene()
    const [first, second] = [await event(), await event()]
    const handler = withRateLimit(async (_: object) => answer(10), { cost: costOf, settleWithinMs: 1000 })
    const original = MemoryStore.prototype.write.bind(gateway.store)
    // the write is applied, and its answer is lost
    write.mockImplementation(async (...given) => {
      await original(...given)
      throw new StoreUnavailableError('unreachable', 'away')
    })
    expect(await handler(first)).toMatchObject({ statusCode: 200 })
    expect(logged).toEqual(['settlement_failed'])
    write.mockImplementation(original)
    await handler(second)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await used()).toBe(20)
  })

  it('answers where it has no table, and says so once', async () => {
    delete process.env.SLUICE_STATE_TABLE
    const { event, used } = scene()
    const handler = withRateLimit(async (_: object) => answer(10), { cost: costOf })
    for (let i = 0; i < 3; i++) expect(await handler(await event())).toMatchObject({ statusCode: 200 })
    expect([await used(), logged]).toEqual([1200, ['not_granted']])
  })

  it('settles each of many requests at once', async () => {
    const { event, used, open } = scene()
    const events = []
    for (let i = 0; i < 20; i++) events.push(await event())
    const handler = withRateLimit(async (_: object) => answer(3), { cost: costOf, settleWithinMs: 1000 })
    await Promise.all(events.map((one) => handler(one)))
    expect([await open(), await used()]).toEqual([0, 60])
  })

  it('refuses a time that is none', () => {
    expect(() => withRateLimit(async (_: object) => answer(), { settleWithinMs: -1 })).toThrow(
      'settleWithinMs must be milliseconds from 0 to 10000, got -1',
    )
  })
})

describe('reportCost', () => {
  it('says what a streamed answer has used; the last report counts, before what the answer says', async () => {
    const { event, used, open } = scene()
    const handler = withRateLimit(
      async (one: object, stream: { write(text: string): void }) => {
        for (const part of ['a', 'b', 'c']) {
          stream.write(part)
          await reportCost(one, part.charCodeAt(0) - 96)
        }
        return answer(999)
      },
      { cost: costOf },
    )
    const written: string[] = []
    await handler(await event(), { write: (text) => written.push(text) })
    expect([written, await open(), await used()]).toEqual([['a', 'b', 'c'], 0, 3])
  })

  it('settles at once in a handler that is not wrapped', async () => {
    const { event, used } = scene()
    await reportCost(await event(), { costs: { tokens: 55 } })
    expect(await used()).toBe(55)
  })

  it('settles what the handler has handed on, in whichever process', async () => {
    const { event, used, open } = scene()
    let handed: string | undefined
    const handler = withRateLimit(
      async (one: object) => {
        handed = handOn(one)
        return answer(5)
      },
      { cost: costOf },
    )
    await handler(await event())
    expect(await open()).toBe(1)
    for (let i = 0; i < 2; i++) await reportCost(handed!, 77)
    expect([await used(), logged]).toEqual([77, []])
    expect(handOn({})).toBeUndefined()
  })
})

describe('rateLimit, for middy', () => {
  it('settles to what the answer says, and ends what fails', async () => {
    const { event, used, open } = scene()
    const made = (handler: (event: unknown) => Promise<Answer>) =>
      middy(handler as never).use(rateLimit({ cost: costOf as never }) as never) as unknown as (
        event: unknown,
        context: object,
      ) => Promise<Answer>
    expect(await made(async () => answer(20))(await event(), {})).toMatchObject({ statusCode: 200 })
    expect([await open(), await used()]).toEqual([0, 20])
    const broken = made(async () => Promise.reject(new Error('broken')))
    await expect(broken(await event(), {})).rejects.toThrow('broken')
    expect([await open(), await used()]).toEqual([1, 20 + 400 + 400]) // the one that asked
  })
})
