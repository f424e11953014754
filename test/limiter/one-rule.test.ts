import * as fc from 'fast-check'
import { createLimiter, MemoryStore, type PolicyInput } from '../../limiter'
import { runs } from '../runs'

const RULES = [
  { algorithm: 'gcra' },
  { algorithm: 'token-bucket', refill: 'greedy' },
  { algorithm: 'leaky-bucket', mode: 'meter' },
] as const

it('gcra, a greedy token bucket and a leaky bucket as a meter admit the same requests and say the same numbers', async () => {
  const requests = fc.array(fc.record({ afterMs: fc.nat(400), cost: fc.integer({ min: 1, max: 6 }) }), {
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 20 }),
      requests,
      async (limit, burst, all) => {
        const clock = { at: 1_700_000_000_000 }
        const limiters = RULES.map((rule) =>
          createLimiter({
            store: new MemoryStore(),
            clock: () => clock.at,
            policies: [{ name: 'p', limit, burst, window: '1s', ...rule } as PolicyInput],
          }),
        )
        for (const { afterMs, cost } of all) {
          clock.at += afterMs
          const [gcra, ...others] = await Promise.all(limiters.map((limiter) => limiter.take('a', { cost })))
          const told = ({ allowed, remaining, retryAfterMs, resetAfterMs }: NonNullable<typeof gcra>) => ({
            ...{ allowed, remaining, retryAfterMs, resetAfterMs },
          })
          for (const other of others) expect(told(other)).toEqual(told(gcra!))
        }
      },
    ),
    { numRuns: runs(25, 100) },
  )
})
