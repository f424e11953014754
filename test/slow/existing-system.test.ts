import { APIGatewayClient, CreateDeploymentCommand, GetApiKeyCommand } from '@aws-sdk/client-api-gateway'
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  ListFunctionsCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda'
import { restEvent } from '../authorize/gateway'
import { sluice } from '../cli/command-line'
import { signIn } from '../engines/cognito'
import { askGuard } from '../engines/deletion-guard'
import { ExistingSystem } from '../engines/existing-system'
import { type MiniStack, startMiniStack } from '../engines/ministack'

/** What tiers.yaml of the example gives callers in an hour. */
const ANONYMOUS = 6
const PARTNER = 15

/** What callers of methods get that have an authorizer of their own: Sluice changes nothing of it. */
const THEIR_ANSWERS = {
  'Cognito, no token': 401,
  'Cognito, a token': 200,
  'Cognito, a forged token': 401,
  'own authorizer, no token': 401,
  'own authorizer, a token': 200,
  'own authorizer, an unknown token': 401,
  'IAM, not signed': 403,
  'IAM, signed': 200, // MiniStack looks for a signature, and does not check it
  'REST, a preflight': 204,
  'HTTP, no token': 401,
  'HTTP, a token': 200,
}
/** What each kind of method answers while nobody is over a limit, without Sluice and with it. */
const ANSWERS = {
  ...THEIR_ANSWERS,
  'open: GET /events': 200,
  'health check': 200,
  'usage plan, no key': 403,
  'usage plan, an unknown key': 403,
  'usage plan, a key': 200,
  'HTTP, open: GET /news': 200,
  'WebSocket, a connection': 101,
}
/** Authorization of the REST API's methods that Sluice leaves alone. */
const OF_OTHERS = {
  'GET reports': 'CUSTOM',
  'POST events': 'AWS_IAM',
  'POST orders': 'COGNITO_USER_POOLS',
}
const PREFLIGHT = { Origin: 'https://example.com', 'Access-Control-Request-Method': 'POST' }

const passing = (limit: number, denied = 0, more = denied === 0 ? 0 : 1): number[] => [
  ...Array(limit).fill(200),
  ...Array(more).fill(denied),
]

