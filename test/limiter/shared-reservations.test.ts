import fc from 'fast-check'
import { createLimiter, type PolicyInput } from '../../limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs, thoroughly } from '../runs'
import { FaultyStore, STORE_FAULTS, type StoreFault } from './faulty-store'
import { COUNTINGS } from './lost-answers'

/** In the future, as the other tests of lost answers. */
const NOW = Date.UTC(2090, 0, 1, 0, 20)
const LIMIT = 1000
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: LIMIT, window: '1h', cost: 'tokens' }
const EVERYBODY: PolicyInput = { ...TOKENS, name: 'everybody', limit: 100_000 }

function scene(policies: readonly PolicyInput[] = [TOKENS, EVERYBODY], store = new MemoryStore()) {
  const time = { now: NOW }
  const write = jest.spyOn(store, 'write')
  const limiterOf = (of: MemoryStore | FaultyStore = store) =>
    createLimiter({ store: of, policies, clock: () => time.now, onStoreError: 'throw', deadlineMs: 5000 })
  const one = limiterOf()
  const reserve = (caller: string, tokens: number, by = one) =>
    by.takeAll(
      [
        { subject: caller, policies: [policies[0]!.name] },
        { subject: 'all', policies: [policies[1]!.name] },
      ],
      { costs: { tokens }, reserve: '2m' },
    )
  const used = async (subject: string, i: number) => {
    const { limit, remaining } = (await limiterOf().peek(subject, { cost: 0 })).policies[policies[i]!.name]!
    return limit - remaining
  }
  return {
    store,
    write,
    time,
    limiterOf,
    one,
    reserve,
    usedOf: (caller: string) => used(caller, 0),
    usedByAll: () => used('all', 1),
  }
}

