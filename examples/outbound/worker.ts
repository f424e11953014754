import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, MemoryStore } from 'sluice/limiter'

export interface Job {
  readonly tokens: number
}

// The vendor allows 40 requests and 6,000 tokens within any 2 s, as it sees them arrive. Some are quicker on their way
// than others, by 250 ms at most: so within any 2.25 s no more leave here. A sliding log is that exact; a log of tokens
// would be long, and 46 sub-windows of 50 ms are as exact but for one of them.
const limiter = createLimiter({
  store: new MemoryStore(), // several processes share the limits in a DynamoDbStore
  policies: [
    { name: 'requests', algorithm: 'sliding-log', limit: 40, window: '2250ms' },
    { name: 'tokens', algorithm: 'sliding-buckets', limit: 6000, window: '2300ms', buckets: 46, cost: 'tokens' },
  ],
})

/** Does all jobs as fast as the vendor allows, in their order; rejects when the signal is aborted. */
export async function work(url: string, jobs: readonly Job[], signal: AbortSignal): Promise<void> {
  try {
    await Promise.all(jobs.map((job) => callVendor(url, job, signal)))
  } finally {
    await limiter.close()
  }
}

async function callVendor(url: string, { tokens }: Job, signal: AbortSignal): Promise<void> {
  const decision = await limiter.waitFor('vendor', { costs: { tokens }, maxWaitMs: 60_000, signal })
  if (!decision.allowed) throw new Error(`${decision.policy}: try again in ${decision.retryAfterMs} ms`)

  const response = await fetch(url, { method: 'POST', headers: { 'X-Tokens': `${tokens}` }, signal })
  await response.arrayBuffer()
  if (response.status !== 429) return
  // The vendor counts something that we do not know of.
  await sleep(1000 * Number(response.headers.get('Retry-After') ?? 1), undefined, { signal })
  return callVendor(url, { tokens }, signal)
}
