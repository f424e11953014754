import { seeded } from '../../bench/random'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import type { Engine, EngineName } from '../../local/engines/engine'
import { describeAuthorizers, dueOf, STRICT } from '../compatibility/authorizers'
import { describeConfiguration } from '../compatibility/configuration'
import {
  type Authorizer,
  allowedInTurn,
  complaintsOf,
  type Release,
  type Rollout,
  rollOut,
} from '../compatibility/releases'
import { startDynamoDbLocal } from '../engines/dynamodb-local'

const ENGINES: readonly [name: string, start: () => Promise<EngineName | Engine>, isMissing: boolean][] = [
  ['dynalite', async () => 'dynalite', false],
  ['dynoxide', async () => 'dynoxide', dynoxideBinary() === undefined],
  ['DynamoDB Local', startDynamoDbLocal, false],
]

const ORDERS: readonly (readonly Release[])[] = [
  ['old', 'new'],
  ['new', 'old'],
  ['new', 'old', 'old', 'new'],
]

/** Instances one after another become another release's, while requests come. */
const DEPLOYMENTS: readonly (readonly [what: string, from: Release, to: Release])[] = [
  ['rolled out', 'old', 'new'],
  ['rolled back', 'new', 'old'],
]
const INSTANCES = 4
const REQUESTS_A_PHASE = 60

for (const [name, start] of ENGINES.filter(([, , isMissing]) => !isMissing)) {
  describeAuthorizers(name, start, ORDERS)
  describeConfiguration(name, start)

  describe(`while a release is deployed on ${name}`, () => {
    let at: Rollout
    beforeAll(async () => {
      at = await rollOut(await start())
    }, 120_000)
    beforeEach(async () => {
      await at.put({ pk: 'policy-set', sk: 'tier#anonymous', policies: [] })
      for (const [tier, policies] of Object.entries(STRICT))
        await at.put({ pk: 'policy-set', sk: `tier#${tier}`, policies })
    })
    afterEach(() => at.clear())
    afterAll(() => at?.close())

    it.each(DEPLOYMENTS)(
      'and %s, every client gets its limit and what was given back to it, and no unit more',
      async (_, from, to) => {
        const random = seeded(from === 'old' ? 11 : 12)
        const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!
        const clients: {
          readonly id: string
          readonly tier: string
          readonly key: string
          allowed: number
          refunded: number
        }[] = []
        for (const tier of Object.keys(STRICT)) {
          const { apiKey: key } = await at.cli(
            pick(['old', 'new']),
            'clients',
            'create',
            `of-${tier}`,
            '--tier',
            tier,
            '--json',
          )
          clients.push({ id: `of-${tier}`, tier, key, allowed: 0, refunded: 0 })
        }
        const instances: Authorizer[] = Array.from({ length: INSTANCES }, () => at.authorizer(from))
        const all = [...instances]
        for (let phase = 0; phase <= INSTANCES; phase++) {
          for (let sent = 0; sent < REQUESTS_A_PHASE; sent += 5) {
            const asked = Array.from({ length: 5 }, () => ({ client: pick(clients), authorizer: pick(instances) }))
            await Promise.all(
              asked.map(async ({ client, authorizer }) => {
                if ((await authorizer.ask({ key: client.key })).effect === 'Allow') client.allowed++
              }),
            )
          }
          const spent = clients.filter(({ tier, allowed, refunded }) => dueOf(tier) > 1 && allowed > refunded)
          for (const client of new Set([pick(spent), pick(spent)])) {
            await at.cli(pick(['old', 'new']), 'refund', client.id, '1')
            client.refunded++
          }
          if (phase < INSTANCES) {
            instances[phase] = at.authorizer(to)
            all.push(instances[phase]!)
          }
        }
        const fresh = [at.authorizer(from), at.authorizer(to)] // which no denial is known to
        for (const client of clients) {
          expect(client.allowed).toBeLessThanOrEqual(dueOf(client.tier) + client.refunded)
          const rest = await allowedInTurn(fresh, 2 * dueOf(client.tier) + client.refunded, { key: client.key })
          expect({ client, allowed: client.allowed + rest }).toEqual({
            client,
            allowed: dueOf(client.tier) + client.refunded,
          })
        }
        expect(complaintsOf([...all, ...fresh])).toEqual([])
      },
    )
  })
}
