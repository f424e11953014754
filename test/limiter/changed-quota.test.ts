import fc from 'fast-check'
import { MemoryStore, type PolicyInput } from '../../limiter'
import { type CompiledPolicy, compile } from '../../limiter/compiled-policy'
import type { Mistake } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import type { StateStore } from '../../limiter/stores/store'
import { subjectKey } from '../../limiter/subject-key'
import { runs } from '../runs'
import { describeStores } from '../stores'
import { CountingStore, everyAlgorithm, TestClock } from './limiters'

/** Compiles policies anew, as after a change of the configuration. */
const compiled = (...inputs: PolicyInput[]): CompiledPolicy[] => {
  const issues: Mistake[] = []
  const policies = parsePolicies(inputs, [], issues).map((policy) => compile(policy))
  expect(issues).toEqual([])
  return policies
}

const limiterOf = (store: StateStore, clock: TestClock) =>
  new RateLimiter({ store, clock: clock.read, onStoreError: 'throw', deadlineMs: 10_000 })

let subjects = 0
const newKey = () => subjectKey(`client:changed-${process.pid}-${subjects++}`)

/**
 * Whether an algorithm keeps a pace. Its level is converted to the new pace except for what drains in a second, which
 * stays a second, since clocks may differ by that much.
 */
const keepsPace = ({ algorithm, refill }: PolicyInput): boolean =>
  algorithm === 'gcra' || algorithm === 'leaky-bucket' || (algorithm === 'token-bucket' && refill !== 'interval')

const EVERY = everyAlgorithm(10)
const COUNTING = EVERY.filter((policy) => !keepsPace(policy))
const PACING = EVERY.filter((policy) => keepsPace(policy) && policy.mode !== 'queue')
const QUEUE = EVERY.find(({ mode }) => mode === 'queue')!

