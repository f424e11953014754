import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import {
  apiKey,
  CONFIG_TABLE,
  clientKey,
  lastValidKey,
  routeKey,
  settingsKey,
  switchKey,
  tierKey,
} from '../../lambda/config-table/items/config-keys'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { handler, type SeedRequest } from '../../lib/seed/handler'
import type { Engine } from '../../local/engines/engine'
import { allPages } from '../../provisioning/documents'
import type { PolicySetItem } from '../../provisioning/tiers-file'
import { createConfigTable } from '../../tiered/create-config-table'
import { engineFor } from '../stores'
import { customResource } from './cloudformation'

const tier = (name: string, limit: number): PolicySetItem => ({
  ...tierKey(name),
  policies: [{ name: 'p', limit, window: '1m', algorithm: 'gcra' }],
})
const route = (pattern: string, cost: number): PolicySetItem => ({ ...routeKey(pattern), cost })
const settings = (defaultTier: string): PolicySetItem => ({ ...settingsKey(), defaultTier })

const A = [tier('anonymous', 1), tier('free', 10), tier('pro', 100), route('GET /a', 2), settings('free')]
const B = [tier('anonymous', 2), tier('free', 20), tier('max', 900)]
/** What nobody's code has a word in. */
const OTHERS = [
  { ...clientKey('hash'), id: 'acme', tier: 'free', note: 'theirs' },
  { pk: CONFIG_TABLE.policySet, sk: 'block#198.51.100.7', reason: 'flood' },
  { ...switchKey(), mode: 'off' },
  { ...apiKey('a1b2c3d4e5'), label: 'shop' },
  { pk: 'seed', sk: 'api#a1b2c3d4e5', hash: 'h', owner: 'stack Label' },
  { pk: 'audit', sk: '2026-11-23T07:00:00Z', what: 'tiers apply' },
  lastValidKey('tier#gone'),
]

