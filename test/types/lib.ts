/** Mistakes in tiers that a type can tell do not compile. Checked by `npm run typecheck`, and never run. */
import type { RateLimiterProps, TierPolicyProps } from 'sluice'

const limiting = (policy: TierPolicyProps): RateLimiterProps => ({ tiers: { anonymous: { policies: [policy] } } })

limiting({ limit: 60, window: '1m' })
limiting({ algorithm: 'concurrency', limit: 4, timeout: '1m' })
// @ts-expect-error: Type '"1 minute"' is not assignable to type '`${number}ms`
limiting({ limit: 60, window: '1 minute' })
// @ts-expect-error: Argument of type '{ limit: number; }' is not assignable
limiting({ limit: 60 })
// @ts-expect-error: Type '"leaky"' is not assignable to type '"fixed-window" |
limiting({ limit: 60, window: '1m', algorithm: 'leaky' })
// @ts-expect-error: Property 'timeout' is missing
limiting({ algorithm: 'concurrency', limit: 4 })
// @ts-expect-error: Type '"adress"' is not assignable to type 'CountedByProp
limiting({ limit: 60, window: '1m', by: 'adress' })
