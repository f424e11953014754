import type { Verdicts } from '../../limiter/algorithms/algorithm'
import type { CompiledPolicy } from '../../limiter/compiled-policy'
import { Leased } from '../../limiter/consistency/leased'
import { WriteCoalescer } from '../../limiter/consistency/write-coalescer'
import { Decider } from '../../limiter/decider'
import type { LimiterEvent } from '../../limiter/options'
import type { PolicyInput } from '../../limiter/policies/policy'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

export const daily = (limit: number, more: Partial<PolicyInput> = {}) =>
  compiled({
    name: 'all',
    algorithm: 'fixed-window',
    limit,
    window: '1d',
    consistency: 'leased',
    ...more,
  } as PolicyInput)
export const pacing = compiled({ name: 'all', algorithm: 'gcra', limit: 1000, window: '10s', consistency: 'leased' })
const T = MIDNIGHT + 1000

/** Leases on a store in memory that another process uses as well, and the calls that they make. */
export function world(policies: readonly CompiledPolicy[] = daily(100_000), maxSubjects = 100) {
  const world = { now: T, error: undefined as Error | undefined, delayed: undefined as Promise<unknown> | undefined }
  const events: LimiterEvent[] = []
  const options = {
    store: new MemoryStore(),
    clock: () => world.now,
    denialTtlMs: 5000,
    maxSubjects,
    onEvent: () => {},
  }
  const loopOptions = { ...options, deadlineMs: 1000, firstDeadlineMs: 1000 }
  const [items, others] = [new Decider(loopOptions), new Decider(loopOptions)]
  const writes = new WriteCoalescer(items)
  const [taken, back] = [[] as number[], [] as { units: number; at: number; policies: number }[]]
  const inner = writes.take.bind(writes)
  jest.spyOn(writes, 'take').mockImplementation(async (charge, deadline) => {
    taken.push(charge.cost)
    if (world.error) throw world.error
    const verdicts = await inner(charge, deadline)
    await world.delayed
    return verdicts
  })
  const refund = items.refund.bind(items)
  jest.spyOn(items, 'refund').mockImplementation(async (charge, charged) => {
    back.push({ units: charge.cost, at: charged.at, policies: charge.policies.length })
    if (world.error) throw world.error
    return refund(charge, charged)
  })
  const leases = new Leased(items, writes, (event) => events.push(event))
  const take = (cost = 1, key = 'k') => leases.take({ key, policies, cost })
  /** Sends a request in each millisecond. */
  const busy = async (requests: number, key = 'k') => {
    for (let i = 0; i < requests; i++) {
      world.now++
      await take(1, key)
    }
  }
  /** The units of the lease in memory. */
  const held = async (key = 'k') => {
    const [stored] = (await others.peek({ key, policies, cost: 0 })) as [Verdicts[0]]
    return (await leases.peek({ key, policies, cost: 0 }))[0]!.remaining - stored.remaining
  }
  const used = async (key = 'k') => policies[0]!.limit - (await others.peek({ key, policies, cost: 0 }))[0]!.remaining
  return Object.assign(world, { leases, items, others, policies, taken, back, events, take, busy, held, used })
}
/** An instance with a lease of at least 20 units. */
export async function withLease(policies?: readonly CompiledPolicy[], key = 'k', one = world(policies)) {
  await one.busy(400, key)
  for (let i = 0; (await one.held(key)) < 20; i++) {
    if (i === 200) throw new Error('a busy instance has leased no units')
    await one.busy(1, key)
  }
  return one
}
export const idle = () => new Promise((resolve) => setImmediate(resolve))