describe('a seed with authority', () => {
  let engine: Engine
  let client: DynamoDBClient
  let plain: DynamoDBDocumentClient
  let table = ''
  let tables = 0
  let requests = 0
  beforeAll(async () => {
    engine = await engineFor()
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
    client = new DynamoDBClient({ endpoint: engine.endpoint, region: 'us-east-1', credentials })
    plain = DynamoDBDocumentClient.from(client)
  })
  afterAll(() => engine?.stop())
  const cloudFormation = customResource(() => engine.endpoint)
  beforeEach(async () => {
    table = `config-${tables++}`
    await createConfigTable(client, table)
    await put(...OTHERS)
  })
  let meanwhile: jest.SpyInstance | undefined
  const alone = () => meanwhile?.mockRestore()
  afterEach(alone)

  const put = async (...items: readonly object[]) => {
    for (let i = 0; i < items.length; i += 25)
      await plain.send(
        new BatchWriteCommand({
          RequestItems: { [table]: items.slice(i, i + 25).map((Item) => ({ PutRequest: { Item: { ...Item } } })) },
        }),
      )
  }
  const remove = async (key: { pk: string; sk: string }) =>
    plain.send(
      new BatchWriteCommand({ RequestItems: { [table]: [{ DeleteRequest: { Key: { pk: key.pk, sk: key.sk } } }] } }),
    )
  const all = async () =>
    (
      await allPages((ExclusiveStartKey) =>
        plain.send(new ScanCommand({ TableName: table, ConsistentRead: true, ExclusiveStartKey })),
      )
    ).map(({ item }) => item)
  /** The tiers, routes and settings of the table, by sort key. */
  const inForce = async () =>
    (await all())
      .filter(({ pk, sk }) => pk === CONFIG_TABLE.policySet && /^(tier#|route#|settings|global)/.test(sk))
      .sort((a, b) => (a.sk < b.sk ? -1 : 1))
  const sorted = (items: readonly PolicySetItem[]) => [...items].sort((a, b) => (a.sk < b.sk ? -1 : 1))
  const untouched = async () => {
    const left = await all()
    for (const item of OTHERS) expect(left).toContainEqual(item)
  }

  /** A request of CloudFormation. */
  const request = (items: readonly PolicySetItem[], more: Partial<SeedRequest> & { readonly Seed?: string } = {}) => {
    const { Seed = 'authoritative', ...event } = more
    return {
      RequestType: 'Update' as const,
      ResponseURL: cloudFormation.responseUrl(),
      StackId: 'stack',
      RequestId: `request-${requests++}`,
      LogicalResourceId: 'Items',
      ...event,
      ResourceProperties: {
        TableName: table,
        Items: items.map((item) => JSON.stringify(item)),
        ...(Seed && { Seed }),
      },
    }
  }
  const send = async (event: SeedRequest) => {
    await handler(event)
    return cloudFormation.answers.at(-1)!
  }
  const deploy = (items: readonly PolicySetItem[], more?: Parameters<typeof request>[1]) => send(request(items, more))
  const DONE = { Status: 'SUCCESS', Data: { Kept: 'none', Undone: 'none' } }

  /** Does something before the n-th transaction of what follows. */
  const beforeTransaction = (nth: number, what: () => Promise<unknown>) => {
    const send = DynamoDBDocumentClient.prototype.send as (command: never) => Promise<never>
    let transactions = 0
    meanwhile = jest.spyOn(DynamoDBDocumentClient.prototype, 'send').mockImplementation(async function (
      this: never,
      command: never,
    ) {
      if ((command as object) instanceof TransactWriteCommand && ++transactions === nth) await what()
      return send.call(this, command)
    } as never)
  }
  /** The transaction that writes the items: the first tells that a deployment has begun. */
  const ITEMS = 2

  it('makes the table what the code says, and touches nothing else', async () => {
    expect(await deploy(A, { RequestType: 'Create' })).toMatchObject(DONE)
    expect(await inForce()).toEqual(sorted(A))
    expect(await deploy(B)).toMatchObject(DONE)
    expect(await inForce()).toEqual(sorted(B))
    await untouched()
  })

  it('undoes what others have edited, added and deleted, says so, and logs how it was', async () => {
    await deploy(A)
    await put(tier('free', 55), tier('mine', 7))
    await remove(tierKey('anonymous'))
    expect(await deploy(B)).toMatchObject({
      Status: 'SUCCESS',
      Data: { Kept: 'none', Undone: 'tier#anonymous (deleted), tier#free (changed), tier#mine (added)' },
    })
    expect(await inForce()).toEqual(sorted(B))
    const log = cloudFormation.logged().replaceAll('\\\\"', '"').replaceAll('\\"', '"')
    expect(log).toContain('"item":"tier#free","edit":"changed","was":{')
    expect(log).toContain('"limit":55')
    expect(log).toContain('"item":"tier#mine","edit":"added"')
    await untouched()
  })

  it('undoes everything that is not in the code when it takes over a table', async () => {
    await put(...B, tier('mine', 7))
    expect((await deploy(A)).Data).toEqual({
      Kept: 'none',
      Undone: 'tier#anonymous (added), tier#free (added), tier#max (added), tier#mine (added)',
    })
    expect(await inForce()).toEqual(sorted(A))
  })

  it('leaves edits alone as long as the code is the same: deployed twice, and in a retry of Lambda', async () => {
    const first = request(A)
    await send(first)
    await put(tier('free', 55))
    expect((await deploy(A)).Data).toEqual({ Kept: 'tier#free', Undone: 'none' })
    expect((await send(first)).Status).toBe('FAILED') // superseded meanwhile
    expect(await inForce()).toContainEqual(tier('free', 55))
  })

  it('restores the code’s previous state in a rollback, and keeps tiers that clients were given meanwhile', async () => {
    await deploy(A)
    await deploy(B)
    await put({ ...clientKey('new'), id: 'newcomer', tier: 'max' })
    expect(await deploy(A)).toMatchObject({ Status: 'SUCCESS', Data: { Kept: 'tier#max', Undone: 'none' } })
    expect(await inForce()).toEqual(sorted([...A, tier('max', 900)]))
    await untouched()
  })

  it('undoes no edit in the rollback of a deployment that wrote nothing', async () => {
    await deploy(A)
    await put({ ...clientKey('big'), id: 'big', tier: 'pro' }, tier('free', 55))
    expect((await deploy(B)).Status).toBe('FAILED')
    expect((await deploy(A)).Data).toEqual({ Kept: 'tier#free', Undone: 'none' })
  })

  it('refuses to remove a tier that clients still have, of thousands, and writes nothing', async () => {
    await deploy(A)
    const clients = Array.from({ length: 1200 }, (_, i) => ({
      ...clientKey(`k${i}`),
      id: `c${i}`,
      tier: 'free',
      x: 'x'.repeat(1000),
    }))
    await put(
      ...clients,
      ...Array.from({ length: 7 }, (_, i) => ({ ...clientKey(`p${i}`), id: `pro-${i}`, tier: 'pro' })),
    )
    const { Status, Reason } = await deploy(B)
    expect(Status).toBe('FAILED')
    expect(Reason).toMatch(
      /clients still have tiers that are not in the code \(nothing was written\): "pro": pro-\d(, pro-\d){4} and 2 more\. Leave the tier in the code, move them/,
    )
    expect(await inForce()).toEqual(sorted(A))
    await untouched()
  })

  it('lets a tier’s variant for some APIs go, whose clients have the tier itself', async () => {
    const variant = { ...tier('free @dev', 3), apis: ['a1b2c3d4e5'] }
    await deploy([...A, variant])
    expect(await deploy(A)).toMatchObject(DONE)
    await deploy([tier('anonymous', 1), { ...tier('free @dev', 3), apis: ['a1b2c3d4e5'] }])
    expect(await inForce()).toEqual(sorted(A)) // refused: acme has the tier, which would be left at one API only
  })

  it('fails where a client is given a tier at the moment when it leaves, and its rollback brings the tier back', async () => {
    await deploy(A)
    beforeTransaction(ITEMS, () => put({ ...clientKey('late'), id: 'late', tier: 'pro' }))
    expect(await deploy(B)).toMatchObject({ Status: 'FAILED', Reason: expect.stringContaining('"pro": late') })
    alone()
    expect((await deploy(A)).Status).toBe('SUCCESS')
    expect(await inForce()).toEqual(sorted(A))
  })

  it('undoes an edit that somebody makes at the same moment, too, and says so', async () => {
    await deploy(A)
    beforeTransaction(ITEMS, () => put(tier('free', 55)))
    expect((await deploy(B)).Data).toEqual({ Kept: 'none', Undone: 'tier#free (changed)' })
    expect(await inForce()).toEqual(sorted(B))
  })

  const many = (count: number, limit: number) => [
    tier('anonymous', limit),
    ...Array.from({ length: count }, (_, i) => tier(`t${i}`, limit)),
  ]

  it('writes more than one transaction takes in several, and a retry of Lambda finishes what broke off', async () => {
    await deploy(many(60, 1))
    await put(tier('t0', 77), tier('t59', 78))
    const update = request(many(60, 2))
    beforeTransaction(3, () => Promise.reject(new Error('killed')))
    expect((await send(update)).Status).toBe('FAILED')
    alone()
    const half = await inForce()
    expect(new Set(half.map((item) => (item.policies as { limit: number }[])[0]!.limit))).toEqual(new Set([1, 2, 78]))
    expect((await send(update)).Data).toEqual({ Kept: 'none', Undone: 'tier#t0 (changed), tier#t59 (changed)' })
    expect(await inForce()).toEqual(sorted(many(60, 2)))
  })

  it('is taken back from half way by a rollback, also while it still runs: it writes nothing more', async () => {
    const [old, next] = [many(60, 1), many(60, 2)]
    await deploy(old)
    const rolledBack: unknown[] = []
    beforeTransaction(3, async () => {
      alone()
      rolledBack.push(await deploy(old))
    })
    expect(await deploy(next)).toMatchObject({
      Status: 'FAILED',
      Reason: expect.stringContaining('a later deployment, such as a rollback, has taken over'),
    })
    expect(rolledBack).toMatchObject([{ Status: 'SUCCESS', Data: { Kept: 'none', Undone: 'none' } }])
    expect(await inForce()).toEqual(sorted(old))
  })

  it('is ended by a rollback to a stack without authority, which has its tiers back, too', async () => {
    await deploy(A, { Seed: '' })
    const update = request(B)
    beforeTransaction(ITEMS, async () => {
      alone()
      await deploy(A, { Seed: '' })
    })
    expect((await send(update)).Status).toBe('FAILED')
    expect(await inForce()).toEqual(sorted(A))
    expect((await send(update)).Status).toBe('FAILED')
    await deploy(B) // another attempt
    await deploy(A, { Seed: '' })
    expect(await inForce()).toEqual(sorted([...A, tier('max', 900)]))
  })

  it('is of one stack: another one is refused until the first is deleted, and a renamed resource takes over', async () => {
    await deploy(A)
    const theirs = { StackId: 'other' }
    expect(await deploy(B, theirs)).toMatchObject({ Status: 'FAILED', Reason: expect.stringContaining('code, stack:') })
    expect(await inForce()).toEqual(sorted(A))
    expect(await deploy(A, { LogicalResourceId: 'Renamed', RequestType: 'Create' })).toMatchObject(DONE)
    await deploy(A, { RequestType: 'Delete' })
    expect((await deploy(B, theirs)).Status).toBe('FAILED')
    await deploy(A, { LogicalResourceId: 'Renamed', RequestType: 'Delete' })
    expect(await inForce()).toEqual(sorted(A)) // which stay
    expect((await deploy(B, theirs)).Status).toBe('SUCCESS')
    await untouched()
  })

  it('goes with its table', async () => {
    const gone = request(A, { RequestType: 'Delete' })
    expect(
      await send({ ...gone, ResourceProperties: { ...gone.ResourceProperties, TableName: 'gone' } }),
    ).toMatchObject({
      Status: 'SUCCESS',
    })
  })

  it('may be followed by one that keeps edits, as an older version of the function has it', async () => {
    await deploy(A)
    expect((await deploy(B.slice(0, 2), { Seed: '' })).Data!.Kept).toBe('none')
    expect(await inForce()).toEqual(sorted([...B.slice(0, 2), ...A.slice(2)]))
    await put(tier('free', 55))
    expect((await deploy(A)).Data!.Undone).toBe('tier#free (changed)')
    expect(await inForce()).toEqual(sorted(A))
  })
})

describe('seed: "authoritative" in a stack', () => {
  const synth = (props: RateLimiterProps) => {
    const stack = new Stack()
    new RateLimiter(stack, 'Limiter', props)
    return Template.fromStack(stack)
  }
  const tiers = { anonymous: { by: 'ip', policies: [{ limit: 20, window: '1m' }] } } as const
  const template = synth({ tiers, seed: 'authoritative' })

  it('tells its function so, and has what was undone as an output', () => {
    template.hasResourceProperties('Custom::SluiceTiers', { Seed: 'authoritative', Reports: ['Kept', 'Undone'] })
    expect(Object.keys(template.findOutputs('*')).filter((name) => /Kept|Undone/.test(name))).toHaveLength(2)
    synth({ tiers }).hasResourceProperties('Custom::SluiceTiers', { Seed: Match.absent(), Reports: ['Kept'] })
  })

  it('may delete tiers and see whose tier is which: no credential’s record, no other attribute', () => {
    const [policy] = Object.entries(template.findResources('AWS::IAM::Policy')).filter(([id]) => id.includes('Tiers'))
    const statements = policy![1].Properties.PolicyDocument.Statement as { Action: unknown; Condition?: object }[]
    const by = (name: string) => statements.filter(({ Action }) => [Action].flat().includes(`dynamodb:${name}`))
    expect(by('DeleteItem').map(({ Condition }) => Condition)).toEqual([
      {
        'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['policy-set', 'seed', 'audit'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    ])
    expect(by('Scan').map(({ Condition }) => Condition)).toEqual([
      {
        'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['pk', 'sk', 'id', 'tier'] },
        StringEquals: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
        Null: { 'dynamodb:Attributes': 'false' },
      },
    ])
    expect(by('UpdateItem')).toEqual([])
  })

  it.each<[RateLimiterProps, string]>([
    [{ seed: 'authoritative' }, 'seed: "authoritative" needs tiers or tiersFile, got neither'],
    [{ seed: 'authoritative', identity: 'ip' }, 'seed: "authoritative" needs tiers or tiersFile, got neither'],
    [{ seed: 'force' as never, tiers }, 'seed must be "keep-edits" or "authoritative", got "force"'],
    [{ seed: 'authoritative', tiers, tiersFile: 'tiers.yaml' }, 'tiers does not go with tiersFile, got both: keep one'],
  ])('%j is refused at the synth', (props, why) => {
    expect(() => synth(props)).toThrow(why)
  })
})
