import {
  type APIGatewayClient,
  type ApiKey,
  APIGatewayClient as Client,
  type ThrottleSettings,
  type UsagePlan,
} from '@aws-sdk/client-api-gateway'
import { DeleteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { Calls } from '../../cli/attach/calls'
import { ConfigTable } from '../../cli/tables/config-table'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { type Plan, readKeys, readPlans } from '../../cli/usage-plans/read-plans'
import { toTiers } from '../../cli/usage-plans/to-tiers'
import { hashApiKey } from '../../lambda/identity/api-key'
import { ENGINES } from '../stores'
import { type Deployment, deploy, TIERS } from './command-line'

/** An account's plans and keys; its pages hold two entries whatever is asked for. */
class FakePlans {
  plans: (UsagePlan & { keys: string[]; used?: Record<string, [number, number]> })[] = [
    {
      id: 'p1',
      name: 'Gold plan!',
      throttle: { rateLimit: 10, burstLimit: 20 },
      quota: { limit: 1000, period: 'MONTH', offset: 2 },
      apiStages: [
        { apiId: 'abcdefgh01', stage: 'prod', throttle: { '/pets/{id}/GET': { rateLimit: 0.5, burstLimit: 2 } } },
      ],
      keys: ['k1', 'k2', 'k3'],
      used: { k1: [40, 960] },
    },
    {
      id: 'p2',
      name: 'silver',
      quota: { limit: 70, period: 'WEEK' },
      apiStages: [{ apiId: 'abcdefgh02', stage: 'prod' }],
      keys: ['k3', 'k4'],
    },
    { id: 'p3', name: 'no stages', throttle: { rateLimit: 1, burstLimit: 1 }, keys: ['k5'] },
    {
      id: 'p4',
      name: 'closed',
      throttle: { rateLimit: 0, burstLimit: 0 },
      apiStages: [{ apiId: 'abcdefgh03', stage: 'prod' }],
      keys: ['k6'],
    },
  ]
  keys: ApiKey[] = [
    { id: 'k1', name: 'acme', value: 'secret-of-acme-0123456789', enabled: true, description: 'since 2024' },
    { id: 'k2', name: 'off', value: 'secret-of-off-0123456789', enabled: false },
    { id: 'k3', name: 'both', value: 'secret-of-both-0123456789', enabled: true },
    { id: 'k4', name: 'both', value: 'secret-of-four-0123456789', enabled: true },
    { id: 'k5', name: 'stray', value: 'secret-of-stray-0123456789', enabled: true },
    { id: 'k6', name: 'shut', value: 'secret-of-shut-0123456789', enabled: true },
  ]
  calls: string[] = []
  before: (name: string) => void = () => {}

  readonly client = {
    send: async (command: { constructor: { name: string }; input: Record<string, string> }) => {
      const { input } = command
      const name = command.constructor.name.replace('Command', '')
      this.before(name)
      this.calls.push(name)
      const plan = this.plans.find(({ id }) => id === input.usagePlanId)
      switch (name) {
        case 'GetUsagePlans':
          return page(
            this.plans.map(({ keys: _, used: __, ...one }) => one),
            input.position,
          )
        case 'GetUsagePlanKeys':
          return page(
            plan!.keys.map((id) => ({ id })),
            input.position,
          )
        case 'GetApiKeys':
          return page(
            this.keys.map(({ value, ...key }) => (input.includeValues ? { ...key, value } : key)),
            input.position,
          )
        case 'GetUsage': {
          const { items, position } = page(Object.entries(plan!.used ?? {}), input.position)
          return { items: Object.fromEntries(items.map(([key, day]) => [key, [day]])), position }
        }
        default:
          throw new Error(`no ${name} here`)
      }
    },
  } as unknown as APIGatewayClient
}

function page<T>(all: readonly T[], position = '0'): { items: T[]; position: string | undefined } {
  const end = Number(position) + 2
  return { items: all.slice(Number(position), end), position: end < all.length ? String(end) : undefined }
}

let at: Deployment
let aws: FakePlans
beforeAll(async () => {
  at = await deploy(ENGINES[0]!)
})
afterAll(async () => at?.close())
beforeEach(async () => {
  jest.restoreAllMocks()
  aws = new FakePlans()
  jest
    .spyOn(Client.prototype as { send: unknown } as { send: () => unknown }, 'send')
    .mockImplementation(aws.client.send as never)
  for (const { pk, sk } of await items())
    await at.client.send(new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: { pk: pk!, sk: sk! } }))
  await at.put(...TIERS)
})
afterAll(() => jest.restoreAllMocks())

