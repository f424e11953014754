import { BatchGetItemCommand, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { PolicySets } from '../../lambda/config-table/configuration'
import type { PolicyAnswer } from '../../lambda/responses/answers'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { FakeClock } from '../config-table/fake-table'
import { policy } from '../policies/issues'
import { Gateway, KEYS, restEvent } from './gateway'

const APIS = 50

/**
 * 100 tiers for all APIs, and 100 for some: of `t0` to `t49` one for an API by its label, and one for a stage of it.
 */
const ITEMS = [
  { sk: 'tier#anonymous', by: 'ip', policies: [policy({ limit: 5 })] },
  ...Array.from({ length: 99 }, (_, i) => ({ sk: `tier#t${i}`, policies: [policy({ limit: 100 + i })] })),
  ...Array.from({ length: APIS }, (_, i) => [
    { sk: `tier#t${i} @api`, apis: [`label-${i}`], policies: [policy({ limit: 1000 + i })] },
    { sk: `tier#t${i} @prod`, apis: [`label-${i}/prod`], policies: [policy({ limit: 2000 + i })] },
    { sk: `api#id${i}`, name: 'one name for all', label: `label-${i}` },
  ]).flat(),
]

/** A new instance before a config table with these items, and a client in this tier. */
function start(tier: string) {
  const calls: string[] = []
  const clock = new FakeClock()
  const send = async (command: object) => {
    calls.push(
      [QueryCommand, GetItemCommand, BatchGetItemCommand].find((one) => command instanceof one)?.name ?? 'another',
    )
    return {
      $metadata: { requestId: 'r', httpStatusCode: 200 },
      Items: ITEMS.map((item) => marshall({ pk: 'policy-set', ...item })),
    }
  }
  const options = {
    calls: sdkCalls({ send } as never),
    tableName: 't',
    clock: clock.read,
    log: () => {},
    ttlMs: 30_000,
    deadlineMs: 1000,
  }
  const client = { id: 'acme', tier, overrides: {}, disabled: false }
  const gateway = new Gateway({ configuration: new PolicySets(options), clients: { find: async () => client } })
  const ask = async (apiId: string, stage: string) => {
    const event = restEvent({ key: KEYS.free })
    const answer = await gateway.authorize({
      ...event,
      requestContext: { ...(event.requestContext as object), apiId, stage },
    })
    return Number((answer as PolicyAnswer).context.limit)
  }
  return { ask, calls, entries: gateway.entries }
}

describe('a new instance with 200 tiers, half of them for some APIs', () => {
  it.each([
    ['an API and a stage that the tier has its own for', 't37', 'id37', 'prod', 2037],
    ['an API that the tier has its own for', 't37', 'id37', 'dev', 1037],
    ['an API that another tier has its own for', 't38', 'id37', 'prod', 138],
    ['an API of which nothing is known', 't7', 'elsewhere1', 'prod', 107],
    ['a tier for all APIs that is looked at late', 't98', 'id3', 'prod', 198],
  ])(
    'holds its first request to what is for it, after one call to the config table: %s',
    async (_, tier, apiId, stage, limit) => {
      const { ask, calls, entries } = start(tier)
      expect([await ask(apiId, stage), calls]).toEqual([limit, ['QueryCommand']])
      expect(entries).toEqual([])
    },
  )

  it('makes no more calls as requests to all of these APIs follow, and keeps the APIs apart', async () => {
    const { ask, calls } = start('t20')
    for (let i = 0; i < APIS; i++)
      for (const [stage, own] of [
        ['dev', 1020],
        ['prod', 2020],
      ] as const)
        expect(await ask(`id${i}`, stage)).toBe(i === 20 ? own : 120)
    expect(calls).toEqual(['QueryCommand'])
  })
})
