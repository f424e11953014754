import { deflateRawSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { createLimiter, type PolicyInput, ReservationError, StoreUnavailableError } from '../../limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs, thoroughly } from '../runs'

const T = Date.UTC(2026, 0, 1)
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }
const REQUESTS: PolicyInput = { name: 'requests', algorithm: 'fixed-window', limit: 50, window: '1m' }

/** Limiters over one store, of one clock. */
function scene(policies: readonly PolicyInput[] = [TOKENS], store = new MemoryStore()) {
  const write = jest.spyOn(store, 'write')
  const read = jest.spyOn(store, 'read')
  const time = { now: T }
  const limiter = (more: readonly PolicyInput[] = policies) =>
    createLimiter({ store, policies: more, clock: () => time.now, onStoreError: 'throw', denialTtlMs: 0 })
  const one = limiter()
  const left = async (name = 'tokens', by = limiter()) => (await by.peek('a', { cost: 0 })).policies[name]!.remaining
  const reserve = async (tokens: number, by = one) => {
    const { reservation, allowed } = await by.take('a', { costs: { tokens }, reserve: '2m' })
    return { reservation: reservation!, allowed }
  }
  return { store, write, read, time, limiter, one, left, reserve }
}

describe('a reservation', () => {
  it('is charged at once, and what was not used is given back by one write', async () => {
    const { one, reserve, left, write, read } = scene([TOKENS, REQUESTS])
    const { reservation } = await reserve(500)
    expect(await left()).toBe(500)
    read.mockClear()
    expect(await one.settle(reservation, 300)).toBe(true)
    expect([write.mock.calls.length, read.mock.calls.length]).toEqual([2, 0])
    expect([await left(), await left('requests')]).toEqual([700, 49])
  })

  it('of no units yet is charged what was used, beside a policy that it takes units of', async () => {
    const { one, reserve, left, limiter } = scene([TOKENS, REQUESTS])
    const { reservation } = await reserve(0)
    expect([await left(), await left('requests')]).toEqual([1000, 49])
    expect(await limiter().settle(reservation, { costs: { tokens: 70 } })).toBe(true)
    expect([await left(), await left('requests')]).toEqual([930, 49])
    expect(await one.settle(reservation, 70)).toBe(false)
  })

  it('is settled once, however often that is asked, by whichever process', async () => {
    const { one, limiter, reserve, left, store } = scene()
    const { reservation } = await reserve(500)
    expect(await Promise.all([one, limiter(), limiter()].map((by) => by.settle(reservation, 100)))).toContain(true)
    const [[key, settled]] = [...(store as unknown as { items: Map<string, object> }).items] as [[string, object]]
    expect(await limiter().settle(reservation, 900)).toBe(false)
    const ofNoTime = reservation.split('.').with(2, '').join('.')
    expect(await limiter().settle(ofNoTime, 900)).toBe(false)
    expect([await left(), await store.read(key)]).toEqual([900, settled])
  })

  it('is settled by another process in one write', async () => {
    const { limiter, reserve, left, write, read } = scene()
    const { reservation } = await reserve(500)
    write.mockClear()
    expect(await limiter().settle(reservation, 200)).toBe(true)
    expect([write.mock.calls.length, read.mock.calls.length]).toEqual([1, 0])
    expect(await left()).toBe(800)
  })

  it('is settled by another process where others have written since', async () => {
    const { limiter, one, reserve, left } = scene()
    const { reservation } = await reserve(500)
    for (let i = 0; i < 5; i++) await one.take('a', { costs: { tokens: 10 } })
    expect(await limiter().settle(reservation, 490)).toBe(true)
    expect(await left()).toBe(460)
  })

  it('charges what was used beyond it, past the limit too, and nobody passes until that is paid', async () => {
    const { one, time, limiter, reserve, left } = scene([{ ...TOKENS, algorithm: 'token-bucket', window: '1000s' }])
    const { reservation } = await reserve(900)
    expect(await one.settle(reservation, 1500)).toBe(true)
    expect(await one.take('a', { costs: { tokens: 1 } })).toMatchObject({ allowed: false, retryAfterMs: 501_000 })
    time.now += 500_999
    expect((await limiter().take('a', { costs: { tokens: 1 } })).allowed).toBe(false)
    time.now += 1
    expect((await limiter().take('a', { costs: { tokens: 1 } })).allowed).toBe(true)
    expect(await left()).toBe(0)
  })

  it('that nobody settles stays charged, and a late settlement charges what is beyond it and gives nothing back', async () => {
    const { one, time, reserve, left } = scene()
    const [less, more] = [(await reserve(100)).reservation, (await reserve(100)).reservation]
    time.now += 121_000
    expect(await left()).toBe(800)
    expect(await one.settle(less, 1)).toBe(true)
    expect(await left()).toBe(800)
    expect(await one.settle(more, 150)).toBe(true)
    expect(await left()).toBe(750)
    expect(await one.settle(more, 150)).toBe(false)
    expect(await left()).toBe(750)
  })

  it('that is denied, or only a look, is none', async () => {
    const { one, reserve, write } = scene()
    expect(await reserve(1001)).toEqual({ allowed: false, reservation: undefined })
    expect('reservation' in (await one.take('a', { cost: 0, costs: { tokens: 0 }, reserve: '2m' }))).toBe(false)
    expect(write).not.toHaveBeenCalled()
  })

  thoroughly('is not in the decision, but where 1,000 of them are open, which a denial says', async () => {
    const { one, reserve, time } = scene([{ ...TOKENS, limit: 100_000 }])
    const first = await one.take('a', { costs: { tokens: 1 }, reserve: '2m' })
    expect([Object.keys(first.policies), first.policy]).toEqual([['tokens'], 'tokens'])
    const all = await Promise.all(Array.from({ length: 999 }, () => reserve(1)))
    const denied = await one.take('a', { costs: { tokens: 1 }, reserve: '2m' })
    expect(denied).toMatchObject({ allowed: false, policy: 'reservations', limit: 1000, retryAfterMs: 1000 })
    await one.settle(all[500]!.reservation, 1)
    expect((await reserve(1)).allowed).toBe(true)
    expect((await reserve(1)).allowed).toBe(false)
    time.now += 121_001
    expect((await Promise.all([reserve(1), reserve(1), reserve(1)])).map(({ allowed }) => allowed)).toEqual([
      true,
      true,
      true,
    ])
  })

  it('that was changed is refused', async () => {
    const { one, limiter, reserve, left } = scene()
    const { reservation } = await reserve(500)
    const [version, text, time] = reservation.split('.') as [string, string, string]
    const said = inflateRawSync(Buffer.from(text, 'base64url')).toString()
    const raised = `${version}.${deflateRawSync(said.replace('500', '900')).toString('base64url')}.${time}..`
    expect(await one.settle(raised, 0)).toBe(false)
    expect(await limiter().settle(raised, 0)).toBe(false)
    const wrong = ['', 'x', '.', text, `${text}.e30`, `${time}.${text}`, 5 as never, `2.${text.slice(1)}.${time}..`]
    for (const token of [
      ...wrong,
      `2.${text}.${time}`,
      `2.${text}.${time}...`,
      `2.${text}.!..`,
      `2.${text}.1fcbtyh5h1c..`,
    ])
      await expect(one.settle(token, 0)).rejects.toThrow(ReservationError)
    expect(await left()).toBe(500)
    expect(await limiter().settle(`2.${text}.1..`, 0)).toBe(true)
    expect(await left()).toBe(1000)
  })

  it.each(['', '0', '1', 'zzzzzzzz'])(
    'settles to what was used whatever time somebody has written into it (%s)',
    async (time) => {
      const { limiter, reserve, left, one } = scene([{ ...TOKENS, algorithm: 'sliding-window' }])
      await one.take('a', { costs: { tokens: 100 } })
      const [, text] = (await reserve(500)).reservation.split('.')
      expect(await limiter().settle(`2.${text}.${time}..`, 800)).toBe(true)
      expect(await left()).toBe(100)
    },
  )

  it('is gone after a reset, and a settlement charges nothing', async () => {
    const { one, reserve, left } = scene()
    const { reservation } = await reserve(500)
    await one.reset('a')
    expect(await one.settle(reservation, 900)).toBe(false)
    expect(await left()).toBe(1000)
  })

  it('is left alone by a refund', async () => {
    const { one, reserve, left } = scene()
    const { reservation } = await reserve(500)
    await one.refund('a', 0, { costs: { tokens: 100 } })
    expect(await one.settle(reservation, 500)).toBe(true)
    expect(await left()).toBe(600)
  })

  it.each([
    ['reserve', { reserve: '0s' }, 'reserve must be a duration from "1s" to "24h", got "0s"'],
    ['reserve', { reserve: '25h' }, 'reserve must be a duration from "1s" to "24h", got "25h"'],
    ['a cost that no policy counts', { cost: 5, reserve: '1m' }, 'reserve needs units that a policy counts'],
  ])('with a wrong %s is refused: %j', async (_, options, message) => {
    const { one, write } = scene()
    await expect(one.take('a', options as never)).rejects.toThrow(message)
    expect(write).not.toHaveBeenCalled()
  })

  it.each([
    [{ tokens: 5 }, 'used must be units of tokens, which are reserved, got "tokens"'],
    [{ cost: 5 }, 'used must be units of tokens, which are reserved, got "cost"'],
    [{ costs: { token: 5 } }, 'used must be units of tokens, which are reserved, got "token"'],
    [-1, 'cost must be an integer from 0'],
    [undefined, 'cost must be an integer from 0'],
    [{ costs: { tokens: 1.5 } }, 'costs.tokens must be an integer from 0'],
  ])('is not settled to %j', async (used, message) => {
    const { one, reserve, left } = scene()
    const { reservation } = await reserve(500)
    await expect(one.settle(reservation, used as never)).rejects.toThrow(message)
    expect(await left()).toBe(500)
  })

  it('is settled while its subject is locked out, which it neither ends nor prolongs', async () => {
    const { one, limiter, time, reserve, left } = scene([{ ...TOKENS, window: '7d', blockFor: '1m' }])
    const [more, less] = [(await reserve(300)).reservation, (await reserve(300)).reservation]
    expect(await one.take('a', { costs: { tokens: 401 } })).toMatchObject({ allowed: false, lockedOut: true })
    time.now += 10_000
    expect(await limiter().settle(more, 500)).toBe(true)
    expect(await limiter().settle(less, 50)).toBe(true)
    expect(await limiter().take('a', { costs: { tokens: 1 } })).toMatchObject({ lockedOut: true, retryAfterMs: 50_000 })
    time.now += 50_000
    expect(await left()).toBe(450)
    expect((await limiter().take('a', { costs: { tokens: 450 } })).allowed).toBe(true)
  })

  it('is refused where nothing would be reserved', async () => {
    const { one, write } = scene()
    const options = { costs: { tokens: 1 }, reserve: '2m' } as const
    await expect(one.peek('a', options)).rejects.toThrow('unknown option "reserve" of peek')
    await expect(one.takeAll([{ subject: 'a', ...options }])).rejects.toThrow('"reserve" of a subject of takeAll')
    await expect(one.waitFor('a', options)).rejects.toThrow('reserve')
    expect(write).not.toHaveBeenCalled()
  })

  it.each(['leased', 'eventual'] as const)('is refused for policies with consistency %s', async (consistency) => {
    const { one } = scene([{ ...TOKENS, consistency }])
    await expect(one.take('a', { costs: { tokens: 1 }, reserve: '1m' })).rejects.toThrow(
      'reserve needs policies with consistency "strict", policy "tokens" has',
    )
  })

  it('of a policy that only observes gives nothing back by a charge that somebody claims', async () => {
    const { one, limiter, left } = scene([{ ...TOKENS, limit: 100, action: 'observe' }])
    await limiter().take('a', { costs: { tokens: 90 } })
    const { reservation, observed } = await one.take('a', { costs: { tokens: 50 }, reserve: '2m' })
    expect([observed, await left()]).toEqual([true, 10])
    const parts = reservation!.split('.')
    const proofs = parts[4]!
    expect(proofs[0]).toBe('0')
    for (const claimed of [`1${proofs.slice(1)}`, `1${proofs.slice(1)}${proofs.slice(1)}`, ''])
      await limiter()
        .settle([...parts.slice(0, 4), claimed].join('.'), 0)
        .catch(() => {})
    expect(await left()).toBe(10)
  })

  it('lasts from a second to a day', async () => {
    const { one } = scene()
    for (const reserve of ['1s', '24h'] as const)
      expect((await one.take('a', { costs: { tokens: 1 }, reserve })).reservation).toBeDefined()
    for (const reserve of ['999ms', '86401s', 'soon'] as never[])
      await expect(one.take('a', { costs: { tokens: 1 }, reserve })).rejects.toMatchObject({
        code: 'invalid_config',
        issues: [`reserve must be a duration from "1s" to "24h", got "${reserve}"`],
        mistakes: [{ code: 'invalid_value' }],
      })
  })

  it('is of the costs that the request names, and of the others where it says them, too', async () => {
    const { one, left } = scene([REQUESTS, TOKENS])
    const named = await one.take('a', { costs: { tokens: 10 }, reserve: '2m', cost: 0 })
    await expect(one.settle(named.reservation!, { cost: 0 })).rejects.toThrow('used must be units of tokens')
    const both = await one.take('a', { cost: 2, costs: { tokens: 10 }, reserve: '2m' })
    expect(await one.settle(both.reservation!, { cost: 1, costs: { tokens: 5 } })).toBe(true)
    expect([await left('requests'), await left()]).toEqual([49, 985])
    const whole = await one.take('a', { reserve: '2m', cost: 3 })
    expect([await one.settle(whole.reservation!, { cost: 1 }), await left('requests')]).toEqual([true, 48])
  })

  it('is refused where requests get a turn later than they come', async () => {
    const { one } = scene([{ ...TOKENS, algorithm: 'sliding-log', action: 'delay' }])
    await expect(one.take('a', { costs: { tokens: 1 }, reserve: '2m' })).rejects.toThrow(
      'reserve does not go with action "delay", which policy "tokens" has',
    )
  })

  it('of a policy that only observes gives nothing back that it was not charged', async () => {
    const { one, limiter, reserve, left } = scene([{ ...TOKENS, action: 'observe' }])
    await one.take('a', { costs: { tokens: 900 } })
    const { reservation } = await reserve(500)
    expect(await limiter().settle(reservation, 0)).toBe(true)
    expect(await left()).toBe(100)
  })
})