describe('a reservation of several subjects', () => {
  it('stands with the first, and is settled in all of them by as many writes', async () => {
    const { reserve, limiterOf, usedOf, usedByAll, write } = scene()
    const { reservation, chargedAt } = await reserve('a', 500)
    expect([write.mock.calls.length, chargedAt]).toEqual([2, null])
    expect(await limiterOf().settle(reservation!, 200)).toBe(true)
    expect(write).toHaveBeenCalledTimes(4)
    expect([await usedOf('a'), await usedByAll()]).toEqual([200, 200])
    const more = await reserve('b', 500)
    expect(await limiterOf().settle(more.reservation!, 800)).toBe(true)
    expect(write).toHaveBeenCalledTimes(9) // a debt of everybody waits until the reservation was seen
    expect([await usedOf('b'), await usedByAll()]).toEqual([800, 1000])
    expect(await limiterOf().settle(more.reservation!, 800)).toBe(false)
    expect(await usedByAll()).toBe(1000)
  })

  it.each([
    [1, 2],
    [2, 3],
    [8, 3],
  ])('is settled by %i processes by %i writes, while others reserve', async (processes, writes) => {
    const { reserve, limiterOf, write, time } = scene([TOKENS, { ...EVERYBODY, algorithm: 'sliding-window' }])
    const settlers = Array.from({ length: processes }, () => limiterOf())
    const open = await Promise.all(Array.from({ length: 10 }, (_, i) => reserve(`c${i}`, 100)))
    let calls = 0
    for (let i = 0; i < 100; i++) {
      time.now += 20
      open.push(await reserve(`c${(i + 10) % 40}`, 1))
      const before = write.mock.calls.length
      expect(await settlers[i % processes]!.settle(open.shift()!.reservation!, 0)).toBe(true)
      calls += write.mock.calls.length - before
    }
    expect(calls / 100).toBeLessThan(writes + 0.1)
  })

  thoroughly('uses up the places of its caller, and closes nothing for others', async () => {
    const { reserve } = scene([{ ...TOKENS, limit: 10_000 }, EVERYBODY])
    const open = await Promise.all(Array.from({ length: 1000 }, () => reserve('a', 1)))
    expect(open.every(({ allowed }) => allowed)).toBe(true)
    expect(await reserve('a', 1)).toMatchObject({ allowed: false, policy: 'reservations' })
    expect(await reserve('b', 1)).toMatchObject({ allowed: true })
  })

  it('stands with a caller of whom it takes nothing else, by one more write', async () => {
    const { one, limiterOf, usedByAll, write } = scene()
    const { reservation } = await one.takeAll(
      [
        { subject: 'a', policies: ['tokens'], costs: { tokens: 0 } },
        { subject: 'all', policies: ['everybody'], costs: { tokens: 5 } },
      ],
      { reserve: '2m' },
    )
    expect(write).toHaveBeenCalledTimes(2)
    expect(await limiterOf().settle(reservation!, 9)).toBe(true)
    expect(await usedByAll()).toBe(9)
  })

  it('is settled by a process that saw the others long ago, also their slots', async () => {
    const { one, limiterOf, reserve, usedByAll, time } = scene([
      TOKENS,
      { ...EVERYBODY, algorithm: 'sliding-window', window: '1m' },
    ])
    const backend = limiterOf()
    for (let minute = 0; minute < 4; minute++) {
      for (const used of [5, 700]) {
        const { reservation } = await reserve('a', 50, one)
        expect(await backend.settle(reservation!, used === 5 ? 5 : 50)).toBe(true)
      }
      time.now += 120_000
      await one.reset('a')
    }
    time.now -= 120_000
    expect(await usedByAll()).toBe(55)
  })

  it('is settled once where two calls come at the same moment, and where a subject stands in it twice', async () => {
    const { one, limiterOf, reserve, usedByAll, usedOf } = scene()
    const { reservation } = await reserve('a', 100)
    const settler = limiterOf()
    const answers = await Promise.all([1, 2, 3].map(() => settler.settle(reservation!, 150)))
    expect(answers).toEqual([true, false, false])
    const twice = await one.takeAll(
      [
        { subject: 'b', policies: ['tokens'] },
        { subject: 'b', policies: ['everybody'] },
      ],
      { costs: { tokens: 500 }, reserve: '2m' },
    )
    expect(await limiterOf().settle(twice.reservation!, 5)).toBe(true)
    expect([await usedByAll(), await usedOf('b')]).toEqual([150, 5])
  })

  it('opens no anchored window where a debt comes after the window of its request', async () => {
    const { limiterOf, reserve, time, one } = scene([
      TOKENS,
      { ...EVERYBODY, algorithm: 'anchored-window', window: '1m' },
    ])
    const { reservation } = await reserve('a', 10)
    time.now += 90_000
    await limiterOf().settle(reservation!, 40)
    time.now += 30_000
    await one.takeAll([{ subject: 'all', policies: ['everybody'] }], { costs: { tokens: 1 } })
    time.now += 59_999
    const { policies } = await one.peek('all', { cost: 0 })
    expect(policies.everybody).toMatchObject({ remaining: 99_999, resetAfterMs: 1 })
  })

  it.each(['', '0', 'zzzzzzzz', 'mf800000'])(
    'moves nothing by a time that somebody has written into its token (%s)',
    async (written) => {
      for (const algorithm of ['fixed-window', 'sliding-window', 'anchored-window', 'gcra', 'sliding-log'] as const) {
        const { limiterOf, reserve, usedByAll, one } = scene([TOKENS, { ...EVERYBODY, algorithm, limit: 1000 }])
        await one.take('all', { costs: { tokens: 90 } })
        const { reservation } = await reserve('a', 10)
        const [version, text, , ...rest] = reservation!.split('.')
        const forged = [version, text, written, ...rest].join('.')
        expect([algorithm, await limiterOf().settle(forged, 30), await usedByAll()]).toEqual([algorithm, true, 120])
      }
    },
  )

  it('is gone after a reset of its caller: the others keep what was reserved', async () => {
    const { one, limiterOf, reserve, usedByAll } = scene()
    for (const used of [0, 900]) {
      const { reservation } = await reserve('a', 500)
      await one.reset('a')
      expect(await limiterOf().settle(reservation!, used)).toBe(false)
    }
    expect(await usedByAll()).toBe(1000)
  })

  it('gives nothing back to a subject that was reset since', async () => {
    const { one, limiterOf, reserve, usedByAll, usedOf, time } = scene()
    const { reservation } = await reserve('a', 500)
    await one.reset('all')
    time.now += 1
    await reserve('b', 300)
    expect(await limiterOf().settle(reservation!, 100)).toBe(true)
    expect([await usedOf('a'), await usedByAll()]).toEqual([100, 300])
  })

  it('charges the others nothing by a token that names no reservation', async () => {
    const { limiterOf, reserve, usedByAll } = scene()
    const [first, second] = [await reserve('a', 100), await reserve('a', 100)]
    const [, text] = first.reservation!.split('.')
    const [, , ...rest] = second.reservation!.split('.')
    expect(await limiterOf().settle(['2', text, ...rest].join('.'), 150)).toBe(true) // the other's time is the same
    expect(await limiterOf().settle(first.reservation!, 900)).toBe(false)
    expect(await usedByAll()).toBe(250)
  })
})

