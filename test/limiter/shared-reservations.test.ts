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
    expect(write).toHaveBeenCalledTimes(8)
    expect([await usedOf('b'), await usedByAll()]).toEqual([800, 1000])
    expect(await limiterOf().settle(more.reservation!, 800)).toBe(false)
    expect(await usedByAll()).toBe(1000)
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