describe('with a store that fails', () => {
  it('nothing is reserved of what was decided without it', async () => {
    const store = new MemoryStore()
    jest.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
    const limiter = createLimiter({ store, policies: [TOKENS], clock: () => T, onStoreError: 'local' })
    const decision = await limiter.take('a', { costs: { tokens: 500 }, reserve: '2m' })
    expect(decision).toMatchObject({ allowed: true, degraded: true })
    expect('reservation' in decision).toBe(false)
    expect(Object.keys(decision.policies)).toEqual(['tokens'])
  })

  it('a settlement whose answers are lost counts once, and says that it is not known', async () => {
    const { one, limiter, reserve, left, store } = scene()
    const { reservation } = await reserve(500)
    const write = MemoryStore.prototype.write.bind(store)
    jest.mocked(store.write).mockImplementation(async (...call) => {
      await write(...call)
      throw new StoreUnavailableError('timeout', 'lost')
    })
    await expect(one.settle(reservation, 700)).rejects.toThrow(StoreUnavailableError)
    jest.mocked(store.write).mockImplementation(write)
    await limiter().settle(reservation, 700)
    expect(await left()).toBe(300)
  })
})

const ALGORITHMS: readonly PolicyInput[] = [
  { ...TOKENS, window: '10s' },
  { ...TOKENS, algorithm: 'fixed-window', overage: 'allow', window: '10s' },
  { ...TOKENS, algorithm: 'anchored-window', window: '10s' },
  { ...TOKENS, algorithm: 'sliding-window', window: '10s' },
  { ...TOKENS, algorithm: 'sliding-buckets', buckets: 5, window: '10s' },
  { ...TOKENS, algorithm: 'sliding-log', window: '10s' },
  { ...TOKENS, algorithm: 'token-bucket', window: '10s' },
  { ...TOKENS, algorithm: 'token-bucket', refill: 'interval', window: '10s' },
  { ...TOKENS, algorithm: 'leaky-bucket', window: '10s' },
  { ...TOKENS, algorithm: 'gcra', window: '10s', burst: 500 },
  { ...TOKENS, algorithm: 'fixed-window', window: '10s', overrun: '10%' },
]

