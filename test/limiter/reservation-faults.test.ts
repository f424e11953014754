import fc from 'fast-check'
import { createLimiter, type PolicyInput } from '../../limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'
import { FaultyStore, STORE_FAULTS, type StoreFault } from './faulty-store'
import { COUNTINGS } from './lost-answers'

/** In the future, as the other tests of lost answers. */
const NOW = Date.UTC(2090, 0, 1, 0, 20)
const LIMIT = 100

const MEANWHILE = ['nothing', 'own request', 'request of another', 'settled by another', 'refund', 'reset'] as const

const COURSES = fc.record({
  faults: fc.array(fc.constantFrom<StoreFault | undefined>(undefined, ...STORE_FAULTS), { maxLength: 4 }),
  faultsAgain: fc.array(fc.constantFrom<StoreFault | undefined>(undefined, ...STORE_FAULTS), { maxLength: 2 }),
  meanwhile: fc.constantFrom(...MEANWHILE),
  reserved: fc.integer({ min: 1, max: 30 }),
  used: fc.integer({ min: 0, max: 50 }),
  atAnother: fc.boolean(),
})

const { 'leaky-bucket as a queue': _, ...SETTLED } = COUNTINGS

describe.each(Object.entries(SETTLED))(
  '%s, where calls and answers are lost, late, copied or sent twice',
  (_name, counting) => {
    it('a settlement counts once, whoever asks for it again, and never after a reset', async () => {
      const policies: readonly PolicyInput[] = [
        { name: 'tokens', limit: LIMIT, window: '1h', cost: 'tokens', ...counting },
      ]
      await fc.assert(
        fc.asyncProperty(COURSES, async ({ faults, faultsAgain, meanwhile, reserved, used, atAnother }) => {
          const inner = new MemoryStore()
          const store = new FaultyStore(inner)
          const limiterOf = (of = store as never) =>
            createLimiter({ store: of, policies, clock: () => NOW, onStoreError: 'throw', deadlineMs: 5000 })
          const [one, other] = [limiterOf(), limiterOf(inner as never)]
          const { reservation } = await one.take('a', { costs: { tokens: reserved }, reserve: '2m' })
          let others = 0
          let isReset = false
          const between = async () => {
            if (meanwhile === 'own request' || meanwhile === 'request of another') {
              const { allowed } = await limiterOf(inner as never).take('a', { costs: { tokens: 3 } })
              if (allowed) others += 3
            }
            if (meanwhile === 'settled by another') await other.settle(reservation!, used)
            if (meanwhile === 'refund') await other.refund('a', 0, { costs: { tokens: 1 } })
            if (meanwhile === 'reset') {
              await other.reset('a')
              isReset = true
              others = 0
            }
          }
          store.plan(faults, between)
          const settler = atAnother ? limiterOf() : one
          await settler.settle(reservation!, used).catch(() => {})
          store.plan(faultsAgain)
          await settler.settle(reservation!, used).catch(() => {})
          store.plan([])
          await store.deliverDelayed()
          await limiterOf().settle(reservation!, used)
          await store.deliverDelayed()
          const { remaining } = (await other.peek('a', { cost: 0 })).policies.tokens!
          const total = isReset ? others : used + others
          const refunded = meanwhile === 'refund' ? 1 : 0
          const context = { remaining, total, isReset, refunded }
          // a late copy of the settlement may come after the reset: it finds nothing
          expect([remaining >= Math.max(0, LIMIT - total), context]).toEqual([true, context])
          expect([remaining <= LIMIT - total + refunded || total > LIMIT, context]).toEqual([true, context])
        }),
        { numRuns: runs(30, 2000) },
      )
    })
  },
)
