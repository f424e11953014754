/**
 * Mistakes in tiers that a type can tell do not compile. Checked by `npm run typecheck`, without the compiler's
 * messages, and never run.
 */
import type { RateLimiterProps, TierPolicyProps } from '../../lib/index'

const limiting = (policy: TierPolicyProps): RateLimiterProps => ({ tiers: { anonymous: { policies: [policy] } } })

limiting({ limit: 60, window: '1m' })
limiting({ algorithm: 'concurrency', limit: 4, timeout: '1m' })
// @ts-expect-error no duration
limiting({ limit: 60, window: '1 minute' })
// @ts-expect-error no window
limiting({ limit: 60 })
// @ts-expect-error no such algorithm
limiting({ limit: 60, window: '1m', algorithm: 'leaky' })
// @ts-expect-error no timeout
limiting({ algorithm: 'concurrency', limit: 4 })
// @ts-expect-error a misspelt dimension
limiting({ limit: 60, window: '1m', by: 'adress' })