describe('a raised limit', () => {
  describeStores((opened) => {
    it.each(COUNTING)('applies at once and keeps what was used: $name', async (policy) => {
      const limiter = limiterOf(opened().store, new TestClock())
      const key = newKey()
      const [small, large] = [compiled(policy), compiled({ ...policy, limit: 15 })]
      await limiter.decide([{ key, policies: small, cost: 10 }])
      expect(await limiter.decide([{ key, policies: small, cost: 1 }])).toMatchObject({ allowed: false, remaining: 0 })
      expect(await limiter.decide([{ key, policies: large, cost: 1 }])).toMatchObject({
        allowed: true,
        limit: 15,
        remaining: 4,
      })
      expect(await limiter.decide([{ key, policies: large, cost: 5 }])).toMatchObject({ allowed: false, remaining: 4 })
    })

    it.each(PACING)(
      'applies at once and keeps what was used, with at most a second more, where a pace is kept: $name',
      async (policy) => {
        const clock = new TestClock()
        const limiter = limiterOf(opened().store, clock)
        const key = newKey()
        const [small, large] = [compiled(policy), compiled({ ...policy, limit: 60 })]
        await limiter.decide([{ key, policies: small, cost: 10 }])
        expect(await limiter.decide([{ key, policies: small, cost: 1 }])).toMatchObject({
          allowed: false,
          retryAfterMs: 6000,
        })
        // Ten units owed took 60 s: one second of them stays one, and 59 s become 9.8 s of the new pace.
        expect(await limiter.decide([{ key, policies: large, cost: 50 }])).toMatchObject({
          allowed: false,
          remaining: 49,
        })
        expect(await limiter.decide([{ key, policies: large, cost: 49 }])).toMatchObject({
          allowed: true,
          limit: 60,
          remaining: 0,
        })
        expect(await limiter.decide([{ key, policies: large, cost: 1 }])).toMatchObject({
          allowed: false,
          retryAfterMs: 834,
        })
      },
    )
  })

  it.each(PACING)(
    'applies at the latest after the time that docs/limitations.md gives, where the burst is set apart from the limit: $name',
    async (policy) => {
      const clock = new TestClock()
      const limiter = limiterOf(new MemoryStore(), clock)
      const key = newKey()
      const at = (limit: number) => compiled({ ...policy, limit, burst: 20 })
      const [slow, fast] = [at(10), at(100)]
      await limiter.decide([{ key, policies: slow, cost: 20 }])
      const { allowed, retryAfterMs } = await limiter.decide([{ key, policies: fast, cost: 1 }])
      expect({ allowed, retryAfterMs }).toEqual({ allowed: false, retryAfterMs: 6000 + 1000 * (6000 / 600 - 1) })
      clock.at += retryAfterMs - 1
      expect(await limiter.decide([{ key, policies: fast, cost: 1 }])).toMatchObject({
        allowed: false,
        retryAfterMs: 1,
      })
      clock.at += 1
      expect(await limiter.decide([{ key, policies: fast, cost: 1 }])).toMatchObject({ allowed: true })
      expect(await limiter.decide([{ key, policies: fast, cost: 1 }])).toMatchObject({
        allowed: false,
        retryAfterMs: 600,
      })
    },
  )

  it('lets no request overtake a queue: it is admitted once there is room behind the slots that were assigned', async () => {
    const clock = new TestClock()
    const limiter = limiterOf(new MemoryStore(), clock)
    const key = newKey()
    const [slow, fast] = [10, 100].map((limit) => compiled({ ...QUEUE, limit, burst: 20, maxDelay: '5m' }))
    await limiter.decide([{ key, policies: slow!, cost: 20 }])
    const denied = await limiter.decide([{ key, policies: fast!, cost: 1 }])
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 20 * (6000 - 600) + 600 })
    clock.at += denied.retryAfterMs
    expect(await limiter.decide([{ key, policies: fast!, cost: 1 }])).toMatchObject({
      allowed: true,
      delayMs: 19 * 600,
    })
  })

  it.each(COUNTING)('ends a cached denial: $name', async (policy) => {
    const store = new CountingStore()
    const limiter = limiterOf(store, new TestClock())
    const [key, other] = [newKey(), newKey()]
    const [small, large] = [compiled(policy), compiled({ ...policy, limit: 11 })]
    await limiter.decide([{ key, policies: small, cost: 10 }])
    await limiter.decide([{ key, policies: small, cost: 1 }])
    const known = store.calls
    for (let i = 0; i < 5; i++) expect((await limiter.decide([{ key, policies: small, cost: 1 }])).allowed).toBe(false)
    const together = (policies: CompiledPolicy[]) =>
      limiter.decide([key, other].map((one) => ({ key: one, policies, cost: 1 })))
    expect((await together(small)).allowed).toBe(false)
    expect(store.calls).toBe(known) // all of these denials came from memory
    expect(await together(large)).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('decides each of several waiting requests of a subject by the policies that it came with', async () => {
    const limiter = limiterOf(new MemoryStore(), new TestClock())
    const key = newKey()
    const [small, large] = [10, 12].map((limit) =>
      compiled({ name: 'log', algorithm: 'sliding-log', limit, window: '1m' }),
    )
    await limiter.decide([{ key, policies: small!, cost: 9 }])
    const asked = [small!, small!, large!, small!, large!, large!]
    const decisions = await Promise.all(asked.map((policies) => limiter.decide([{ key, policies, cost: 1 }])))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true, false, true, false])
  })
})

