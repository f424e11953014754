import { withRateLimit } from 'sluice/backend'

let served = 0

export const handler = withRateLimit(async () => ({ news: 'none', served: ++served }))
