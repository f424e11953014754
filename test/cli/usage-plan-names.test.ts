import * as fc from 'fast-check'
import { distinctNames } from '../../cli/usage-plans/distinct-names'
import { planClients } from '../../cli/usage-plans/plan-clients'
import type { ApiKey, Plan } from '../../cli/usage-plans/read-plans'
import { toTiers } from '../../cli/usage-plans/to-tiers'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'

/** Names that are alike once they are shortened, joined, or ended with an id. */
const NAMES = ['gold', 'silver', 'gold.silver', 'gold-p1', 'gold silver', 'anonymous', '', '…', 'x'.repeat(70)]
const LONG = ['a', 'b', 'c'].map((end) => `a plan with a long name, of which many have been made ${end}`)
const STAGES = ['prod', 'test', 'dev', 'beta']

const account = fc
  .record({
    plans: fc.array(
      fc.record({
        name: fc.constantFrom(...NAMES, ...LONG),
        stages: fc.subarray(STAGES, { minLength: 1 }),
        limit: fc.integer({ min: 1, max: 1_000_000 }),
      }),
      { maxLength: 8 },
    ),
    keys: fc.array(fc.record({ name: fc.constantFrom(...NAMES, 'gold-k1', 'k0'), plans: fc.array(fc.nat(7)) }), {
      maxLength: 12,
    }),
  })
  .map(({ plans, keys }) => {
    // as in API Gateway, a key is in one plan at most for each stage
    const own = keys.map((key) => {
      const those: number[] = []
      for (const i of new Set(key.plans)) {
        const isFree = plans[i]?.stages.every((stage) => !those.some((other) => plans[other]!.stages.includes(stage)))
        if (isFree) those.push(i)
      }
      return those
    })
    return {
      keys: keys.map(
        ({ name }, k): ApiKey => ({ id: `k${k}`, name, description: '', enabled: true, hash: `apikey#${k}` }),
      ),
      plans: plans.map(
        ({ name, stages, limit }, i): Plan => ({
          id: `p${i}`,
          name,
          quota: { limit, period: 'DAY' },
          stages: stages.map((stage) => ({ api: 'abcdefgh01', stage, methods: {} })),
          keys: own.flatMap((those, k) => (those.includes(i) ? [`k${k}`] : [])),
          left: new Map(),
        }),
      ),
    }
  })

async function* nothing(): AsyncGenerator<never[]> {}

test('each key has the limits of its own plans at each of their stages, whatever they are called', async () => {
  await fc.assert(
    fc.asyncProperty(account, async ({ plans, keys }) => {
      const tiers = toTiers(plans)
      expect(
        parseTiersFile({ tiers: { anonymous: { policies: [] }, ...tiers.file.tiers } }, 'tiers.yaml'),
      ).toBeDefined()
      const { added } = await planClients(keys, tiers, { by: 'value', metering: false }, nothing())
      for (const plan of plans) {
        for (const id of plan.keys) {
          const { tier } = added.find(({ keyId }) => keyId === id)!
          const variants = Object.entries(tiers.file.tiers!).filter(([name]) => name.split(' @')[0] === tier)
          for (const { api, stage } of plan.stages) {
            const here = variants.filter(([, { apis }]) => (apis as string[]).includes(`${api}/${stage}`))
            expect(here.map(([, { policies }]) => (policies as { limit: number }[])[0]!.limit)).toEqual([
              plan.quota!.limit,
            ])
          }
        }
      }
      expect(new Set(added.map(({ id }) => id)).size).toBe(added.length)
    }),
    { numRuns: 300 },
  )
})

test('names do not depend on the order, and are as short as asked', () => {
  const all = [
    { id: 'p1', wanted: 'gold' },
    { id: 'p2', wanted: 'gold' },
    { id: 'p3', wanted: 'gold-p1' },
    { id: 'a-plan-whose-id-is-rather-long', wanted: 'y'.repeat(99) },
  ]
  const named = (some: typeof all) => distinctNames(some, (name) => name === 'taken', 64)
  expect(named(all)).toEqual(named([...all].reverse()))
  expect(new Set(named(all).values()).size).toBe(4)
  expect(Math.max(...[...named(all).values()].map((name) => name.length))).toBe(64)
  expect([...named([{ id: 'p1', wanted: 'taken' }]).values()]).toEqual(['taken-p1'])
})
