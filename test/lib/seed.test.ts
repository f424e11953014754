import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { App, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { UserPool } from 'aws-cdk-lib/aws-cognito'
import { clientKey, ringKey, tierKey } from '../../lambda/config-table/items/config-keys'
import { parseKeyRing } from '../../lambda/config-table/items/key-ring'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { ConfigError, jwt, RateLimiter, type RateLimiterProps } from '../../lib/index'
import { handler, type SeedRequest } from '../../lib/seed/handler'
import { buildSeedBundle } from '../../lib/seed/seed-bundle'
import { seedItems, seedKeyRings } from '../../lib/seed/seed-items'
import type { Mistake } from '../../limiter/errors'
import type { Engine } from '../../local/engines/engine'
import { documentsOf } from '../../provisioning/documents'
import { contentHash, itemsOf, type PolicySetItem } from '../../provisioning/tiers-file'
import { createConfigTable } from '../../tiered/create-config-table'
import { engineFor } from '../stores'
import { customResource } from './cloudformation'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const tier = (name: string, limit: number): PolicySetItem => ({
  ...tierKey(name),
  policies: [{ name: 'p', limit, window: '1m', algorithm: 'gcra' }],
})

describe('what a deployment writes into the config table', () => {
  let engine: Engine
  let client: DynamoDBClient
  /** As the seed has it. */
  let documents: DynamoDBDocumentClient
  /** As somebody with a console. */
  let plain: DynamoDBDocumentClient
  let table = ''
  let tables = 0

  beforeAll(async () => {
    engine = await engineFor()
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
    client = new DynamoDBClient({ endpoint: engine.endpoint, region: 'us-east-1', credentials })
    documents = documentsOf(client)
    plain = DynamoDBDocumentClient.from(
      new DynamoDBClient({ endpoint: engine.endpoint, region: 'us-east-1', credentials }),
    )
  })
  afterAll(() => engine?.stop())
  beforeEach(async () => {
    table = `config-${tables++}`
    await createConfigTable(client, table)
  })

  const put = (item: object) => plain.send(new PutCommand({ TableName: table, Item: item as Record<string, unknown> }))
  const get = async (key: { pk: string; sk: string }) =>
    (await plain.send(new GetCommand({ TableName: table, Key: key }))).Item

  it('is every item, if the table is empty', async () => {
    expect(await seedItems(documents, table, [tier('free', 1), tier('pro', 2)])).toEqual({
      'tier#free': 'written',
      'tier#pro': 'written',
    })
    expect(await get(tierKey('free'))).toEqual(tier('free', 1))
  })

  it('is nothing, if the table already has the items', async () => {
    await seedItems(documents, table, [tier('free', 1)])
    expect(await seedItems(documents, table, [tier('free', 1)])).toEqual({ 'tier#free': 'unchanged' })
  })

  it('are items changed in the file, if nobody edited them since the last deployment', async () => {
    await seedItems(documents, table, [tier('free', 1), tier('pro', 2)])
    expect(await seedItems(documents, table, [tier('free', 10), tier('pro', 2)])).toEqual({
      'tier#free': 'written',
      'tier#pro': 'unchanged',
    })
    expect(await seedItems(documents, table, [tier('free', 11), tier('pro', 2)])).toEqual({
      'tier#free': 'written',
      'tier#pro': 'unchanged',
    })
    expect(await get(tierKey('free'))).toEqual(tier('free', 11))
  })

  it('never overwrites items that an operator edited or that existed before', async () => {
    await put(tier('mine', 7))
    await seedItems(documents, table, [tier('free', 1), tier('mine', 1)])
    await put(tier('free', 99))
    expect(await seedItems(documents, table, [tier('free', 2), tier('mine', 2)])).toEqual({
      'tier#free': 'kept',
      'tier#mine': 'kept',
    })
    expect([await get(tierKey('free')), await get(tierKey('mine'))]).toEqual([tier('free', 99), tier('mine', 7)])
  })

  it('updates an edited item again once the file contains the edit', async () => {
    await seedItems(documents, table, [tier('free', 1)])
    await put(tier('free', 5))
    expect(await seedItems(documents, table, [tier('free', 5)])).toEqual({ 'tier#free': 'unchanged' })
    expect(await seedItems(documents, table, [tier('free', 6)])).toEqual({ 'tier#free': 'written' })
  })

  it('continues after a deployment that was interrupted between an item and its note', async () => {
    await put(tier('free', 1))
    await seedItems(documents, table, [tier('free', 1)])
    expect(await seedItems(documents, table, [tier('free', 2)])).toEqual({ 'tier#free': 'written' })
  })

  it('keeps an edit that an operator makes at the same moment', async () => {
    await seedItems(documents, table, [tier('free', 1)])
    const meanwhile = {
      send: async (command: never) => {
        if ((command as object) instanceof PutCommand && (await get(tierKey('free')))?.policies[0].limit === 1)
          await put(tier('free', 50))
        return documents.send(command)
      },
    }
    expect(await seedItems(meanwhile as never, table, [tier('free', 2)])).toEqual({ 'tier#free': 'kept' })
    expect(await get(tierKey('free'))).toEqual(tier('free', 50))
  })

  it('leaves clients and items that are no longer in the file unchanged', async () => {
    await put({ ...clientKey('hash'), id: 'a', tier: 'free' })
    await seedItems(documents, table, [tier('free', 1), tier('pro', 1)])
    await seedItems(documents, table, [tier('free', 1)])
    const { Items = [] } = await plain.send(new ScanCommand({ TableName: table }))
    expect(Items.map(({ pk, sk }) => `${pk} ${sk}`).sort()).toEqual([
      'client#hash client',
      'policy-set tier#free',
      'policy-set tier#pro',
      'seed tier#free',
      'seed tier#pro',
    ])
  })

  describe('as requested by CloudFormation', () => {
    const { answers, logged, responseUrl } = customResource(() => engine.endpoint)

    const ask = async (RequestType: SeedRequest['RequestType'], TableName = table, items = [tier('free', 3)]) => {
      const ids = { StackId: 'stack', RequestId: 'request', LogicalResourceId: 'Tiers' }
      const ResponseURL = responseUrl()
      const Items = items.map((item) => JSON.stringify(item))
      await handler({ RequestType, ResponseURL, ...ids, ResourceProperties: { TableName, Items } })
      return answers.at(-1)!
    }

    it('seeds, and answers at the given URL', async () => {
      expect(await ask('Create')).toEqual({
        method: 'PUT',
        type: undefined,
        Status: 'SUCCESS',
        Reason: '',
        StackId: 'stack',
        RequestId: 'request',
        LogicalResourceId: 'Tiers',
        PhysicalResourceId: 'Tiers-seed',
        Data: { Kept: 'none', Undone: 'none' },
      })
      expect(await get(tierKey('free'))).toEqual(tier('free', 3))
    })

    it('tells what differs from the file and was kept, in an answer that CloudFormation takes', async () => {
      await put(tier('free', 9))
      expect((await ask('Create')).Data).toEqual({ Kept: 'tier#free', Undone: 'none' })
      expect((await ask('Update')).Data).toEqual({ Kept: 'tier#free', Undone: 'none' })
      expect((await ask('Delete')).Data).toEqual({ Kept: 'none', Undone: 'none' })
      const many = Array.from({ length: 300 }, (_, i) => `number-${i}`)
      for (const name of many) await put(tier(name, 9))
      const answer = await ask(
        'Update',
        table,
        many.map((name) => tier(name, 3)),
      )
      expect(JSON.stringify(answer).length).toBeLessThan(4096)
      expect(answer.Data!.Kept).toMatch(/^tier#number-0, .*tier#number-\d+, … \(300 in all, see the log\)$/)
    })

    it('creates the HMAC key of a new deployment once, and does not log it', async () => {
      await ask('Create')
      const made = await get(ringKey(HMAC_RING))
      const issues: Mistake[] = []
      expect(parseKeyRing(HMAC_RING, made, issues).keys).toEqual([{ secret: expect.any(Uint8Array), activeFrom: 0 }])
      expect(issues).toEqual([])
      await ask('Create') // a retry, or another stack on the same table
      await ask('Update')
      expect(await get(ringKey(HMAC_RING))).toEqual(made)
      expect(logged() + JSON.stringify(answers)).not.toContain(made!.keys[0].key.slice(0, 8))
    })

    it('creates no HMAC key for an existing deployment: neither on update nor for a table with tiers', async () => {
      await ask('Update')
      expect(await get(ringKey(HMAC_RING))).toBeUndefined()
      await put(tier('free', 9))
      await ask('Create')
      expect(await get(ringKey(HMAC_RING))).toBeUndefined()
    })

    it('creates the first signing key, once, also for a table with tiers, and does not log it', async () => {
      await put(tier('free', 9))
      await ask('Create')
      const made = await get(ringKey(SIGNING_RING))
      const issues: Mistake[] = []
      expect(parseKeyRing(SIGNING_RING, made, issues).keys).toEqual([{ secret: expect.any(Uint8Array), activeFrom: 0 }])
      expect(issues).toEqual([])
      await ask('Create')
      expect(await get(ringKey(SIGNING_RING))).toEqual(made)
      expect(logged() + JSON.stringify(answers)).not.toContain(made!.keys[0].key.slice(0, 8))
    })

    it('creates one secret of each kind if two deployments start at the same time', async () => {
      await Promise.all(Array.from({ length: 5 }, () => seedKeyRings(documents, table)))
      for (const kind of [HMAC_RING, SIGNING_RING]) expect((await get(ringKey(kind)))!.keys).toHaveLength(1)
    })

    it('writes nothing when the stack is deleted', async () => {
      expect(await ask('Delete')).toMatchObject({ Status: 'SUCCESS' })
      expect(await get(tierKey('free'))).toBeUndefined()
    })

    it('reports why it failed', async () => {
      expect(await ask('Update', 'nowhere')).toMatchObject({
        Status: 'FAILED',
        Reason: expect.stringContaining('the config table could not be seeded: '),
      })
    })
  })
})

describe('a content hash', () => {
  it('is the same in whatever order fields stand', () => {
    expect(contentHash({ a: 1, b: { c: [1, 2], d: undefined } })).toBe(contentHash({ b: { c: [1, 2] }, a: 1 }))
  })

  it.each([[{ a: 2 }], [{ a: '1' }], [{ a: [1] }], [{ a: 1, b: null }], [{}]])('differs for %j', (other) => {
    expect(contentHash(other)).not.toBe(contentHash({ a: 1 }))
  })
})

test('a file without routes has items', () => {
  expect(itemsOf({ tiers: { free: { policies: [] } } })).toEqual([{ ...tierKey('free'), policies: [] }])
})

describe('the seed in a stack', () => {
  const limiterWith = (tiersFile: string) => {
    const stack = new Stack(new App(), 'Stack')
    new RateLimiter(stack, 'Limiter', { tiersFile })
    return Template.fromStack(stack)
  }
  const fileWith = (text: string) => {
    const file = join(folder, 'tiers.yaml')
    writeFileSync(file, text)
    return file
  }

  it('may read and write tiers and routes, and nothing else: not clients, nor anything in another table', () => {
    const policies = Object.entries(limiterWith('tiers.yaml').findResources('AWS::IAM::Policy'))
    const [, { Properties }] = policies.find(([id]) => id.includes('Tiers'))!
    expect(Properties.PolicyDocument.Statement).toEqual([
      expect.objectContaining({ Action: ['logs:CreateLogStream', 'logs:PutLogEvents'] }),
      // for the check of config tables
      {
        Action: ['cloudformation:DescribeStacks', 'cloudformation:ListStackResources'],
        Effect: 'Allow',
        Resource: { Ref: 'AWS::StackId' },
      },
      ...(
        [
          ['dynamodb:Query', ['policy-set', 'seed']],
          ['dynamodb:PutItem', ['policy-set', 'seed', 'audit']],
          ['dynamodb:PutItem', ['hmac-key', 'signing-key', 'audit']],
        ] as const
      ).map(([Action, partitions]) => ({
        Action,
        Effect: 'Allow',
        Resource: { 'Fn::GetAtt': [expect.stringContaining('Config'), 'Arn'] },
        Condition: {
          'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': partitions },
          Null: { 'dynamodb:LeadingKeys': 'false' },
        },
      })),
      // for the deletion guard
      expect.objectContaining({
        Action: ['lambda:GetPolicy', 'lambda:ListAliases', 'lambda:ListVersionsByFunction'],
        Resource: { 'Fn::GetAtt': [expect.stringContaining('AuthorizerHandler'), 'Arn'] },
      }),
      expect.objectContaining({
        Action: 'lambda:GetPolicy',
        Resource: {
          'Fn::Join': ['', [{ 'Fn::GetAtt': [expect.stringContaining('AuthorizerHandler'), 'Arn'] }, ':*']],
        },
      }),
    ])
  })

  it('runs when its function may write, and knows its table', () => {
    limiterWith('tiers.yaml').hasResource('Custom::SluiceTiers', {
      DependsOn: Match.arrayWith([Match.stringLikeRegexp('TiersRoleDefaultPolicy')]),
      Properties: { TableName: { Ref: Match.stringLikeRegexp('Config') }, Items: Match.anyValue() },
    })
  })

  it('does not exist without a tiers file', () => {
    const stack = new Stack(new App(), 'Stack')
    new RateLimiter(stack, 'Limiter')
    Template.fromStack(stack).resourceCountIs('Custom::SluiceTiers', 0)
  })

  it('fails the synth with every error in the file', () => {
    const file = fileWith('tiers: { free: { policies: [ { name: p, limit: 0, window: 1m }, { name: q, limit: 1 } ] } }')
    const error = issues(() => limiterWith(file))
    expect(error).toHaveLength(3)
    expect(error.every((issue) => issue.includes(file))).toBe(true)
  })

  it.each([
    ['a file that is not there', () => join(folder, 'nowhere.yaml'), 'ENOENT'],
    ['a file that is no YAML', () => fileWith('tiers: ['), 'tiersFile must be a YAML file'],
    [
      'a file that CloudFormation would not carry',
      () => fileWith(fileOf(200_001)),
      'the tiers must be at most 200000 characters long as JSON, got 200001',
    ],
  ])('is refused for %s', (_, file, words) =>
    expect(issues(() => limiterWith(file()))).toEqual([expect.stringContaining(words)]),
  )

  it('takes a file of 200,000 characters', () => {
    expect(() => limiterWith(fileWith(fileOf(200_000)))).not.toThrow()
  })
})

describe('the identity of a limiter', () => {
  const template = (props: RateLimiterProps | ((stack: Stack) => RateLimiterProps)) => {
    const stack = new Stack(new App(), 'Stack')
    new RateLimiter(stack, 'Limiter', typeof props === 'function' ? props(stack) : props)
    return Template.fromStack(stack)
  }
  const seeded = (from: Template) =>
    Object.values(from.findResources('Custom::SluiceTiers'))[0]!.Properties.Items as unknown[]
  const settingsOf = (from: Template) =>
    seeded(from).flatMap((item) =>
      typeof item === 'string' && item.includes('"sk":"settings"') ? JSON.parse(item) : [],
    )
  const tiersWith = (settings: string) => {
    const file = join(folder, 'identity.yaml')
    writeFileSync(file, `${settings}\ntiers: { anonymous: { by: ip, policies: [] } }\n`)
    return file
  }
  const ours = { issuer: 'https://login.example.com', audience: 'api' }

  it('is seeded beside the tiers and what else the file says in its settings', () => {
    const from = template({
      tiersFile: tiersWith('settings: { trustedHeaders: [x-tenant] }'),
      identity: [jwt({ ...ours, lookup: true }), 'api-key'],
    })
    const identity = [{ source: 'jwt', ...ours, lookup: true }, 'api-key']
    expect(settingsOf(from)).toEqual([{ pk: 'policy-set', sk: 'settings', trustedHeaders: ['x-tenant'], identity }])
    expect(seeded(from)).toHaveLength(2)
  })

  it('is seeded by itself where there is no file, and may be a single source', () => {
    const from = template({ identity: jwt(ours) })
    expect(settingsOf(from)).toEqual([{ pk: 'policy-set', sk: 'settings', identity: [{ source: 'jwt', ...ours }] }])
    expect(seeded(from)).toHaveLength(1)
  })

  it('may be of a user pool that is made in the same stack', () => {
    const from = template((stack) => {
      const pool = new UserPool(stack, 'Pool')
      const audience = pool.addClient('Client').userPoolClientId
      return {
        tiersFile: tiersWith(''),
        identity: [
          jwt({ issuer: pool.userPoolProviderUrl, audience, tokenUse: 'access' }),
          jwt({ issuer: `https://cognito-idp.${stack.region}.amazonaws.com/${pool.userPoolId}`, audience: [audience] }),
        ],
      }
    })
    const text = JSON.stringify(seeded(from))
    expect(text).toContain('ProviderURL')
    expect(text).not.toContain('unknown')
  })

  it('is optional in a deployment with authentication none', () => {
    const tiersFile = join(folder, 'required.yaml')
    writeFileSync(
      tiersFile,
      'tiers: { anonymous: { credentials: required, policies: [] } }\nroutes: { "GET /a": { credentials: required } }\n',
    )
    const wrong = 'credentials must not be "required" where the deployment has authentication "none"'
    expect(issues(() => template({ tiersFile, authentication: 'none' }))).toEqual([
      `${wrong} (${tiersFile}, tier "anonymous")`,
      `${wrong} (${tiersFile}, route "GET /a")`,
    ])
    template({ tiersFile }).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { SLUICE_AUTHENTICATION: Match.absent() } },
    })
    template({ authentication: 'none' }).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ SLUICE_AUTHENTICATION: 'none' }) },
    })
  })

  it('must not be set twice', () => {
    const tiersFile = tiersWith('settings: { identity: [api-key] }')
    expect(issues(() => template({ tiersFile, identity: 'api-key' }))).toEqual([
      `identity must be set once, by the prop or in the settings beside the tiers, got both (${tiersFile})`,
    ])
  })

  it.each([undefined, 'tiers.yaml'])('fails the synth with every error in it (%s)', (tiersFile) => {
    const identity = [jwt({ issuer: 'http://login.example.com', audience: [] }), 'cookie' as never]
    expect(issues(() => template({ tiersFile, identity }))).toEqual([
      expect.stringMatching(/^issuer must be an https URL without a query, got "http:.*\(prop "identity"/),
      expect.stringContaining('audience must be'),
      expect.stringMatching(/^source must be one of .*, got "cookie"/),
    ])
  })

  it('does not hide that the file is invalid', () => {
    const file = join(folder, 'identity.yaml')
    writeFileSync(file, 'just words')
    expect(issues(() => template({ tiersFile: file, identity: 'api-key' }))[0]).toContain(file)
  })
})

test('the seed function is one file of at most 650 KB', () => {
  buildSeedBundle(folder)
  expect(statSync(join(folder, 'index.js')).size).toBeLessThanOrEqual(650_000)
})

function issues(synthesize: () => unknown): readonly string[] {
  try {
    synthesize()
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
  throw new Error('no mistake was found')
}

/** A tiers file that is so many characters long as JSON. */
function fileOf(characters: number): string {
  const tiersOf = (names: readonly string[]) => ({
    anonymous: { by: 'ip' as const, policies: [] },
    ...Object.fromEntries(names.map((name) => [name, { policies: [{ name: 'p', limit: 100, window: '1m' }] }])),
  })
  const lengthOf = (names: readonly string[]) => JSON.stringify(itemsOf({ tiers: tiersOf(names) })).length
  const each = lengthOf(['t1000', 't1001']) - lengthOf(['t1000'])
  const names = Array.from({ length: Math.floor((characters - lengthOf([])) / each) }, (_, i) => `t${1000 + i}`)
  const missing = characters - lengthOf(names)
  return JSON.stringify({ tiers: tiersOf(names.map((name, i) => (i < missing ? `${name}x` : name))) })
}