describe('examples/existing-system: a system of several stacks, before and after it got Sluice', () => {
  const environment = { ...process.env }
  let aws: MiniStack
  let system: ExistingSystem
  let lambda: LambdaClient
  let idToken: string
  let apiKey: string
  let acmesKey: string

  beforeAll(async () => {
    aws = await startMiniStack()
    Object.assign(process.env, aws.env) // where the SDK looks, the command line's too
    system = new ExistingSystem(aws)
    lambda = new LambdaClient()
  }, 120_000)
  afterAll(async () => {
    lambda?.destroy()
    system?.remove()
    await aws?.stop()
    process.env = environment
  })

  /** The ARN of the authorizer function. */
  async function authorizer(): Promise<string> {
    const { Functions: all = [] } = await lambda.send(new ListFunctionsCommand({}))
    return all.find(({ Environment }) => Environment?.Variables?.SLUICE_STATE_TABLE !== undefined)!.FunctionArn!
  }

  /** On a busy machine an answer can be later than a decision waits for it. New instances take the place of the old. */
  async function giveTimeToDecide(): Promise<void> {
    const FunctionName = await authorizer()
    const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }))
    const Variables = { ...Environment!.Variables, SLUICE_DEADLINE_MS: '9000', STARTED: `${Date.now()}` }
    await lambda.send(new UpdateFunctionConfigurationCommand({ FunctionName, Environment: { Variables } }))
  }

  /** A request to the REST API. MiniStack takes the first address of `X-Forwarded-For` for the caller's. */
  const send = (route: string, address: string, headers: Readonly<Record<string, string>> = {}) => {
    const [method, path] = route.split(' /')
    return aws.send(`${system.outputs.Tickets.Url}${path}`, {
      method,
      headers: { 'X-Forwarded-For': address, ...headers },
    })
  }
  /** The same for the HTTP and the WebSocket API, where MiniStack says that all callers are 127.0.0.1. */
  const news = (path: string, method = 'GET', headers: Readonly<Record<string, string>> = {}) =>
    aws.send(`${system.outputs.News.Url}${path}`, { method, headers })
  const connect = async () => ({ status: await aws.connect(system.outputs.Chat.Url!) })

  async function statuses(count: number, request: () => Promise<{ readonly status: number }>): Promise<number[]> {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await request()).status)
    return found
  }

  /** How each kind of method answers, each asked from an address of its own in a network. */
  async function answers(net: string): Promise<Record<string, number>> {
    const customer = { Authorization: idToken }
    const forged = { Authorization: idToken.replace(/.{8}$/, 'AAAAAAAA') }
    const signed = { Authorization: 'AWS4-HMAC-SHA256 Credential=test/20261122/us-east-1/execute-api/aws4_request' }
    const asks = Object.entries({
      'open: GET /events': (ip) => send('GET /events', ip),
      'health check': (ip) => send('GET /health', ip),
      'Cognito, no token': (ip) => send('POST /orders', ip),
      'Cognito, a token': (ip) => send('POST /orders', ip, customer),
      'Cognito, a forged token': (ip) => send('POST /orders', ip, forged),
      'own authorizer, no token': (ip) => send('GET /reports', ip),
      'own authorizer, a token': (ip) => send('GET /reports', ip, { Authorization: 'auditor' }),
      'own authorizer, an unknown token': (ip) => send('GET /reports', ip, { Authorization: 'unknown' }),
      'IAM, not signed': (ip) => send('POST /events', ip),
      'IAM, signed': (ip) => send('POST /events', ip, signed),
      'usage plan, no key': (ip) => send('GET /feed', ip),
      'usage plan, an unknown key': (ip) => send('GET /feed', ip, { 'x-api-key': 'unknown' }),
      'usage plan, a key': (ip) => send('GET /feed', ip, { 'x-api-key': apiKey }),
      'REST, a preflight': (ip) => send('OPTIONS /orders', ip, PREFLIGHT),
      'HTTP, open: GET /news': () => news('/news'),
      'HTTP, no token': () => news('/news/mine'),
      'HTTP, a token': () => news('/news/mine', 'GET', customer),
      'WebSocket, a connection': connect,
    } satisfies Record<string, (ip: string) => Promise<{ readonly status: number }>>)
    const found = asks.map(async ([name, ask], i) => [name, (await ask(`${net}.${i + 1}`)).status] as const)
    return Object.fromEntries(await Promise.all(found))
  }

  it('before: each kind of method answers as its owner meant it, and nothing is limited', async () => {
    await system.deploy('before')
    const { UserPoolId, ClientId } = system.outputs.Accounts as Record<'UserPoolId' | 'ClientId', string>
    idToken = await signIn(aws.env.AWS_ENDPOINT_URL!, { UserPoolId, ClientId })
    const rest = new APIGatewayClient()
    apiKey = (await rest.send(new GetApiKeyCommand({ apiKey: system.outputs.Tickets.KeyId, includeValue: true })))
      .value!
    rest.destroy()
    expect(await answers('192.0.2')).toEqual(ANSWERS)
    // It knows the caller, who may not read reports.
    expect((await send('GET /reports', '192.0.2.90', { Authorization: 'intern' })).status).toBe(403)
    expect(await statuses(ANONYMOUS + 1, () => send('GET /events', '192.0.2.91'))).toEqual(passing(ANONYMOUS + 1))
  })

  it('after: the APIs are the same ones, and each kind of method answers as before', async () => {
    const urls = [system.outputs.Tickets.Url, system.outputs.News.Url, system.outputs.Chat.Url]
    await system.deploy('app')
    expect([system.outputs.Tickets.Url, system.outputs.News.Url, system.outputs.Chat.Url]).toEqual(urls)
    await giveTimeToDecide()
    expect(await answers('198.51.100')).toEqual(ANSWERS)
  })

  it('changes in the templates what is limited, its deployment, and nothing else', () => {
    expect(system.changed('Accounts')).toEqual([])
    expect(system.changed('Tickets')).toEqual([
      'added AWS::ApiGateway::Authorizer',
      'added AWS::ApiGateway::Deployment',
      'added AWS::ApiGateway::GatewayResponse',
      'added AWS::Lambda::Permission',
      'changed AWS::ApiGateway::Method: AuthorizationType, AuthorizerId', // GET /events
      'changed AWS::ApiGateway::Method: AuthorizationType, AuthorizerId', // GET /feed, which goes on requiring a key
      'changed AWS::ApiGateway::Stage: DeploymentId',
      'removed AWS::ApiGateway::Deployment',
    ])
    expect(system.changed('News')).toEqual([
      'added AWS::ApiGatewayV2::Authorizer',
      'added AWS::Lambda::Permission',
      'changed AWS::ApiGatewayV2::Integration: ResponseParameters',
      'changed AWS::ApiGatewayV2::Route: AuthorizationType, AuthorizerId',
    ])
    expect(system.changed('Chat')).toEqual([
      'added AWS::ApiGatewayV2::Authorizer',
      'added AWS::Lambda::Permission',
      'changed AWS::ApiGatewayV2::Route: AuthorizationType, AuthorizerId',
    ])
    expect(system.methods()).toEqual({
      'GET events': 'CUSTOM',
      'GET feed': 'CUSTOM',
      ...OF_OTHERS,
      'GET health': 'NONE',
    })
  })

  it('attacked: the open method answers 429 past the limit, readable by browsers; the health check goes on', async () => {
    expect(await statuses(ANONYMOUS + 3, () => send('GET /events', '203.0.113.1'))).toEqual(passing(ANONYMOUS, 429, 3))
    const denied = await send('GET /events', '203.0.113.1')
    expect(JSON.parse(denied.body)).toMatchObject({ title: 'Too Many Requests', status: 429 })
    expect(denied.headers['access-control-allow-origin']).toBe('*') // from the owner's DEFAULT_4XX
    expect(await statuses(ANONYMOUS + 1, () => send('GET /health', '203.0.113.1'))).toEqual(passing(ANONYMOUS + 1))
  })

  it('attacked: methods with an authorizer of their own are neither limited nor counted', async () => {
    const caller = '203.0.113.2'
    for (const [route, Authorization] of [
      ['POST /orders', idToken],
      ['GET /reports', 'auditor'],
      ['POST /events', 'AWS4-HMAC-SHA256 Credential=test/20261122/us-east-1/execute-api/aws4_request'],
    ] as const)
      expect(await statuses(ANONYMOUS + 1, () => send(route, caller, { Authorization }))).toEqual(
        passing(ANONYMOUS + 1),
      )
    expect(await statuses(ANONYMOUS + 1, () => send('GET /events', caller))).toEqual(passing(ANONYMOUS, 429))
  })

  it("one thing is different: a Deny of the owner's authorizer was a 403, and has the status of all denials now", async () => {
    expect((await send('GET /reports', '203.0.113.3', { Authorization: 'intern' })).status).toBe(429)
  })

  it('attacked: preflights are never counted', async () => {
    const caller = '203.0.113.4'
    const preflights = () => send('OPTIONS /events', caller, PREFLIGHT)
    expect(await statuses(2 * ANONYMOUS, preflights)).toEqual(Array(2 * ANONYMOUS).fill(204))
    expect(await statuses(ANONYMOUS + 1, () => send('GET /events', caller))).toEqual(passing(ANONYMOUS, 429))
  })

  it('gives a client with a key its tier, from whatever address', async () => {
    const said = await sluice(['clients', 'create', 'acme', '--tier', 'partner', '--json'], { env: aws.env })
    expect(said).toMatchObject({ code: 0 })
    acmesKey = JSON.parse(said.out).apiKey
    let host = 10
    const requests = () => send('GET /events', `203.0.113.${host++}`, { 'x-api-key': acmesKey })
    expect(await statuses(PARTNER + 2, requests)).toEqual(passing(PARTNER, 429, 2))
  })

  // MiniStack tells authorizers no `identity.apiKeyId`, and checks the key after them. So there the holder of a key of
  // a usage plan is anonymous, and what AWS sends is sent to the deployed function directly.
  it('leaves the usage plan in force, and gives the client of its key a tier', async () => {
    const requests = () => send('GET /feed', '203.0.113.80', { 'x-api-key': apiKey })
    expect(await statuses(ANONYMOUS + 1, requests)).toEqual(passing(ANONYMOUS, 429))

    const id = system.outputs.Tickets.KeyId!
    const said = await sluice(['clients', 'create', 'globex', '--tier', 'partner', '--api-gateway-key', id], {
      env: aws.env,
    })
    expect(said).toMatchObject({ code: 0 })
    const event = restEvent({ path: '/feed', key: apiKey })
    Object.assign((event.requestContext as { identity: object }).identity, { apiKeyId: id })
    const { Payload } = await lambda.send(
      new InvokeCommand({ FunctionName: await authorizer(), Payload: Buffer.from(JSON.stringify(event)) }),
    )
    expect(JSON.parse(Buffer.from(Payload!).toString()).context).toMatchObject({ tier: 'partner', limit: PARTNER })
  })

  // One request was made to each of them before, see ANSWERS.
  it('attacked: the HTTP and the WebSocket API share what a caller has; routes with a JWT authorizer are not counted', async () => {
    const half = ANONYMOUS / 2
    expect(await statuses(half - 1, () => news('/news'))).toEqual(passing(half - 1))
    const mine = () => news('/news/mine', 'GET', { Authorization: idToken })
    expect(await statuses(ANONYMOUS + 1, mine)).toEqual(passing(ANONYMOUS + 1))
    expect(await statuses(half, connect)).toEqual([...Array(half - 1).fill(101), 403])
    expect(await statuses(2, () => news('/news'))).toEqual([403, 403])
  })

  // MiniStack answers preflights of HTTP APIs by itself, with 403 and "CORS origin denied", because it does not read
  // CORS from templates; and it does not map headers. What AWS is told of them is in the template.
  it('keeps the CORS of the HTTP API, and has the gateway add rate headers', async () => {
    expect((await news('/news', 'OPTIONS', PREFLIGHT)).status).toBe(403)
    const { Resources } = system.template('app', 'News')
    const of = (type: string) => Object.values(Resources).filter(({ Type }) => Type === `AWS::ApiGatewayV2::${type}`)
    expect(of('Api')[0]!.Properties).toMatchObject({ CorsConfiguration: { AllowOrigins: ['*'] } })
    const mapped = of('Integration').map(({ Properties }) => JSON.stringify(Properties).includes('X-RateLimit-Limit'))
    expect(mapped).toEqual([true, false]) // GET /news, and not GET /news/mine
  })

  it('is updated: a new tier, a new method, and a method that is limited from now on; what was limited still is', async () => {
    const raised = PARTNER + 5
    system.edit('tiers.yaml', `limit: ${PARTNER},`, `limit: ${raised},`)
    system.edit('app.mjs', ", except: ['GET /health'] }", ' }')
    system.edit(
      'system/tickets.mjs',
      "resource('feed')",
      "resource('venues').addMethod('GET', integration)\n    resource('feed')",
    )
    await system.deploy('app', 'Tickets', 'Limiter')
    await giveTimeToDecide() // new instances, which read the table at once; others do within half a minute
    expect(system.methods()).toEqual({
      ...{ 'GET events': 'CUSTOM', 'GET feed': 'CUSTOM', 'GET health': 'CUSTOM', 'GET venues': 'CUSTOM' },
      ...OF_OTHERS,
    })
    const one = async (route: string, address: string) => (await send(route, address)).status
    expect(await one('GET /events', '203.0.113.1')).toBe(429) // whose hour goes on
    for (const [route, address] of [
      ['GET /venues', '203.0.113.91'],
      ['GET /health', '203.0.113.92'],
      ['GET /events', '203.0.113.93'],
    ] as const)
      expect(await statuses(ANONYMOUS + 1, () => send(route, address))).toEqual(passing(ANONYMOUS, 429))
    // acme has used up what it had before.
    const acme = () => send('GET /events', '203.0.113.94', { 'x-api-key': acmesKey })
    expect(await statuses(raised - PARTNER + 1, acme)).toEqual(passing(raised - PARTNER, 429))
    expect(await answers('192.0.2')).toMatchObject(THEIR_ANSWERS)
  })

  it('cannot lose its limiter first: CloudFormation refuses, and the deletion guard names the APIs', async () => {
    await expect(system.destroy('app', '--exclusively', 'Limiter')).rejects.toThrow(
      /Export Limiter:\S+ is imported by stack/,
    )
    const { Status, Reason } = await askGuard(lambda, await authorizer())
    expect(Status).toBe('FAILED')
    for (const url of [system.outputs.Tickets.Url, system.outputs.News.Url, system.outputs.Chat.Url])
      expect(Reason).toContain(new URL(url!).hostname.split('.')[0])
    expect((await send('GET /events', '203.0.113.95')).status).toBe(200)
  })

  it('without Sluice again, an API is what it was before, once its stage has been deployed once more', async () => {
    system.edit('system/tickets.mjs', "resource('venues').addMethod('GET', integration)\n    ", '')
    const before = system.template('before', 'Tickets')
    await system.deploy('before', 'Tickets')
    expect(system.template('before', 'Tickets')).toEqual(before)
    expect(await statuses(ANONYMOUS + 1, () => send('GET /events', '203.0.113.1'))).toEqual(passing(ANONYMOUS + 1))
    // CloudFormation deletes what is not in the template any more after it has made what is new in it, so the
    // deployment still has the 429.
    const intern = async () => (await send('GET /reports', '203.0.113.3', { Authorization: 'intern' })).status
    expect(await intern()).toBe(429)
    const [restApiId] = new URL(system.outputs.Tickets.Url!).hostname.split('.')
    const rest = new APIGatewayClient()
    await rest.send(new CreateDeploymentCommand({ restApiId, stageName: 'live' }))
    rest.destroy()
    expect(await intern()).toBe(403)
    expect(await answers('192.0.2')).toMatchObject(THEIR_ANSWERS)
  })

  it('is destroyed, the APIs first, and leaves the config table', async () => {
    await system.destroy('app', '--all')
    const { Stacks = [] } = await new CloudFormationClient().send(new DescribeStacksCommand({}))
    const left = Stacks.filter(({ StackStatus }) => StackStatus !== 'DELETE_COMPLETE')
    expect(left.map(({ StackName }) => StackName)).toEqual(['CDKToolkit'])
    const { TableNames } = await new DynamoDBClient().send(new ListTablesCommand({}))
    expect(TableNames).toEqual([expect.stringContaining('LimiterTablesConfig')])
    expect((await lambda.send(new ListFunctionsCommand({}))).Functions).toEqual([])
  })
})