const items = async () =>
  (await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES.config, ConsistentRead: true }))).Items!
const importing = (...more: string[]) => at.sluice(['import', 'usage-plans', ...(more.length > 0 ? more : ['--yes'])])
const clients = async () =>
  (await at.json(['clients', 'list'])).map(({ id, tier, disabled, credential }: Record<string, unknown>) => [
    id,
    tier,
    credential,
    disabled,
  ])
const keyOf = (word: string) => `key ${hashApiKey(`secret-of-${word}-0123456789`).slice(0, 12)}`

test('plans become tiers for their stages, and keys clients by the hash of their value', async () => {
  expect(await importing('--dry-run')).toMatchObject({
    code: 0,
    err: expect.stringContaining('dry run: nothing was written'),
  })
  expect(await items()).toHaveLength(TIERS.length)
  const { code, out } = await importing()
  expect([code, out]).toEqual([0, expect.stringContaining('imported: 6 items, 5 clients\n')])
  const { tiers, routes } = (await at.json(['tiers', 'export'])) as Record<string, Record<string, unknown>>
  const gold = [
    { name: 'per-second', algorithm: 'token-bucket', limit: 10, window: '1s', burst: 20 },
    { name: 'per-month', algorithm: 'fixed-window', limit: 1000, window: 'month' },
  ]
  const silver = [{ name: 'per-week', algorithm: 'fixed-window', limit: 70, window: 'week' }]
  const [first, second] = [['abcdefgh01/prod'], ['abcdefgh02/prod']]
  expect(tiers).toMatchObject({
    'Gold-plan': { apis: first, policies: gold },
    silver: { apis: second, policies: silver },
    'Gold-plan.silver @Gold-plan': { apis: first, policies: gold },
    'Gold-plan.silver @silver': { apis: second, policies: silver },
    closed: {
      apis: ['abcdefgh03/prod'],
      policies: [{ name: 'per-day', algorithm: 'fixed-window', limit: 1, window: 'day' }],
    },
  })
  expect(routes).toEqual({
    'GET /pets/{id} @abcdefgh01-prod': {
      apis: first,
      policies: [
        {
          name: 'per-second',
          algorithm: 'token-bucket',
          limit: 1,
          window: '2s',
          burst: 2,
          tiers: ['Gold-plan', 'Gold-plan.silver'],
        },
      ],
    },
  })
  expect(await clients()).toEqual([
    ['acme', 'Gold-plan', keyOf('acme'), undefined],
    ['both-k3', 'Gold-plan.silver', keyOf('both'), undefined],
    ['both-k4', 'silver', keyOf('four'), undefined],
    ['off', 'Gold-plan', keyOf('off'), true],
    ['shut', 'closed', keyOf('shut'), true],
  ])
  const limits = async (api: string) =>
    (await at.json(['usage', 'both-k3', '--api', api])).policies.map(({ limit }: { limit: number }) => limit)
  expect([await limits('abcdefgh01/prod'), await limits('abcdefgh02/prod')]).toEqual([
    expect.arrayContaining([10, 1000, 1]),
    [70],
  ])
})

test('what is not imported is listed, with the quota that was used', async () => {
  const { notImported, used } = await at.json(['import', 'usage-plans', '--dry-run'])
  const what = notImported.map((one: { what: string }) => one.what)
  expect(what).toEqual([
    'plan "no stages" (p3)',
    'plan "Gold plan!" (p1), quota offset 2',
    'plan "silver" (p2), quota by week',
    'plan "closed" (p4)',
    'API key k5',
    'API key k1, 40 of 1000 used in plan "Gold plan!" (p1) by month',
  ])
  expect(used).toEqual([{ plan: 'plan "Gold plan!" (p1)', keyId: 'k1', used: 40, limit: 1000, period: 'MONTH' }])
})