const COURSES = fc.record({
  faults: fc.array(fc.constantFrom<StoreFault | undefined>(undefined, ...STORE_FAULTS), { maxLength: 5 }),
  faultsAgain: fc.array(fc.constantFrom<StoreFault | undefined>(undefined, ...STORE_FAULTS), { maxLength: 3 }),
  meanwhile: fc.constantFrom(
    'nothing',
    'own request',
    'request of another',
    'settled by another',
    'reset',
    'reset of all',
  ),
  reserved: fc.integer({ min: 1, max: 30 }),
  used: fc.integer({ min: 0, max: 50 }),
  atAnother: fc.boolean(),
  isRepeated: fc.boolean(),
})

const { 'leaky-bucket as a queue': _, ...SETTLED } = COUNTINGS

describe.each(Object.entries(SETTLED))(
  '%s of everybody, where calls and answers are lost, late, copied or sent twice, and processes end between two calls',
  (_name, counting) => {
    it('is never left with less than what was used, and with no more where nothing was lost', async () => {
      const policies = [TOKENS, { ...TOKENS, name: 'everybody', limit: 200, ...counting }]
      await fc.assert(
        fc.asyncProperty(COURSES, async ({ faults, faultsAgain, meanwhile, reserved, used, atAnother, isRepeated }) => {
          const inner = new MemoryStore()
          const store = new FaultyStore(inner)
          const { limiterOf, reserve, usedByAll, usedOf } = scene(policies, inner)
          const [one, other] = [limiterOf(store), limiterOf()]
          const { reservation } = await reserve('a', reserved, one)
          let others = 0
          let resets = 0
          const between = async () => {
            if (meanwhile === 'own request' || meanwhile === 'request of another') {
              const by = meanwhile === 'own request' ? one : other
              const { allowed } = await by.take('all', { costs: { tokens: 3 } }).catch(() => ({ allowed: false }))
              if (allowed) others += 3
            }
            if (meanwhile === 'settled by another') await other.settle(reservation!, used)
            if (meanwhile === 'reset') await other.reset('a')
            if (meanwhile === 'reset of all') await other.reset('all')
            if (meanwhile.startsWith('reset')) resets++
          }
          store.plan(faults, between)
          const settler = atAnother ? limiterOf(store) : one
          const answers = [await settler.settle(reservation!, used).catch(() => undefined)]
          store.plan(faultsAgain)
          const again = isRepeated ? settler : limiterOf(store)
          answers.push(await again.settle(reservation!, used).catch(() => undefined))
          store.plan([])
          await store.deliverDelayed()
          answers.push(await limiterOf().settle(reservation!, used))
          await store.deliverDelayed()
          const context = { charged: await usedByAll(), own: await usedOf('a'), used, others, resets, answers }
          const isReset = meanwhile === 'reset of all' && resets > 0
          const atLeast = isReset ? 0 : (meanwhile === 'reset' && resets > 0 ? Math.min(used, reserved) : used) + others
          expect([context.charged >= atLeast, context]).toEqual([true, context])
          const isCalm = [...faults, ...faultsAgain].every((fault) => fault === undefined) && resets === 0
          if (isCalm && meanwhile !== 'settled by another')
            expect([context.charged <= used + others, context]).toEqual([true, context])
        }),
        { numRuns: runs(40, 3000) },
      )
    })
  },
)