describe.each(
  ALGORITHMS.map((policy) => [JSON.stringify(policy), { ...policy, limit: 60, ...(policy.burst && { burst: 30 }) }]),
)('%s', (_, policy) => {
  it('settled to the true cost, the state is never more generous than if that had been known', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            reserved: fc.integer({ min: 1, max: 30 }),
            used: fc.integer({ min: 0, max: 40 }),
            afterMs: fc.integer({ min: 0, max: 8000 }),
            runsMs: fc.integer({ min: 0, max: 15_000 }),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        async (requests) => {
          const [settled, known] = [scene([policy]), scene([policy])]
          const debts: { readonly at: number; readonly reservation: string; readonly used: number }[] = []
          const moveTo = async (at: number) => {
            for (const debt of debts.filter((one) => one.at <= at).sort((one, other) => one.at - other.at)) {
              settled.time.now = Math.max(settled.time.now, debt.at)
              expect(await settled.limiter().settle(debt.reservation, debt.used)).toBe(true)
              debts.splice(debts.indexOf(debt), 1)
            }
            settled.time.now = at
            known.time.now = at
          }
          let now = T + 1234
          for (const { reserved, used, afterMs, runsMs } of requests) {
            now += afterMs
            await moveTo(now)
            const { reservation, allowed } = await settled.reserve(reserved)
            if (!allowed) continue
            debts.push({ at: now + runsMs, reservation, used })
            // those who know the cost are charged it, even where that is past the limit
            for (let i = 0; i < used; i++) await known.one.take('a', { costs: { tokens: 1 } })
          }
          await moveTo(now + 15_000)
          for (const later of [0, 1000, 4000]) {
            settled.time.now = now + 15_000 + later
            known.time.now = settled.time.now
            expect(await settled.left()).toBeLessThanOrEqual(await known.left())
          }
        },
      ),
      { numRuns: runs(4, 100) },
    )
  })

  it('settled at once, the state is as if the true cost had been known', async () => {
    for (const [before, reserved, used] of [
      [0, 20, 5],
      [10, 20, 20],
      [5, 10, 22],
      [0, 15, 0],
    ] as const) {
      const [settled, known] = [scene([policy]), scene([policy])]
      for (const { one } of [settled, known]) if (before > 0) await one.take('a', { costs: { tokens: before } })
      const { reservation } = await settled.reserve(reserved)
      expect(await settled.limiter().settle(reservation, used)).toBe(true)
      if (used > 0) await known.one.take('a', { costs: { tokens: used } })
      for (const later of [0, 999, 5000, 12_000]) {
        settled.time.now = T + later
        known.time.now = T + later
        expect([before, reserved, used, later, await settled.left()]).toEqual([
          before,
          reserved,
          used,
          later,
          await known.left(),
        ])
      }
    }
  })
})