test('a second run changes nothing, and what somebody edited since stays', async () => {
  await importing()
  const before = await items()
  expect((await importing()).out).toBe('0 items and 0 clients to add; unchanged: 6 and 5\n')
  expect(await items()).toEqual(before)
  await at.json(['clients', 'set', 'acme', '--tier', 'free'])
  await at.put({ pk: 'policy-set', sk: 'tier#silver', policies: [] })
  const edited = await items()
  const { code, out, err } = await importing()
  expect([code, out]).toEqual([0, '0 items and 0 clients to add; unchanged: 5 and 4\n'])
  expect(err).toContain('not imported: tier silver: the table already has it with other limits, which are kept')
  expect(err).toContain('not imported: API key k1: client "acme" has it already, with other settings, which are kept')
  expect(await items()).toEqual(edited)
})

test('a client that somebody makes at the same moment is not overwritten', async () => {
  const write = ConfigTable.prototype.write
  jest.spyOn(ConfigTable.prototype, 'write').mockImplementation(async function (this: ConfigTable, writes) {
    if (writes[0]!.after!.id === 'acme') await at.put({ ...writes[0]!.key, id: 'theirs', tier: 'pro' })
    return write.call(this, writes)
  })
  const { code, err } = await importing()
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(
      'written: 4 of 5 clients\nleft as they are, because they were changed at the same moment: acme\n',
    ),
  ])
  expect(await clients()).toContainEqual(['theirs', 'pro', keyOf('acme'), undefined])
})

test('no key is in anything that is printed or stored, whatever fails', async () => {
  const said = [
    await importing('--dry-run', '--json'),
    await importing('--json', '--yes'),
    await importing('--dry-run'),
  ]
  aws.before = (name) => {
    if (name === 'GetUsage') throw Object.assign(new Error('no'), { name: 'AccessDeniedException' })
  }
  said.push(await importing())
  expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 1])
  expect(said[3]!.err).toContain('missing right: apigateway:GET on /usageplans/p1/usage')
  expect(JSON.stringify([said, await items()])).not.toContain('secret-of')
})

test.each([
  ['id', 'value'],
  ['value', 'id'],
] as const)(
  'a key imported by its %s and then by its %s is one client, with the settings that it has',
  async (...ways) => {
    const [first, second] = ways
    const by = (way: string) => importing('--by', way, '--plan', 'p2', '--yes')
    expect(await by(first)).toMatchObject({ code: 0 })
    const idOf = (word: string, id: string) => ({ value: keyOf(word), id: `api-gateway-key:${id}` })
    const [both, four] = [idOf('both', 'k3'), idOf('four', 'k4')]
    expect(await clients()).toEqual([
      ['both-k3', 'silver', both[first], undefined],
      ['both-k4', 'silver', four[first], undefined],
    ])
    await at.json(['clients', 'set', 'both-k3', '--override', 'per-week=99'])
    await at.json(['clients', 'set', 'both-k4', '--tier', 'pro'])
    const { code, err } = await by(second)
    expect(code).toBe(0)
    expect(err).toContain(
      'not imported: API key k4: client "both-k4" has it already, with other settings, which are kept',
    )
    expect(new Set((await clients()).map(String))).toEqual(
      new Set(
        [
          ['both-k3', 'silver', both.id, undefined],
          ['both-k3', 'silver', both.value, undefined],
          ['both-k4', 'pro', four.id, undefined],
          ['both-k4', 'pro', four.value, undefined],
        ].map(String),
      ),
    )
    const records = (await at.json(['clients', 'list'])).filter(({ id }: { id: string }) => id === 'both-k3')
    expect(records.map(({ overrides }: { overrides: unknown }) => overrides)).toEqual([
      { 'per-week': { limit: 99 } },
      { 'per-week': { limit: 99 } },
    ])
    expect(await by(second)).toMatchObject({ out: expect.stringContaining('0 items and 0 clients to add') })
    expect((await at.sluice(['doctor'])).out).not.toContain('contradict')
  },
)

