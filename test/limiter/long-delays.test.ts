import { createLimiter, MemoryStore, type PolicyInput, StoreUnavailableError } from '../../limiter'
import { issuesIn } from '../policies/issues'
import { describeStores } from '../stores'
import { limiterOn, TestClock } from './limiters'

/** One request a second, and nothing at once beside it. */
const DELAY: PolicyInput = {
  ...{ name: 'paced', algorithm: 'gcra', limit: 1, window: '1s', burst: 1 },
  ...{ action: 'delay', maxDelay: '60s' },
}
const QUEUE: PolicyInput = {
  ...{ name: 'paced', algorithm: 'leaky-bucket', limit: 1, window: '1s', burst: 100 },
  ...{ mode: 'queue', delayIn: 'authorizer', maxDelay: '60s' },
}

/** Sixty calls on a slow engine are no outage. */
const PATIENT = { deadlineMs: 20_000 }

let subjects = 0
const newSubject = () => `client:long-delay-${process.pid}-${subjects++}`

describe.each([
  ['action "delay"', DELAY],
  ['a leaky bucket as a queue', QUEUE],
])('%s with a maxDelay of 60 s, for a program that waits by itself,', (_, policy) => {
  describeStores(
    (opened) => {
      it('gives 61 requests a turn each, a second apart, and denies the next until there is room', async () => {
        const [clock, subject] = [new TestClock(), newSubject()]
        const limiter = limiterOn(opened().store, clock, [policy], PATIENT)
        const delays = []
        for (let i = 0; i <= 60; i++) {
          const { allowed, delayMs } = await limiter.take(subject)
          expect(allowed).toBe(true)
          delays.push(delayMs)
        }
        expect(delays).toEqual(Array.from({ length: 61 }, (_, i) => i * 1000))
        expect(await limiter.take(subject)).toMatchObject({ allowed: false, retryAfterMs: 1000 })

        clock.at += 1000
        expect(await limiterOn(opened().store, clock, [policy], PATIENT).take(subject)).toMatchObject({
          ...{ allowed: true, delayMs: 60_000 },
        })
      })

      it('keeps the item until the last turn is over, and then starts anew', async () => {
        const { store } = opened()
        const [clock, subject] = [new TestClock(), newSubject()]
        const limiter = limiterOn(store, clock, [policy], PATIENT)
        const keys = jest.spyOn(store, 'write')
        for (let i = 0; i <= 60; i++) await limiter.take(subject)
        const { expiresAtSeconds } = await store.read(keys.mock.calls.at(-1)![0])
        keys.mockRestore()
        expect(expiresAtSeconds * 1000).toBeGreaterThan(clock.at + 61_000)

        clock.at += 61_000
        expect(await limiterOn(store, clock, [policy], PATIENT).take(subject)).toMatchObject({
          allowed: true,
          delayMs: 0,
        })
      })

      it('gives the last turn back, for another request', async () => {
        const [clock, subject] = [new TestClock(), newSubject()]
        const limiter = limiterOn(opened().store, clock, [policy], PATIENT)
        for (let i = 0; i < 60; i++) await limiter.take(subject)
        const { chargedAt, delayMs } = await limiter.take(subject)
        expect(delayMs).toBe(60_000)
        await limiter.refund(subject, 1, { chargedAt, delayMs })
        expect(await limiter.take(subject)).toMatchObject({ allowed: true, delayMs: 60_000 })
        expect(await limiter.take(subject)).toMatchObject({ allowed: false })
      })

      it('holds a limiter with a shorter maxDelay to the turns that are given away', async () => {
        const [clock, subject] = [new TestClock(), newSubject()]
        const limiter = limiterOn(opened().store, clock, [policy], PATIENT)
        for (let i = 0; i <= 30; i++) await limiter.take(subject)
        const hasty = limiterOn(opened().store, clock, [{ ...policy, maxDelay: '2s' }], PATIENT)
        expect(await hasty.take(subject)).toMatchObject({ allowed: false, retryAfterMs: 29_000 })
      })
    },
    ['memory'],
  )

  it('counts on without its store, and records there what it admitted once the store is back', async () => {
    const [clock, store] = [new TestClock(), new MemoryStore()]
    const limiter = limiterOn(store, clock, [policy], { onStoreError: 'local' })
    await limiter.take('a')
    const write = jest.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('throttled', 'away'))
    for (let i = 1; i <= 30; i++)
      expect(await limiter.take('a')).toMatchObject({ allowed: true, degraded: true, delayMs: i * 1000 })
    write.mockRestore()
    clock.at += 60_000
    for (let i = 0; i < 2; i++) await limiter.take('a')
    await limiter.close()
    const { delayMs, degraded } = await limiterOn(store, clock, [policy], PATIENT).take('a')
    expect(degraded).toBe(false)
    expect(delayMs).toBeGreaterThanOrEqual(2000) // the two before it
    expect(delayMs).toBeLessThanOrEqual(32_000) // and at most all that were admitted in the outage
  })

  it('is accepted up to an hour in the library, and refused beyond in words about the caller', () => {
    const limiter = (maxDelay: `${number}m`) => () =>
      createLimiter({ store: new MemoryStore(), policies: [{ ...policy, maxDelay }] })
    expect(limiter('60m')).not.toThrow()
    expect(limiter('61m')).toThrow('maxDelay must be at most "3600s" where the caller waits, got "61m"')
  })

  it('stays refused in the config table and tiers files, where the authorizer waits', () => {
    expect(issuesIn([policy])).toEqual([
      'maxDelay must be at most "5s" where the authorizer waits, got "60s" (policy "paced")',
    ])
  })
})