describe('a meter', () => {
  it('costs no call within the reservation, and settles to what was debited', async () => {
    const { one, reserve, left, write } = scene()
    const { reservation } = await reserve(500)
    const meter = one.meter(reservation)
    for (let i = 0; i < 4; i++) expect(await meter.debit(100)).toEqual({ stop: false })
    expect(write).toHaveBeenCalledTimes(1)
    expect(await meter.settle()).toBe(true)
    expect(await left()).toBe(600)
    expect(await meter.settle()).toBe(false)
    await expect(meter.debit(1)).rejects.toThrow('debit must come before settle, got it after')
  })

  it('settles to what is known in the end, whatever was debited', async () => {
    for (const [debited, total, charged] of [
      [100, 40, 40],
      [100, { costs: { tokens: 700 } }, 700],
      [620, 650, 650], // 120 are in the store, beside the reservation
      [620, {}, 620],
    ] as const) {
      const { one, reserve, left } = scene()
      const { reservation } = await reserve(500)
      const meter = one.meter(reservation)
      await meter.debit(debited)
      await expect(meter.settle({ costs: { tokns: 1 } } as never)).rejects.toThrow(/used must be units of tokens/)
      expect(await meter.settle(total)).toBe(true)
      expect(await left()).toBe(1000 - charged)
      expect(await meter.settle(1)).toBe(false)
    }
  })

  it('takes more from the limit while that has it, and says stop once it has not', async () => {
    const { one, reserve, left } = scene()
    const { reservation } = await reserve(500)
    await one.take('a', { costs: { tokens: 300 } })
    const meter = one.meter(reservation)
    expect(await Promise.all([meter.debit(400), meter.debit(250)])).toEqual([{ stop: false }, { stop: false }])
    expect(await left()).toBe(50)
    expect(await meter.debit({ costs: { tokens: 60 } })).toEqual({ stop: true })
    expect(await meter.debit(1)).toEqual({ stop: true })
    await meter.settle()
    expect(await one.take('a', { costs: { tokens: 1 } })).toMatchObject({ allowed: false })
    await one.refund('a', 0, { costs: { tokens: 11 } })
    expect(await left()).toBe(0)
    await one.refund('a', 0, { costs: { tokens: 1 } })
    expect(await left()).toBe(1)
  })

  it('asks at most once a second, or for a quarter of what the limit had left', async () => {
    const { one, reserve, left, write, time } = scene()
    const { reservation } = await reserve(100)
    const meter = one.meter(reservation)
    const callsOf = async (units: number) => {
      const before = write.mock.calls.length
      await meter.debit(units)
      return write.mock.calls.length - before
    }
    expect([await callsOf(100), await callsOf(9), await callsOf(3)]).toEqual([0, 0, 1]) // 888 are left
    expect([await callsOf(221), await callsOf(1)]).toEqual([0, 1]) // 666 are left
    time.now += 999
    expect(await callsOf(20)).toBe(0)
    time.now += 1
    expect([await callsOf(0), await left()]).toEqual([1, 646])
    time.now += 1000
    expect([await callsOf(9), await callsOf(1), await left()]).toEqual([0, 1, 636])
    await meter.settle()
    expect(await left()).toBe(636)
  })

  it('asks for a step at least, which is a positive integer', async () => {
    const { one, reserve, write } = scene()
    const { reservation } = await reserve(100)
    const meter = one.meter(reservation, { step: 50 })
    await meter.debit(149)
    expect(write).toHaveBeenCalledTimes(1)
    await meter.debit(1)
    expect(write).toHaveBeenCalledTimes(2)
    for (const step of [0, 1.5, '2'] as number[])
      await expect(one.meter(reservation, { step }).debit(1)).rejects.toThrow(
        `step must be a positive integer, got ${JSON.stringify(step)}`,
      )
  })

  it('makes no call once it has said stop', async () => {
    const { one, reserve, write } = scene()
    const { reservation } = await reserve(900)
    const meter = one.meter(reservation)
    expect(await meter.debit(1100)).toEqual({ stop: true })
    const { length } = write.mock.calls
    expect([await meter.debit(500), write.mock.calls.length]).toEqual([{ stop: true }, length])
  })

  it('debits each cost from all policies that count it, and from no other', async () => {
    const policies = [
      TOKENS,
      { ...TOKENS, name: 'daily', limit: 2000, window: '1d' },
      { ...TOKENS, name: 'images', limit: 10, cost: 'images' },
    ]
    const { one, left, write } = scene(policies)
    const { reservation } = await one.take('a', { costs: { tokens: 100, images: 2 }, reserve: '2m' })
    const meter = one.meter(reservation!)
    await meter.debit({ costs: { tokens: 150, images: 1 } })
    expect(write).toHaveBeenCalledTimes(2)
    expect([await left(), await left('daily'), await left('images')]).toEqual([850, 1850, 8])
    await meter.debit({ costs: { images: 4 } })
    expect([await left(), await left('images')]).toEqual([850, 5])
    expect(() => meter.debit(5)).rejects.toThrow('used must say which units by the names of costs, got 5')
    await meter.settle()
    expect([await left(), await left('daily'), await left('images')]).toEqual([850, 1850, 5])
  })

  it('takes from the store what was admitted without it as soon as it answers, and no more', async () => {
    const { store, time, left } = scene()
    const one = createLimiter({ store, policies: [TOKENS], clock: () => time.now, onStoreError: 'local' })
    const { reservation } = await one.take('a', { costs: { tokens: 100 }, reserve: '2m' })
    const meter = one.meter(reservation!)
    jest.mocked(store.write).mockRejectedValueOnce(new StoreUnavailableError('refused', 'away'))
    await meter.debit(150)
    expect(await left()).toBe(900)
    time.now += 1000
    await meter.debit(10)
    expect(await left()).toBe(1000 - 160)
    time.now += 1000
    await meter.debit(10)
    expect(await left()).toBe(1000 - 170)
    await meter.settle()
    expect(await left()).toBe(1000 - 170)
  })

  it('debits once, also where that was admitted without the store, which is asked again before it is settled', async () => {
    const { store, time, left } = scene()
    const one = createLimiter({ store, policies: [TOKENS], clock: () => time.now, onStoreError: 'local' })
    const { reservation } = await one.take('a', { costs: { tokens: 100 }, reserve: '2m' })
    const meter = one.meter(reservation!)
    jest.mocked(store.write).mockRejectedValueOnce(new StoreUnavailableError('refused', 'away'))
    expect(await meter.debit(150)).toEqual({ stop: false })
    time.now += 2000
    for (let i = 0; i < 2; i++) await one.take('a', { costs: { tokens: 1 } })
    expect(await meter.settle()).toBe(true)
    await one.close()
    expect(await left()).toBe(1000 - 150 - 2)
  })

  it('overshoots by a debit and a tenth of its reservation, and beside others by a quarter of what was left', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 60 }),
        async (reserved, debit) => {
          const { one, reserve } = scene()
          const streams = await Promise.all(reserved.map((tokens) => reserve(tokens)))
          const running = streams.filter(({ allowed }) => allowed).map(({ reservation }) => one.meter(reservation))
          let used = 0
          await Promise.all(
            running.map(async (meter) => {
              for (let stop = false; !stop; ) {
                used += debit
                stop = (await meter.debit(debit)).stop
              }
              await meter.settle()
            }),
          )
          const pieces = reserved.map(
            (tokens) => Math.max(Math.ceil(tokens / 10), running.length > 1 ? 250 : 0) + debit,
          )
          expect(used).toBeLessThanOrEqual(1000 + pieces.reduce((sum, one) => sum + one, 0))
        },
      ),
      { numRuns: runs(5, 500) },
    )
  })
})

