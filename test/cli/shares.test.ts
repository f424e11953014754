import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { Plans } from '../../lambda/charge-plans'
import { PolicySets } from '../../lambda/config-table/configuration'
import { rulesOf } from '../../lambda/rules'
import { RateLimiter } from '../../limiter/rate-limiter'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { subjectKey } from '../../limiter/subject-key'
import { type Deployment, deploy } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const WINDOW = 10_000
const own = { name: 'own', algorithm: 'fixed-window', limit: 10_000, window: '1h' }

let at: Deployment
beforeAll(async () => {
  at = await deploy()
  await at.put(
    { pk: 'policy-set', sk: 'tier#anonymous', by: 'ip', policies: [own] },
    { pk: 'policy-set', sk: 'tier#free', policies: [own] },
    { pk: 'policy-set', sk: 'tier#pro', weight: 2, policies: [own] },
    {
      pk: 'policy-set',
      sk: 'global',
      policies: [{ name: 'everybody', algorithm: 'fixed-window', limit: 30, window: '10s', fair: true }],
    },
  )
  await at.json(['clients', 'create', 'acme', '--tier', 'free'])
  await at.json(['clients', 'create', 'big', '--tier', 'pro'])
})
afterAll(async () => at?.close())

const CLIENTS = [
  ['acme', 'free'],
  ['big', 'pro'],
] as const

/** Requests of both clients, as the authorizer charges them, until they have shares. */
async function contend(until: number): Promise<void> {
  let now = NOW
  const clock = () => now
  const reading = { calls: sdkCalls(at.client), clock, log: () => {}, ttlMs: 1000, deadlineMs: 2000 }
  const configuration = (await new PolicySets({ ...reading, tableName: LOCAL_TABLES.config }).current())!
  const limiter = new RateLimiter({
    store: new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state }),
    clock,
  })
  const plans = new Plans(() => {})
  const take = (client: string, tierName: string) => {
    const tier = configuration.policies.tiers.get(tierName)!
    const plan = plans.planFor(configuration, tier, rulesOf(configuration.policies, 'GET', '/'))
    const key = subjectKey(`client:${client}`)
    const keys = plan.groups.map(({ who }) => (who[0] === 'global' ? subjectKey('global') : key))
    return limiter.decide(plan.chargesFor(keys, { cost: 1 }, { key, weight: tier.weight }))
  }
  for (; now < until; now += 500) {
    for (const [client, tier] of [...CLIENTS, ...CLIENTS]) await take(client, tier)
  }
}

const shown = async (client: string, now: number) => {
  const { policies } = await at.json(['usage', client], { now })
  const share = policies.find(({ policy }: { policy: string }) => policy === 'everybody.share')
  return share && { limit: share.limit, used: share.used, remaining: share.remaining }
}

it('usage and peek show the share that a caller has while a fair limit is contended, and nothing before', async () => {
  expect(await shown('acme', NOW)).toBeUndefined()
  const until = NOW + 4 * WINDOW + 7000
  await contend(until)
  const [acme, big] = [await shown('acme', until), await shown('big', until)]
  expect(big!.limit).toBeGreaterThan(1.7 * acme!.limit)
  expect(acme!.limit + big!.limit).toBeGreaterThan(20)
  expect(acme!.used).toBe(acme!.limit - acme!.remaining)
  expect(acme!.used).toBeGreaterThan(0)
  const { out } = await at.sluice(['usage', 'acme'], { now: until })
  expect(out).toMatch(/^everybody\.share +█+ +\d+ +0 +\d+/m)
  const peeked = await at.sluice(['peek', 'acme'], { now: until })
  expect([peeked.code, peeked.out]).toEqual([0, expect.stringContaining('everybody.share')])
})
