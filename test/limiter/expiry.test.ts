import { compile } from '../../limiter/compiled-policy'
import { expiryFor } from '../../limiter/plan'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { NO_ITEM } from '../../limiter/stores/store'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

const HOUR_MS = 3_600_000
const policiesOf = (limit: number, window: string) =>
  parsePolicies(everyAlgorithm(limit, window), [], []).map((policy) => compile(policy))

describe('the time to live of an item', () => {
  for (const window of ['1s', '1m', '1h', '30d']) {
    for (const policy of policiesOf(60, window)) {
      it(`ends an hour or more after the last instant at which ${policy.name} of ${window} counts`, () => {
        for (const now of [MIDNIGHT, MIDNIGHT + 1, MIDNIGHT + HOUR_MS - 1, MIDNIGHT + 17 * HOUR_MS + 123]) {
          const full = policy.counter.step({}, 60, now)
          expect(expiryFor([policy], NO_ITEM, now)! * 1000).toBeGreaterThanOrEqual(
            now + full.verdict.resetAfterMs + HOUR_MS,
          )
        }
      })
    }
  }

  it('is not moved while it is far enough ahead', () => {
    const policies = policiesOf(60, '1m')
    const expiresAtSeconds = expiryFor(policies, undefined, MIDNIGHT)!
    expect(expiryFor(policies, { ...NO_ITEM, expiresAtSeconds }, MIDNIGHT + HOUR_MS / 2)).toBeUndefined()
    expect(expiryFor(policies, { ...NO_ITEM, expiresAtSeconds }, MIDNIGHT + 2 * HOUR_MS)).toBeGreaterThan(
      expiresAtSeconds,
    )
  })

  it('is not moved if it is just far enough ahead, and is moved a second later', () => {
    const policies = policiesOf(60, '1m')
    const retentionMs = Math.max(...policies.map(({ counter }) => counter.retentionMs))
    const expiresAtSeconds = (MIDNIGHT + retentionMs + HOUR_MS) / 1000
    expect(expiryFor(policies, { ...NO_ITEM, expiresAtSeconds }, MIDNIGHT)).toBeUndefined()
    expect(expiryFor(policies, { ...NO_ITEM, expiresAtSeconds: expiresAtSeconds - 1 }, MIDNIGHT)).toBeGreaterThan(
      expiresAtSeconds,
    )
  })

  it('is in whole epoch seconds, as DynamoDB’s TTL requires', () => {
    expect(Number.isInteger(expiryFor(policiesOf(60, '1s'), undefined, MIDNIGHT + 7))).toBe(true)
  })

  it('is not shortened by a policy that needs less', async () => {
    const store = new CountingStore()
    const clock = new TestClock()
    const [month, second] = [
      { name: 'month', algorithm: 'anchored-window', limit: 5, window: '30d' } as const,
      { name: 'second', limit: 5, window: '1s' },
    ]
    const long = limiterOn(store, clock, [month])
    await long.take('client:a')
    await limiterOn(store, clock, [second]).take('client:a')
    clock.at += 20 * 24 * HOUR_MS
    await limiterOn(store, clock, [second]).take('client:b') // makes the store check for expired items
    expect(await limiterOn(store, clock, [month]).take('client:a', { cost: 0 })).toMatchObject({ remaining: 4 })
  })
})
