import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { CreateTableCommand, DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { checkTimeToLive } from '../../cli/tables/time-to-live'
import { ringKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { set, when } from '../../limiter/algorithms/conditional-write'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { newRingKey } from '../../provisioning/make-key-ring'
import { failure } from '../attach/fake-service'
import { runsDynoxide } from '../engines-left'
import { type Deployment, deploy, sluice, TIERS } from './command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

let at: Deployment
beforeEach(async () => {
  at = await deploy('dynalite')
  await at.put(...TIERS, SECRET)
})
afterEach(async () => at?.close())

const SECRET = keyRingItem(HMAC_RING, [newRingKey(0)])

const statuses = async (...args: string[]): Promise<Record<string, string>> => {
  const { out } = await at.sluice(['doctor', '--json', ...args])
  return Object.fromEntries(
    JSON.parse(out).checks.map(({ name, status }: { name: string; status: string }) => [name, status]),
  )
}

const HEALTHY = {
  connection: 'ok',
  'config table': 'ok',
  'state table': 'ok',
  'time to live': 'warning', // dynalite has none
  configuration: 'ok',
  identity: 'ok',
  'base paths': 'ok',
  clients: 'ok',
  'HMAC key': 'ok',
  'signing key': 'ok',
  'audit trail': 'ok',
  clock: 'ok',
}

describe('the doctor', () => {
  it('reports no problem for a healthy deployment', async () => {
    expect(await statuses()).toEqual(HEALTHY)
    const { code, out, err } = await at.sluice(['doctor'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('ok      configuration: 3 tiers, 0 routes\n')
    expect(out).toContain(
      'ok      base paths: none: if a custom domain adds one to an API’s paths, name it in settings.basePaths\n',
    )
    expect(out).toContain(
      'ok      identity: api-key, then api-gateway-key, then ip (the default order, because settings has no identity)\n',
    )
    expect(out).toMatch(/^warning time to live: DISABLED\n {8}do: none needed outside AWS$/m)
  })

  it('warns of credentials that no source of identity reads', async () => {
    await at.json(['clients', 'create', 'acme', '--tier', 'free'])
    await at.put({ pk: 'policy-set', sk: 'settings', identity: ['api-gateway-key'] })
    expect(await statuses()).toEqual({ ...HEALTHY, clients: 'warning' })
    const { code, out } = await at.sluice(['doctor'])
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(
        'warning clients: settings.identity has no api-key, so 1 API key of acme identify no client: requests with them are anonymous\n',
      ),
    ])
    await at.put({ pk: 'policy-set', sk: 'settings', identity: ['api-key'] })
    const created = await at.sluice(['clients', 'create', 'ann', '--tier', 'free', '--user', '42'])
    expect(created.err).toContain(
      'warning: settings.identity has no source with lookup: true, so 1 user or caller of ann',
    )
    await at.put({
      pk: 'policy-set',
      sk: 'settings',
      identity: ['api-key', { source: 'header', name: 'x-user', as: 'user', lookup: true, trusted: true }],
    })
    expect(await statuses()).toEqual(HEALTHY)
  })

  it('prints an example of an event, which it takes, and says what --event must be', async () => {
    const path = join(folder, 'example.json')
    const { out } = await at.sluice(['doctor', '--example-event'])
    writeFileSync(path, out)
    const { event } = JSON.parse((await at.sluice(['doctor', '--event', path, '--json'])).out)
    expect(event).toMatchObject({ request: 'GET /search', api: 'a1b2c3d4e5/prod', tier: 'anonymous' })
    expect(event.context).toMatchObject({ allowed: true, limit: 20 })
    const missing = join(folder, 'missing.json')
    const { code, err } = await at.sluice(['doctor', '--event', missing])
    expect([code, err]).toEqual([
      1,
      `--event must be a JSON file with an event that API Gateway sends to a REQUEST authorizer, got "${missing}": there is no such file; sluice doctor --example-event prints one\n`,
    ])
  })

  it('reports the HMAC key without showing it, and fails if the key is invalid', async () => {
    expect((await at.sluice(['doctor'])).out).toContain('ok      HMAC key: active from the beginning\n')
    await at.put({ ...ringKey(HMAC_RING), keys: [{ key: SECRET.keys[0]!.key, activeFrom: -1 }] })
    expect(await statuses()).toEqual({ ...HEALTHY, 'HMAC key': 'FAILED' })
    const { code, out, err } = await at.sluice(['doctor'])
    expect([code, out + err]).toEqual([1, expect.not.stringContaining(SECRET.keys[0]!.key.slice(0, 8))])
    await at.put(keyRingItem(HMAC_RING, [newRingKey(Date.now() + 3_600_000)]))
    expect((await at.sluice(['doctor'])).out).toMatch(/^ok {6}HMAC key: none yet, another from 20/m)
    await at.client.send(
      new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: { pk: { S: 'hmac-key' }, sk: { S: 'hmac-key' } } }),
    )
    expect(await statuses()).toEqual({ ...HEALTHY, 'HMAC key': 'warning' })
  })

  const withTtl = runsDynoxide() ? it : it.skip
  withTtl('sees time to live where the engine has it', async () => {
    const other = await deploy('dynoxide')
    try {
      expect((await other.sluice(['doctor'])).out).toContain('ok      time to live: enabled on attribute')
      const wrong = await other.sluice(['doctor', '--state-table', 'sluice-config'])
      expect(wrong.out).toMatch(/^FAILED {2}state table: .* has the keys pk, sk, not pk$/m)
      await other.client.send(
        new CreateTableCommand({
          TableName: 'without-ttl',
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
          KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        }),
      )
      expect(await checkTimeToLive(other.client, 'without-ttl', true)).toMatchObject({ status: 'warning' })
      expect(await checkTimeToLive(other.client, 'without-ttl', false)).toMatchObject({
        status: 'FAILED',
        found: 'DISABLED',
      })
    } finally {
      await other.close()
    }
  })

  it.each([
    [{ source: 'ip', trustedHops: 1 }, 'X-Forwarded-For, trustedHops 1'],
    [{ source: 'ip', viewerAddress: true }, 'CloudFront-Viewer-Address'],
  ])('warns about direct access when addresses are read from a header: %j', async (source, header) => {
    await at.put({ pk: 'policy-set', sk: 'settings', identity: [source] })
    const { code, out } = await at.sluice(['doctor'])
    expect(code).toBe(0)
    expect(out).toContain(`warning address: read from ${header}\n`)
    expect(out).toContain('Close the direct way')
  })

  it('fails with every problem that it finds', async () => {
    await at.put({ pk: 'policy-set', sk: 'tier#bad', policies: [{ name: 'a', limit: 0, window: '1m' }] })
    await at.put(
      { pk: 'policy-set', sk: 'settings', identity: ['api-gateway-key', 'ip'] },
      { pk: `client#${'1'.repeat(64)}`, sk: 'client', id: 'acme', tier: 'gold' },
    )
    const { code, out, err } = await at.sluice(['doctor'])
    expect([code, err]).toEqual([1, 'checks failed\n'])
    expect(out).toMatch(
      /^FAILED {2}configuration: limit must be a positive integer, got 0 .*\n {8}do: sluice tiers export/m,
    )
    expect(out).toContain('FAILED  clients: client "acme" has tier "gold", which does not exist\n')
    expect(out).toContain('ok      identity: api-gateway-key, then ip (as configured in settings)\n')
    const statuses = [...out.matchAll(/^(FAILED|warning|skipped|ok) /gm)].map(([, status]) => status)
    const urgency = ['FAILED', 'warning', 'skipped', 'ok']
    expect(statuses).toEqual([...statuses].sort((a, b) => urgency.indexOf(a!) - urgency.indexOf(b!)))
    expect(statuses[0]).toBe('FAILED')
  })

  it('fails for tables that are missing, empty or of another kind', async () => {
    expect(await statuses('--state-table', 'nowhere')).toEqual({
      ...HEALTHY,
      'state table': 'FAILED',
      'time to live': 'skipped',
    })
    expect(await statuses('--table', 'sluice-state')).toEqual({
      ...HEALTHY,
      'config table': 'FAILED',
      ...{ configuration: 'skipped', identity: 'skipped', 'base paths': 'skipped' },
      ...{ clients: 'skipped', 'HMAC key': 'skipped', 'signing key': 'skipped', 'audit trail': 'skipped' },
    })
    const empty = await deploy('dynalite')
    const { code, out } = await empty.sluice(['doctor'])
    expect([code, out]).toEqual([
      1,
      expect.stringContaining('FAILED  configuration: the table has no tiers, so no request is counted\n'),
    ])
    await empty.close()
  })

  it.each([
    [-90_000, 'FAILED', 'behind'],
    [-10_000, 'warning', 'behind'],
    [10_000, 'warning', 'ahead of'],
    [90_000, 'FAILED', 'ahead of'],
  ])('reports a clock that is %d ms off', async (off, status, word) => {
    const { out } = await at.sluice(['doctor', '--json'], { now: Date.now() + off })
    const clock = JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'clock')
    expect(clock).toMatchObject({ status, found: expect.stringContaining(`${word} the service`) })
  })
})