describe('a lowered limit', () => {
  const anyPauseMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 }))
  const anyTraffic = fc.array(fc.record({ pauseMs: anyPauseMs, cost: fc.integer({ min: 1, max: 10 }) }), {
    minLength: 1,
    maxLength: 40,
  })
  const anyPauses = fc.array(anyPauseMs, { minLength: 1, maxLength: 60 })

  it.each(COUNTING)('counts what was used against the new limit: $name', async (policy) => {
    const limiter = limiterOf(new MemoryStore(), new TestClock())
    const key = newKey()
    await limiter.decide([{ key, policies: compiled(policy), cost: 6 }])
    expect(await limiter.decide([{ key, policies: compiled({ ...policy, limit: 7 }), cost: 2 }])).toMatchObject({
      allowed: false,
    })
    expect(await limiter.decide([{ key, policies: compiled({ ...policy, limit: 7 }), cost: 1 }])).toMatchObject({
      allowed: true,
    })
    expect(await limiter.decide([{ key, policies: compiled({ ...policy, limit: 3 }), cost: 1 }])).toMatchObject({
      allowed: false,
    })
  })

  it.each(EVERY)('admits from then on no more than it would admit to a new subject: $name', (policy) =>
    fc.assert(
      fc.asyncProperty(anyTraffic, anyPauses, fc.integer({ min: 1, max: 9 }), async (before, after, limit) => {
        const clock = new TestClock()
        const store = new MemoryStore()
        const [one, another] = [limiterOf(store, clock), limiterOf(store, clock)]
        const [old, lowered] = [compiled(policy), compiled({ ...policy, limit })]
        const [used, fresh] = [newKey(), newKey()]
        for (const { pauseMs, cost } of before) {
          clock.at += pauseMs
          await one.decide([{ key: used, policies: old, cost }])
        }
        // The same requests to a new subject, which must never have admitted less.
        const admitted = { used: 0, fresh: 0 }
        for (const pauseMs of after) {
          clock.at += pauseMs
          if ((await another.decide([{ key: used, policies: lowered, cost: 1 }])).allowed) admitted.used += 1
          if ((await another.decide([{ key: fresh, policies: lowered, cost: 1 }])).allowed) admitted.fresh += 1
          expect(admitted.used).toBeLessThanOrEqual(
            admitted.fresh + (policy.algorithm === 'anchored-window' ? limit : 0),
          )
        }
      }),
      { numRuns: runs(15, 40) },
    ),
  )
})

describe('a policy changed in another way', () => {
  const sibling: PolicyInput = { name: 'sibling', algorithm: 'sliding-window', limit: 100, window: '1h' }

  describeStores((opened) => {
    const changes = EVERY.flatMap((policy) => [
      { policy, what: 'window', changed: { ...policy, window: policy.window === 'day' ? 'week' : '2m' } },
      {
        policy,
        what: 'algorithm',
        changed: {
          name: policy.name,
          limit: 10,
          window: '1m',
          algorithm: policy.algorithm === 'gcra' ? 'sliding-log' : 'gcra',
        } as const,
      },
    ])
    it.each(changes)(
      'starts afresh, and nothing else does: $policy.name with another $what',
      async ({ policy, changed }) => {
        const limiter = limiterOf(opened().store, new TestClock())
        const key = newKey()
        await limiter.decide([{ key, policies: compiled(policy, sibling), cost: 10 }])
        expect(await limiter.decide([{ key, policies: compiled(policy, sibling), cost: 1 }])).toMatchObject({
          allowed: false,
        })

        const told = await limiter.decide([{ key, policies: compiled(changed, sibling), cost: 2 }])
        expect(told).toMatchObject({
          allowed: true,
          policies: { [policy.name]: { remaining: 8 }, sibling: { remaining: 88 } },
        })
        // And back: the earlier count is still there.
        expect(await limiter.decide([{ key, policies: compiled(policy, sibling), cost: 1 }])).toMatchObject({
          allowed: false,
        })
      },
    )

    it('starts afresh in another time zone', async () => {
      const limiter = limiterOf(opened().store, new TestClock())
      const key = newKey()
      const daily = (timezone: string) =>
        compiled({ name: 'daily', algorithm: 'fixed-window', limit: 5, window: 'day', timezone }, sibling)
      await limiter.decide([{ key, policies: daily('Europe/Berlin'), cost: 5 }])
      const told = await limiter.decide([{ key, policies: daily('Asia/Tokyo'), cost: 1 }])
      expect(told.policies).toMatchObject({ daily: { remaining: 4 }, sibling: { remaining: 94 } })
    })
  })
})
