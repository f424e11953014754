import { createLimiter, MemoryStore, type PolicyInput } from '../../limiter'
import { parseDuration } from '../../limiter/policies/duration'
import { itemsOf } from '../../provisioning/tiers-file'
import { authorizerInstance } from '../authorizer'
import { eventOf } from '../authorizer-event'
import { apiKeyOf, clientItems } from '../config-tables'
import { configInMemory } from './config-in-memory'
import { type Decisions, decisionsOf } from './decisions'
import { MeteredClient } from './meter'
import { MeteredStore } from './metered-store'
import { limitsOf } from './policies'
import { requests, type Traffic } from './traffic'

const MINUTE = 60_000

/** In the middle of every window but the second's. */
const START = Date.UTC(2026, 0, 15, 12, 30, 30)

/** The real authorizer on as many instances as the traffic says, with all calls to both tables metered. */
export async function measureSluice(
  traffic: Traffic,
  policies: number,
  count: { readonly warmUp: number; readonly requests: number },
): Promise<Decisions> {
  const limits = limitsOf(policies, traffic.perMinute)
  const callers = traffic.clients + traffic.abusers
  const state = new MemoryStore({ maxSubjects: callers })
  await chargeThePast(state, limits, traffic)

  const set = itemsOf({ tiers: { anonymous: { policies: limits.slice(0, 1) }, free: { policies: limits } } })
  const client = configInMemory([...set, ...clientItems(callers, () => 'free')])
  const meters = { state: new MeteredStore(state), config: new MeteredClient(client) }
  let now = START
  const clock = () => Math.floor(now)
  const instance = () => authorizerInstance({ store: meters.state, client, configTable: 'config', clock })
  const fleet = Array.from({ length: traffic.instances }, instance)
  const events = Array.from({ length: callers }, (_, i) =>
    eventOf({ path: '/hello', ip: '198.51.100.7', apiKey: apiKeyOf(i) }),
  )
  const asked = requests(traffic, 1)
  return decisionsOf([meters.state, meters.config], count, async () => {
    const { caller, instance, wait } = asked.next().value!
    now += (wait * 1000) / traffic.rps
    const { context } = (await fleet[instance]!(events[caller]!)) as { context: { reason: string; degraded: boolean } }
    await meters.config.settled() // time stands still while the config table is read
    if (!['ok', 'over-limit'].includes(context.reason) || context.degraded)
      throw new Error(`a request was answered "${context.reason}"`)
    return context.reason === 'ok'
  })
}

/**
 * Charges, unmetered, what callers would have used before: something in the previous window of each limit; of the
 * minute's limit, clients half and abusers all.
 */
async function chargeThePast(
  store: MemoryStore,
  limits: readonly PolicyInput[],
  { clients, abusers, perMinute }: Traffic,
): Promise<void> {
  const charge = async (at: number, policies: readonly PolicyInput[], costOf: (caller: number) => number) => {
    if (policies.length === 0) return
    const limiter = createLimiter({ store, policies, clock: () => at, onStoreError: 'throw' })
    for (let caller = 0; caller < clients + abusers; caller++) {
      const cost = Math.floor(costOf(caller))
      if (cost > 0) await limiter.take(`client:client-${caller}`, { cost })
    }
  }
  const ofMinute = (share: number) => (caller: number) => perMinute * share * (caller < clients ? 0.5 : 1)
  for (const limit of limits.slice(1)) await charge(START - parseDuration(limit.window)!, [limit], () => 1)
  // the minute before the present one, which is half over
  await charge(START - 0.75 * MINUTE, limits.slice(0, 1), ofMinute(1))
  await charge(START - 1000, limits.slice(0, 1), ofMinute(0.5))
  await charge(START - 1000, limits.slice(1), () => 1)
}