test('with --metering plans go on counting, by the key that a request shows', async () => {
  await importing('--metering', '--yes')
  expect(await at.json(['clients', 'get', 'acme'])).toMatchObject({ usageIdentifierKey: true })
  expect(await importing('--metering', '--by', 'id')).toMatchObject({
    code: 1,
    err: expect.stringContaining('--metering needs --by value'),
  })
})

test('a new route is listed beside others of the table, whose rules it would replace', async () => {
  await at.put({ pk: 'policy-set', sk: 'route#ANY /*', credentials: 'required' })
  const { err } = await importing()
  expect(err).toContain('not imported: route GET /pets/{id} @abcdefgh01-prod: the table has routes')
  expect(Object.keys((await at.json(['tiers', 'export'])).routes)).toEqual(['ANY /*'])
})

test('a plan that does not exist is an error', async () => {
  expect(await importing('--plan', 'p9')).toEqual({ code: 1, out: '', err: 'there is no usage plan "p9"\n' })
})

test.each<[string, (account: FakePlans) => void, string]>([
  [
    'enabled',
    ({ keys }) => Object.assign(keys[0]!, { enabled: 'false' }),
    'API keys: 0.enabled must be boolean, got "false"',
  ],
  [
    'apiStages',
    ({ plans }) => Object.assign(plans[1]!, { apiStages: {} }),
    'usage plans: 1.apiStages must be Array, got an object',
  ],
  [
    'value',
    ({ keys }) => Object.assign(keys[0]!, { value: 7 }),
    'API keys: 0.value must be string, got something else',
  ],
  ['id', ({ plans }) => Object.assign(plans[0]!, { keys: [7] }), 'keys of usage plan p1: 0.id must be string, got 7'],
])('an answer with another %s is an error that names its place', async (_, change, error) => {
  change(aws)
  const before = await items()
  expect(await importing()).toEqual({ code: 1, out: '', err: `API Gateway’s answer, ${error}\n` })
  expect(await items()).toEqual(before)
})

test('calls that API Gateway throttles are made again later', async () => {
  let times = 0
  aws.before = () => {
    if (++times % 2 === 1) throw Object.assign(new Error('slow down'), { name: 'TooManyRequestsException' })
  }
  const waits: number[] = []
  const calls = new Calls(undefined, async (ms) => waits.push(ms))
  const source = { client: aws.client, calls }
  const [plans, keys] = [await readPlans(source, [], 0), await readKeys(source)]
  expect([plans.length, keys.length, waits.length]).toEqual([4, 6, aws.calls.length])
})

test.each<[ThrottleSettings, object | undefined]>([
  [
    { rateLimit: 10, burstLimit: 5 },
    { limit: 10, window: '1s', burst: 5 },
  ],
  [
    { rateLimit: 2.5, burstLimit: 5 },
    { limit: 5, window: '2s', burst: 5 },
  ],
  [{ rateLimit: 1 / 3 }, { limit: 1, window: '3s' }],
  [
    { rateLimit: Math.PI, burstLimit: 5 },
    { limit: 3141, window: '1000s', burst: 5 },
  ],
  [{ burstLimit: 5 }, undefined],
])('the throttle %j is never more than it was', (throttle, expected) => {
  const plan: Plan = {
    id: 'p',
    name: 'p',
    throttle,
    stages: [{ api: 'a', stage: 's', methods: {} }],
    keys: [],
    left: new Map(),
  }
  const [policy] = (toTiers([plan]).file.tiers.p as unknown as { policies: unknown[] }).policies
  expect(policy).toEqual(expected && { name: 'per-second', algorithm: 'token-bucket', ...expected })
})

test('plans of one name, or of names that no tier may have, have tiers of their own', () => {
  const plan = (id: string, name: string): Plan => ({
    id,
    name,
    stages: [{ api: 'a', stage: id, methods: {} }],
    keys: [],
    left: new Map(),
  })
  const { file } = toTiers([
    plan('1', 'a b'),
    plan('2', 'a-b'),
    plan('3', 'anonymous'),
    plan('4', '…'),
    plan('5', 'x'.repeat(99)),
  ])
  expect(Object.keys(file.tiers)).toEqual(['a-b-1', 'a-b-2', 'anonymous-3', '4', 'x'.repeat(64)].sort())
})