describe('a reservation of 0 units, where no policy counts anything else,', () => {
  it('is held, and settled to what was used', async () => {
    const { one, reserve, left } = scene()
    const { reservation, allowed } = await reserve(0)
    expect([allowed, await left()]).toEqual([true, 1000])
    expect([await one.settle(reservation, 300), await left()]).toEqual([true, 700])
    expect(await one.settle(reservation, 300)).toBe(false)
  })

  it.each(['local', 'allow', 'deny'] as const)(
    'is decided by failure mode %s without the store',
    async (onStoreError) => {
      const store = new MemoryStore()
      jest.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
      const limiter = createLimiter({ store, policies: [TOKENS], onStoreError, deadlineMs: 20 })
      const decision = await limiter.take('a', { costs: { tokens: 0 }, reserve: '2m' })
      expect(decision).toMatchObject({ allowed: onStoreError !== 'deny', degraded: true })
      expect(decision.reservation).toBeUndefined()
    },
  )
})

describe('reservations whose time has long been over', () => {
  it('are purged by takes that reserve nothing, also of the only writer, and by nobody before an hour', async () => {
    const { one, reserve, store, time } = scene([TOKENS, REQUESTS])
    for (let i = 0; i < 20; i++) await reserve(1)
    const stored = async () => {
      const [key] = [...(store as unknown as { items: Map<string, unknown> }).items.keys()]
      const { policies } = await store.read(key!)
      const { n, ...held } = Object.values(policies).find((fields) =>
        Object.keys(fields).some((id) => id.length === 25),
      )!
      return [n, Object.keys(held).length]
    }
    time.now += 3_600_000
    await one.take('a')
    expect(await stored()).toEqual([20, 20])
    time.now += 122_000
    await one.take('a')
    await expect(stored()).rejects.toThrow(TypeError) // only `n` is left, which is 0
    await reserve(1)
    expect(await stored()).toEqual([1, 1])
  })
})
