import { CostError, createLimiter, type Decision, SubjectError } from '../../limiter'
import { describeStores } from '../stores'
import { Fleet } from './fleet'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

const perMinute = { name: 'per-minute', algorithm: 'fixed-window', limit: 3, window: '1m' } as const
const perHour = { name: 'per-hour', algorithm: 'fixed-window', limit: 4, window: '1h' } as const

let subjects = 0
const newSubject = () => `client:${Math.random()}-${subjects++}`

describe('a limiter', () => {
  describeStores((opened) => {
    for (const policy of everyAlgorithm(5)) {
      it(`admits exactly the limit, reports the exact retry time, and admits again after it: ${policy.name}`, async () => {
        const clock = new TestClock()
        const limiter = limiterOn(opened().store, clock, [policy])
        const subject = newSubject()
        const remaining: number[] = []
        for (let i = 0; i < 5; i++) remaining.push(expectAllowed(await limiter.take(subject)).remaining)
        expect(remaining).toEqual([4, 3, 2, 1, 0])

        const denied = await limiter.take(subject)
        expect(denied).toMatchObject({ allowed: false, policy: policy.name, limit: 5, remaining: 0, degraded: false })
        expect(denied.retryAfterMs).toBeGreaterThan(0)
        clock.at += denied.retryAfterMs - 1
        expect(await limiter.take(subject)).toMatchObject({ allowed: false, retryAfterMs: 1 })
        clock.at += 1
        expectAllowed(await limiter.take(subject))
        expect(await limiter.take(subject, { cost: 6 })).toMatchObject({ allowed: false, retryAfterMs: Infinity })
      })
    }

    it('charges all policies or none, and names the one that denies', async () => {
      const clock = new TestClock()
      const limiter = limiterOn(opened().store, clock, [perMinute, perHour])
      const subject = newSubject()
      for (let i = 0; i < 3; i++) expectAllowed(await limiter.take(subject))
      const denied = await limiter.take(subject)
      expect(denied).toMatchObject({
        allowed: false,
        policy: 'per-minute',
        limit: 3,
        remaining: 0,
        retryAfterMs: 60_000,
      })
      expect(denied.policies).toMatchObject({
        'per-minute': { allowed: false, remaining: 0 },
        'per-hour': { allowed: true, remaining: 1, limit: 4 },
      })

      clock.at += 60_000
      expect(await limiter.take(subject)).toMatchObject({ allowed: true, policy: 'per-hour', remaining: 0 })
      expect(await limiter.take(subject)).toMatchObject({
        allowed: false,
        policy: 'per-hour',
        retryAfterMs: 59 * 60_000,
      })
    })

    it('reports the longest retry time of several policies that deny', async () => {
      const clock = new TestClock()
      const limiter = limiterOn(opened().store, clock, [
        { ...perMinute, limit: 1 },
        { ...perHour, limit: 1 },
      ])
      const subject = newSubject()
      await limiter.take(subject)
      expect(await limiter.take(subject)).toMatchObject({ policy: 'per-minute', retryAfterMs: 3_600_000 })
    })

    it('peeks without charging', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [perMinute])
      const subject = newSubject()
      expect(await limiter.peek(subject, { cost: 3 })).toMatchObject({ allowed: true, remaining: 3 })
      expect(await limiter.peek(subject, { cost: 4 })).toMatchObject({
        allowed: false,
        remaining: 3,
        retryAfterMs: Infinity,
      })
      expect(await limiter.take(subject, { cost: 0 })).toMatchObject({ allowed: true, remaining: 3 })
      expect(await limiter.take(subject)).toMatchObject({ allowed: true, remaining: 2 })
    })

    it('refunds units', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), everyAlgorithm(5))
      const subject = newSubject()
      await limiter.take(subject, { cost: 5 })
      expect(await limiter.take(subject)).toMatchObject({ allowed: false })
      await limiter.refund(subject, 2)
      expect(await limiter.take(subject, { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
      await limiter.refund(subject, 99)
      expect(await limiter.take(subject, { cost: 0 })).toMatchObject({ remaining: 5 })
    })

    it('clears the state of a subject on reset', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), everyAlgorithm(5))
      const subject = newSubject()
      await limiter.take(subject, { cost: 5 })
      await limiter.reset(subject)
      expect(await limiter.take(subject, { cost: 5 })).toMatchObject({ allowed: true, remaining: 0 })
    })

    it('accepts subjects of any length and script, and keeps them apart', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [{ ...perMinute, limit: 1 }])
      const tag = newSubject()
      const names = [
        'x'.repeat(100),
        'x'.repeat(10_240),
        `${'x'.repeat(10_239)}y`,
        'ключ',
        '鍵🔑',
        'a b\n"c"',
        'ip:2001:db8::/56',
        '\u0000',
        '\ud800',
      ]
      for (const name of names) expectAllowed(await limiter.take(tag + name))
      for (const name of names) expect(await limiter.take(tag + name)).toMatchObject({ allowed: false })
    })

    it('charges several subjects together, and refunds the others if one denies', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [
        { ...perMinute, limit: 2 },
        { ...perHour, limit: 9 },
      ])
      const [client, address] = [newSubject(), newSubject()]
      const both = [{ subject: client }, { subject: address, policies: ['per-minute'] }]
      for (let i = 0; i < 2; i++) expectAllowed(await limiter.takeAll(both))
      const other = newSubject()
      const denied = await limiter.takeAll([{ subject: other }, { subject: address, policies: ['per-minute'] }])
      expect(denied).toMatchObject({ allowed: false, policy: 'per-minute', remaining: 0 })
      expect(await limiter.take(other, { cost: 0 })).toMatchObject({
        remaining: 2,
        policies: { 'per-hour': { remaining: 9 } },
      })
    })

    it('charges each of several subjects its own cost', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [{ ...perMinute, limit: 9 }])
      const [client, address] = [newSubject(), newSubject()]
      expect(await limiter.takeAll([{ subject: client }, { subject: address, cost: 4 }], { cost: 2 })).toMatchObject({
        remaining: 5,
      })
      expect(await limiter.take(client, { cost: 0 })).toMatchObject({ remaining: 7 })
    })

    it('rejects a cost that is not a whole number from 0, and charges nothing', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [perMinute])
      const subject = newSubject()
      for (const cost of [-1, 1.5, Number.NaN, Infinity, 2 ** 53, '1' as never, null as never]) {
        await expect(limiter.take(subject, { cost })).rejects.toThrow(CostError)
        await expect(limiter.refund(subject, cost)).rejects.toThrow(CostError)
      }
      await expect(limiter.refund(subject, 0)).rejects.toThrow(
        'cost must be an integer from 1 to 9007199254740991, got 0',
      )
      await expect(limiter.take(subject, { cost: -1 })).rejects.toThrow(
        'cost must be an integer from 0 to 9007199254740991, got -1',
      )
      expect(await limiter.take(subject, { cost: 0 })).toMatchObject({ remaining: 3 })
    })

    it('rejects a subject that is not a non-empty string', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [perMinute])
      for (const subject of ['', undefined as never, 7 as never])
        await expect(limiter.take(subject)).rejects.toThrow(SubjectError)
    })

    it('coalesces the writes of simultaneous requests for one subject, and answers each request by itself', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [
        { ...perMinute, limit: 30 },
        { ...perHour, limit: 40 },
      ])
      const subject = newSubject()
      const costs = Array.from({ length: 40 }, (_, i) => (i % 3) + 1)
      const decisions = await Promise.all(costs.map((cost) => limiter.take(subject, { cost })))
      const admitted = costs.filter((_, i) => decisions[i]!.allowed).reduce((sum, cost) => sum + cost, 0)
      expect(admitted).toBe(30)
      const left = decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining)
      expect([...left].sort((a, b) => b - a)).toEqual(left)
      expect(new Set(left).size).toBe(left.length)
      expect(await limiter.take(subject, { cost: 0 })).toMatchObject({
        remaining: 0,
        policies: { 'per-hour': { remaining: 10 } },
      })
    })

    it('reports to each of several queued requests its own delay', async () => {
      const limiter = limiterOn(opened().store, new TestClock(), [
        { name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 4, window: '1s', burst: 5 },
      ])
      const subject = newSubject()
      const decisions = await Promise.all(Array.from({ length: 6 }, () => limiter.take(subject)))
      expect(decisions.map(({ allowed, delayMs }) => (allowed ? delayMs : 'denied'))).toEqual([
        0,
        250,
        500,
        750,
        1000,
        'denied',
      ])
    })
  })
})

