import fc from 'fast-check'
import type { FixedWindowQuota } from '../../limiter/algorithms/fixed-window'
import { type Usage, usageOf } from '../../limiter/algorithms/metered-window'
import { compile, fieldsOf } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import type { PolicyInput } from '../../limiter/policies/policy'
import type { StateStore } from '../../limiter/stores/store'
import { subjectKey } from '../../limiter/subject-key'
import { runs } from '../runs'
import { describeStores } from '../stores'
import { CountingStore, limiterOn, TestClock } from './limiters'

const monthly = (limit: number, overage: 'allow' | 'deny' = 'allow'): PolicyInput => ({
  name: 'monthly',
  algorithm: 'fixed-window',
  limit,
  window: 'month',
  timezone: 'Europe/Berlin',
  overage,
})

/** The usage of a subject, read from the state table as the command line does. */
async function recorded(store: StateStore, subject: string): Promise<Pick<Usage, 'used' | 'overage'>[]> {
  const policy = compile(parsePolicies([monthly(1)], [], [])[0]!)
  const fields = fieldsOf(await store.read(subjectKey(subject)), policy)!
  return usageOf(fields, policy.quota as FixedWindowQuota).map(({ used, overage }) => ({ used, overage }))
}

let subjects = 0
const newSubject = () => `client:overage-${process.pid}-${subjects++}`

describe('a quota with overage', () => {
  describeStores((opened, name) => {
    it('records every unit of eight concurrent limiters, and exactly the overage', async () => {
      const anyCosts = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }), {
        minLength: 8,
        maxLength: 8,
      })
      await fc.assert(
        fc.asyncProperty(anyCosts, fc.integer({ min: 1, max: 120 }), async (costs, limit) => {
          const { store } = opened()
          const [clock, subject] = [new TestClock(), newSubject()]
          const decisions = await Promise.all(
            costs.map(async (own) => {
              const limiter = limiterOn(store, clock, [monthly(limit)], { deadlineMs: 20_000 })
              const told = []
              for (const cost of own) told.push({ cost, ...(await limiter.take(subject, { cost })) })
              return told
            }),
          )
          const used = costs.flat().reduce((sum, cost) => sum + cost, 0)
          const overage = Math.max(0, used - limit)
          expect(await recorded(store, subject)).toEqual([{ used, overage }])

          const all = decisions.flat()
          expect(all.every(({ allowed }) => allowed)).toBe(true)
          expect(Math.max(...all.map((decision) => decision.overage!))).toBe(overage)
          const past = all.filter((decision) => decision.overage! > 0).map((decision) => decision.overage!)
          expect(new Set(past).size).toBe(past.length) // each request reports another count
        }),
        { numRuns: name === 'memory' ? runs(15, 50) : runs(2, 4) },
      )
    })

    it('reports to coalesced requests what it records', async () => {
      const { store } = opened()
      const subject = newSubject()
      const limiter = limiterOn(store, new TestClock(), [monthly(10)])
      const costs = Array.from({ length: 20 }, (_, i) => (i % 3) + 1)
      const decisions = await Promise.all(costs.map((cost) => limiter.take(subject, { cost })))
      let used = 0
      for (const [i, cost] of costs.entries()) {
        used += cost
        expect(decisions[i]).toMatchObject({
          allowed: true,
          remaining: Math.max(0, 10 - used),
          overage: Math.max(0, used - 10),
        })
      }
      expect(await recorded(store, subject)).toEqual([{ used, overage: used - 10 }])
    })

    it('keeps months apart, and keeps overage when the limit is raised in between', async () => {
      const { store } = opened()
      // a minute before April in Berlin
      const [clock, subject] = [new TestClock(Date.parse('2026-03-31T21:59:00Z')), newSubject()]
      await limiterOn(store, clock, [monthly(10)]).take(subject, { cost: 14 })
      await limiterOn(store, clock, [monthly(20)]).take(subject, { cost: 5 })
      expect(await recorded(store, subject)).toEqual([{ used: 19, overage: 4 }])
      clock.at += 60_000
      expect(await limiterOn(store, clock, [monthly(20)]).take(subject, { cost: 21 })).toMatchObject({
        remaining: 0,
        overage: 1,
      })
      expect(await recorded(store, subject)).toEqual([
        { used: 21, overage: 1 },
        { used: 19, overage: 4 },
      ])
    })

    it('refunds a request that the policy of another subject denied', async () => {
      const { store } = opened()
      const [client, address] = [newSubject(), newSubject()]
      const limiter = limiterOn(store, new TestClock(), [monthly(5), { name: 'per-minute', limit: 1, window: '1m' }])
      const request = [
        { subject: client, policies: ['monthly'], cost: 4 },
        { subject: address, policies: ['per-minute'] },
      ]
      expect(await limiter.takeAll(request)).toMatchObject({ allowed: true })
      // has no cached denial yet
      const other = limiterOn(store, new TestClock(), [monthly(5), { name: 'per-minute', limit: 1, window: '1m' }])
      expect(await other.takeAll(request)).toMatchObject({ allowed: false, policy: 'per-minute' })
      expect(await recorded(store, client)).toEqual([{ used: 4, overage: 0 }])
    })

    it('keeps its count when overage is denied, and when it is allowed again', async () => {
      const { store } = opened()
      const [clock, subject] = [new TestClock(), newSubject()]
      const [allowing, denying] = [limiterOn(store, clock, [monthly(5)]), limiterOn(store, clock, [monthly(5, 'deny')])]
      expect(await denying.take(subject, { cost: 4 })).toMatchObject({ allowed: true, remaining: 1 })
      expect(await denying.take(subject, { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
      expect(await allowing.take(subject, { cost: 2 })).toMatchObject({ allowed: true, overage: 1 })
      const fresh = limiterOn(store, clock, [monthly(5, 'deny')])
      expect(await fresh.take(subject)).toMatchObject({ allowed: false, remaining: 0 })
      expect(await allowing.take(subject)).toMatchObject({ allowed: true, overage: 2 })
      expect(await recorded(store, subject)).toEqual([{ used: 7, overage: 2 }])
    })
  })

  it('needs one call for each request, also past the limit, while no other instance writes', async () => {
    const store = new CountingStore()
    const limiter = limiterOn(store, new TestClock(), [monthly(5)])
    for (let i = 0; i < 9; i++) await limiter.take('client:a', { cost: 2 })
    expect(store.calls).toBe(9)
  })
})
