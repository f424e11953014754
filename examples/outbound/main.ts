// A worker that keeps to a vendor's limits of requests and tokens. In the clone: npx tsx examples/outbound/main.ts
import { LIMITS, startVendor } from './vendor'
import { type Job, work } from './worker'

// Small jobs and, now and then, one of a thousand tokens.
const jobs: Job[] = Array.from({ length: 120 }, (_, i) => ({ tokens: i % 20 === 19 ? 1000 : 50 + ((i * 37) % 200) }))
const tokens = jobs.reduce((sum, job) => sum + job.tokens, 0)

async function main(): Promise<void> {
  const vendor = await startVendor()
  const aborter = new AbortController()
  process.once('SIGINT', () => aborter.abort(new Error('interrupted')))
  const startedAt = performance.now()
  try {
    await work(vendor.url, jobs, aborter.signal)
    const seconds = (performance.now() - startedAt) / 1000
    // The first window's worth goes at once.
    const fastest = ((tokens - LIMITS.tokens) / LIMITS.tokens) * (LIMITS.withinMs / 1000)
    console.log(`${jobs.length} requests with ${tokens} tokens in ${seconds.toFixed(1)} s`)
    console.log(`the vendor's limits allow no less than ${fastest.toFixed(1)} s`)
  } finally {
    console.log(`it answered ${JSON.stringify(vendor.answers)}`)
    vendor.close()
  }
}

main().catch((error: Error) => {
  console.error(error.message)
  process.exitCode = 1
})