function expectAllowed(decision: Decision): Decision {
  expect(decision).toMatchObject({ allowed: true, retryAfterMs: 0 })
  return decision
}

it('a denialTtlMs of 0 makes each denial read the store once, with a running clock', async () => {
  const store = new CountingStore()
  let now = MIDNIGHT
  const clock = () => now++ // never the same millisecond twice
  const limiter = createLimiter({
    store,
    clock,
    policies: [{ name: 'a', limit: 1, window: '1d' }],
    denialTtlMs: 0,
    onStoreError: 'throw',
  })
  await limiter.take('client:a')
  for (let i = 1; i <= 3; i++) {
    expect((await limiter.take('client:a')).allowed).toBe(false)
    expect(store.reads).toBe(i)
  }
})

it('a clock that is set back does not prolong a cached denial', async () => {
  const fleet = new Fleet([{ name: 'own', algorithm: 'fixed-window', limit: 1, window: '1d' }], 2)
  const [one, other] = fleet.instances.map(({ limiter }) => limiter)
  fleet.now += 7_200_000
  await one!.take('me')
  expect(await one!.take('me')).toMatchObject({ allowed: false })
  fleet.now -= 3_600_000
  await other!.reset('me')
  expect(await one!.take('me')).toMatchObject({ allowed: true })
})