/** Everything is skipped but the checks named. */
const skippedBut = (some: Record<string, string>) => ({
  ...Object.fromEntries(Object.keys(HEALTHY).map((name) => [name, 'skipped'])),
  ...some,
})

describe('the doctor, where nothing can be read,', () => {
  beforeAll(() => {
    process.env.AWS_MAX_ATTEMPTS = '1' // the SDK would ask again, later and later
  })
  afterAll(() => {
    delete process.env.AWS_MAX_ATTEMPTS
  })
  const example = async () => {
    const file = join(folder, 'unread.json')
    writeFileSync(file, (await sluice(['doctor', '--example-event'])).out)
    return file
  }
  const outcomes = ({ out }: { readonly out: string }): Record<string, string> =>
    Object.fromEntries(JSON.parse(out).checks.map((one: { name: string; status: string }) => [one.name, one.status]))

  it('fails once for an endpoint that is no DynamoDB, and says of all else that it was not checked', async () => {
    const gateway = createServer((request, response) => {
      request.resume()
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
    const { port } = gateway.address() as AddressInfo
    try {
      const args = ['doctor', '--event', await example(), '--endpoint', `http://127.0.0.1:${port}`]
      const { code, out, err } = await sluice(args)
      expect([code, err]).toEqual([1, 'checks failed\n'])
      expect(out.match(/does not answer as DynamoDB does/g)).toHaveLength(1)
      expect(out).not.toMatch(/^ok|hmac-key;|has no identity|^route/m)
      expect(out).toMatch(/^skipped identity: not checked: see connection$/m)
      expect(outcomes(await sluice([...args, '--json']))).toEqual(
        skippedBut({ connection: 'FAILED', event: 'skipped' }),
      )
    } finally {
      await new Promise((resolve) => gateway.close(resolve))
    }
  })

  it('fails once for a port where nobody listens', async () => {
    const { code, out } = await sluice(['doctor', '--endpoint', 'http://127.0.0.1:1'])
    expect(code).toBe(1)
    expect(out.match(/ECONNREFUSED/g)).toHaveLength(1)
    expect(out.match(/^FAILED .*\n {8}do: .*$/gm)).toEqual([expect.stringContaining('do: check --endpoint')])
  })

  it('fails for the tables alone where another Region or table is named', async () => {
    expect(await statuses('--table', 'none', '--state-table', 'nowhere')).toEqual(
      skippedBut({ connection: 'ok', 'config table': 'FAILED', 'state table': 'FAILED' }),
    )
  })

  it('says what the settings have only where they were read', async () => {
    const send = jest.spyOn(DynamoDBDocumentClient.prototype, 'send')
    send.mockRejectedValue(failure('AccessDeniedException', 400, 'not authorized') as never)
    try {
      const { out } = await at.sluice(['doctor'])
      expect(out).toMatch(/^FAILED {2}configuration: AWS rejects/m)
      expect(out).toMatch(/^skipped identity: not checked: the configuration cannot be read$/m)
      expect(out).toMatch(/^FAILED {2}HMAC key: .*\n {8}do: allow dynamodb:GetItem/m)
    } finally {
      send.mockRestore()
    }
  })
})

describe('the doctor, where a stack names the function,', () => {
  const ARN = 'arn:aws:lambda:us-east-1:123456789012:function:shop-limiter'
  beforeEach(() => {
    const Outputs = [
      { OutputKey: 'ConfigTableName', OutputValue: LOCAL_TABLES.config },
      { OutputKey: 'StateTableName', OutputValue: LOCAL_TABLES.state },
      { OutputKey: 'AuthorizerFunctionArn', OutputValue: ARN },
    ]
    jest
      .spyOn(CloudFormationClient.prototype, 'send')
      .mockImplementation((async () => ({ Stacks: [{ StackName: 'Shop', Outputs }] })) as never)
  })
  afterEach(() => jest.restoreAllMocks())
  const lambda = (answer: () => Promise<unknown>) =>
    jest.spyOn(LambdaClient.prototype, 'send').mockImplementation(answer as never)

  it('sees that it exists', async () => {
    const send = lambda(async () => ({ FunctionArn: ARN }))
    expect(await statuses('--stack', 'Shop')).toEqual({ ...HEALTHY, function: 'ok', 'other config tables': 'ok' })
    expect(send.mock.calls.map(([{ input }]) => input)).toEqual([{ FunctionName: ARN }])
  })

  it('fails where it was deleted, and points to what restores the APIs', async () => {
    lambda(async () => {
      throw failure('ResourceNotFoundException', 404, 'Function not found')
    })
    const { code, out } = await at.sluice(['doctor', '--stack', 'Shop'])
    expect(code).toBe(1)
    expect(out).toContain(`FAILED  function: ${ARN} was deleted: every request to the APIs that it protects fails\n`)
    expect(out).toMatch(/ {8}do: sluice status lists .* sluice detach ID$/m)
  })

  it('does not fail where it may not be looked at, and names the right', async () => {
    lambda(async () => {
      throw failure('AccessDeniedException', 403, 'no')
    })
    const { code, out } = await at.sluice(['doctor', '--stack', 'Shop'])
    expect(code).toBe(0)
    expect(out).toContain(
      `skipped function: not checked: missing right: lambda:GetFunctionConfiguration on function ${ARN}\n`,
    )
  })
})

describe('an event', () => {
  const event = (headers: Record<string, string>, path = '/hello', method = 'GET') => {
    const file = join(folder, 'event.json')
    const requestContext = { identity: { sourceIp: '203.0.113.7' } }
    const methodArn = 'arn:aws:execute-api:us-east-1:123456789012:a/prod/GET/hello'
    writeFileSync(
      file,
      JSON.stringify({ type: 'REQUEST', methodArn, httpMethod: method, path, resource: path, headers, requestContext }),
    )
    return file
  }
  const decide = async (file: string) => (await at.json(['doctor', '--event', file])).event

  it('is explained as the authorizer would decide it, and charges nobody', async () => {
    await at.put({ pk: 'policy-set', sk: 'route#GET /search', policies: [{ name: 'search', limit: 1, window: '1s' }] })
    const { apiKey } = await at.json(['clients', 'create', 'acme', '--tier', 'free'])
    for (let i = 0; i < 2; i++) {
      expect(await decide(event({ 'X-Api-Key': apiKey }, '/search'))).toMatchObject({
        request: 'GET /search',
        identity: 'client acme, by its API key',
        tier: 'free',
        route: 'GET /search',
        policies: ['search', 'per-minute', 'per-day'],
        context: { allowed: true, policy: 'search', remaining: 0 },
      })
    }
    expect(await decide(event({}))).toMatchObject({
      identity: 'address 203.0.113.7',
      tier: 'anonymous',
      policies: ['per-minute'],
    })
    const { out } = await at.sluice(['doctor', '--event', event({ 'X-Api-Key': 'made up' })])
    expect(out).toMatch(/^ok {6}event: allowed \(ok\): 19 of 20 units are left in the policy per-minute\.$/m)
    expect(out).toMatch(/^identity +address 203\.0\.113\.7, because its API key is unknown$/m)
    expect(out).toMatch(/^route +none is configured for it$/m)
    expect(out).not.toContain('made up')
  })

  it('says how many reservations its caller holds already', async () => {
    const file = event({})
    const { context } = await decide(file)
    const store = new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state })
    const now = Date.now()
    const held = when([], set('n', 1), set('0'.repeat(25), now + 90_000))
    await store.write(context.subject, {
      parts: [{ prefix: RESERVATIONS.prefix, write: held }],
      id: { mark: 'r0', value: 1 },
      at: now,
    })
    expect((await decide(file)).reservations).toMatchObject({ open: 1, limit: 1000 })
    expect((await at.sluice(['doctor', '--event', file])).out).toMatch(
      /^held +1 of 1000 reservations are open, the last/m,
    )
  })

  describe('says what was not looked at, and why:', () => {
    const explained = async (file: string) => {
      const { out } = await at.sluice(['doctor', '--event', file])
      return Object.fromEntries(
        [...out.matchAll(/^(identity|tier|route|policies) +(.*)$/gm)].map(([, name, said]) => [name, said]),
      )
    }
    beforeEach(() => at.put({ pk: 'policy-set', sk: 'route#GET /search', cost: 2 }))

    it('of a blocked address, its credentials, tier, route and policies', async () => {
      await at.sluice(['block', 'add', '203.0.113.7'])
      const why = 'not looked at: the address is blocked'
      expect(await explained(event({}, '/search'))).toEqual({
        ...{ identity: `address 203.0.113.7; credentials ${why}`, tier: why, route: why, policies: why },
      })
      const because = 'the address is blocked'
      expect((await decide(event({}, '/search'))).notLookedAt).toEqual({
        ...{ identity: because, tier: because, route: because, policies: because },
      })
    })

    it('and by which entry of a list', async () => {
      await at.sluice(['block', 'add', '203.0.113.0/24', '--note', 'scraper'])
      const { out } = await at.sluice(['doctor', '--event', event({})])
      expect(out).toMatch(/^decided by +the block list: ip:203\.0\.113\.0\/24 without an end, note "scraper"$/m)
      expect((await decide(event({}))).entry).toEqual({ list: 'block', who: 'ip:203.0.113.0/24', note: 'scraper' })
    })

    it('of a blocked client, its tier and policies, but not its route', async () => {
      const { apiKey } = await at.json(['clients', 'create', 'acme', '--tier', 'free'])
      await at.sluice(['block', 'add', 'client:acme'])
      const why = 'not looked at: the client is blocked'
      expect(await explained(event({ 'X-Api-Key': apiKey }, '/search'))).toEqual({
        ...{ identity: 'client acme, by its API key', tier: why, route: 'GET /search', policies: why },
      })
    })

    it('of a request while limits are off, and of an exempt caller, the policies', async () => {
      await at.sluice(['off', '--yes'])
      expect(await explained(event({}))).toMatchObject({
        ...{ tier: 'anonymous', route: 'none is configured for it', policies: 'not looked at: limits are off' },
      })
      await at.sluice(['on'])
      await at.sluice(['block', 'add', '203.0.113.7', '--allow', '--yes'])
      expect(await explained(event({}))).toMatchObject({ policies: 'not looked at: the caller is on the allow list' })
    })

    it('of a caller without the credentials that its tier requires, the policies', async () => {
      await at.put({ ...TIERS[0], credentials: 'required' })
      expect(await explained(event({}))).toMatchObject({ policies: 'not looked at: valid credentials are required' })
    })

    it('of a preflight, its credentials and tier', async () => {
      const headers = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'GET' }
      const said = await explained(event(headers, '/search', 'OPTIONS'))
      expect(said.tier).toBe('not looked at: a preflight has no credentials, and is counted by address')
      expect(said.policies).not.toContain('not looked at')
    })
  })

  it('that is invalid, or whose file is missing, is a failed check', async () => {
    const file = join(folder, 'none.json')
    writeFileSync(file, '7')
    const { code, out } = await at.sluice(['doctor', '--event', file])
    expect([code, out]).toEqual([1, expect.stringContaining('FAILED  event: denied (malformed)')])
    expect((await at.sluice(['doctor', '--event', join(folder, 'nowhere')])).err).toContain(
      'nowhere": there is no such file',
    )
  })
})
