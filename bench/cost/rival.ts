import type { PolicyInput } from '../../limiter'
import { type BenchEngine, CountingClient } from '../engine'
import { limiterUnion } from '../rival'
import { type Decisions, decisionsOf } from './decisions'
import { MeteredClient } from './meter'
import { limitsOf } from './policies'
import { requests, type Traffic } from './traffic'

/**
 * rate-limiter-flexible on DynamoDB under the same traffic: one `RateLimiterDynamo` for each limit. It reads the
 * system's clock, which is replaced by simulated time meanwhile.
 *
 * @param blocks whether each instance remembers who is over a limit (`inMemoryBlockOnConsumed`), and answers those
 * without a call.
 */
export async function measureRival(
  engine: BenchEngine,
  traffic: Traffic,
  policies: number,
  blocks: boolean,
  count: { readonly warmUp: number; readonly requests: number },
): Promise<Decisions> {
  const client = new CountingClient(engine)
  const limits: readonly PolicyInput[] = limitsOf(policies, traffic.perMinute)
  const run = blocks ? 'blocking' : 'plain'
  const fleet = await Promise.all(Array.from({ length: traffic.instances }, () => limiterUnion(client, limits, blocks)))
  const systemNow = Date.now
  let now = systemNow()
  Date.now = () => Math.floor(now)
  try {
    for (let caller = 0; caller < traffic.clients + traffic.abusers; caller++)
      await isAllowed(fleet[0]!.take(`${run}:${caller}`))
    now += 30_000 // the middle of each caller's minute
    const meter = new MeteredClient(client)
    const asked = requests(traffic, 1)
    return await decisionsOf([meter], count, async () => {
      const { caller, instance, wait } = asked.next().value!
      now += (wait * 1000) / traffic.rps
      return isAllowed(fleet[instance]!.take(`${run}:${caller}`))
    })
  } finally {
    Date.now = systemNow
    client.destroy()
  }
}

/** A denial is thrown: the result of one limiter, or those of several by name. */
async function isAllowed(consumed: Promise<unknown>): Promise<boolean> {
  try {
    await consumed
    return true
  } catch (refused) {
    const failure = [refused, ...Object.values(refused as object)].find((one) => one instanceof Error)
    if (failure) throw failure
    return false
  }
}
