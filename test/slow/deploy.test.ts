import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  APIGatewayClient,
  CreateAuthorizerCommand,
  CreateDeploymentCommand,
  CreateRestApiCommand,
  DeleteRestApiCommand,
  GetResourcesCommand,
  GetRestApisCommand,
  PutIntegrationCommand,
  PutMethodCommand,
} from '@aws-sdk/client-api-gateway'
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { LambdaClient, ListFunctionsCommand, UpdateFunctionConfigurationCommand } from '@aws-sdk/client-lambda'
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { apiKey, clientKey, tierKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { sluice } from '../cli/command-line'
import { askGuard } from '../engines/deletion-guard'
import { type MiniStack, startMiniStack } from '../engines/ministack'
import { minuteWith } from '../minute-with'

const ROOT = join(__dirname, '..', '..')

/** What the operator makes of the tier that the file calls free. */
const OPERATORS_FREE = {
  ...tierKey('free'),
  policies: [{ name: 'per-hour', limit: 1000, window: '1h', algorithm: 'anchored-window' }],
}
const API_KEY = 'a key that the operator gave away'

/** How long an instance goes by what it has read of the config table, and a little more. */
const CONFIG_TTL_MS = 45_000

describe('the stack of this repository, on an AWS endpoint', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-deploy-'))
  let aws: MiniStack
  let documents: DynamoDBDocumentClient
  let options: { endpoint: string; region: string; credentials: { accessKeyId: string; secretAccessKey: string } }
  let called: { pk: string; sk: string; name: string; label: string }
  let outputs: { ApiUrl: string; ConfigTableName: string; StateTableName: string; AuthorizerFunctionArn: string }
  const environment = { ...process.env }

  beforeAll(async () => {
    aws = await startMiniStack()
    Object.assign(process.env, aws.env) // where the SDK of the command line looks
    options = {
      endpoint: aws.env.AWS_ENDPOINT_URL!,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    }
    documents = DynamoDBDocumentClient.from(new DynamoDBClient(options))
  }, 120_000)
  afterAll(async () => {
    documents?.destroy()
    await aws?.stop()
    process.env = environment
    rmSync(folder, { recursive: true, force: true })
  })

  async function deploy(...context: string[]): Promise<void> {
    const file = join(folder, 'outputs.json')
    const assembly = join(folder, 'cdk.out')
    await aws.cdk(
      ROOT,
      'deploy',
      '--require-approval',
      'never',
      '--outputs-file',
      file,
      '--output',
      assembly,
      ...context.flatMap((one) => ['-c', one]),
    )
    outputs = JSON.parse(readFileSync(file, 'utf8')).Sluice
  }
  const hello = (headers = {}) => aws.send(`${outputs.ApiUrl}hello`, { headers })
  const get = async (key: object) =>
    (await documents.send(new GetCommand({ TableName: outputs.ConfigTableName, Key: key as Record<string, string> })))
      .Item
  const put = (item: object) =>
    documents.send(new PutCommand({ TableName: outputs.ConfigTableName, Item: item as Record<string, unknown> }))

  /**
   * On a busy machine an answer can be later than a decision waits for it, and a lost answer may count twice: here it
   * is the counting that is looked at.
   */
  async function giveTimeToDecide(): Promise<void> {
    const lambda = new LambdaClient(options)
    const { Functions: all = [] } = await lambda.send(new ListFunctionsCommand({}))
    const { FunctionName, Environment } = all.find(
      ({ Environment: own }) => own?.Variables?.SLUICE_STATE_TABLE === outputs.StateTableName,
    )!
    const Variables = { ...Environment!.Variables, SLUICE_DEADLINE_MS: '9000' }
    await lambda.send(new UpdateFunctionConfigurationCommand({ FunctionName, Environment: { Variables } }))
    lambda.destroy()
  }

  it('is reached by loopback only: MiniStack takes any credentials', async () => {
    const { port } = new URL(options.endpoint)
    const addresses = Object.values(networkInterfaces())
      .flatMap((all = []) => all)
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of addresses)
      await expect(fetch(`http://${address}:${port}/_ministack/health`)).rejects.toThrow('fetch failed')
  })

  it('is deployed, and says what its API is called', async () => {
    await deploy()
    expect(outputs.ApiUrl).toMatch(/^https:\/\/\w+\.execute-api\..*\/prod\/$/)
  })

  it('has written what its API is called, by its id and its name in API Gateway', async () => {
    const [, id = ''] = /^https:\/\/(\w+)\./.exec(outputs.ApiUrl)!
    called = { ...apiKey(id), name: 'SampleApi', label: 'sample' }
    expect(await get(apiKey(id))).toEqual(called)
  })

  it('lets callers pass up to the limit of tiers.yaml, and answers the next 429 with a problem body', async () => {
    await minuteWith(20_000)
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) statuses.push((await hello()).status)
    expect(statuses).toEqual(Array(20).fill(200))
    const denied = await hello()
    expect(denied.status).toBe(429)
    expect(denied.headers['content-type']).toBe('application/json')
    expect(JSON.parse(denied.body)).toMatchObject({
      title: 'Too Many Requests',
      status: 429,
      policy: expect.any(String),
    })
  })

  it('takes up what an operator changes in the table: a tier, and a client in it', async () => {
    await put(OPERATORS_FREE)
    await put({ ...clientKey(hashApiKey(API_KEY)), id: 'customer', tier: 'free' })
    const deadline = Date.now() + CONFIG_TTL_MS
    const limitInForce = async () => (await hello({ 'x-api-key': API_KEY })).headers['x-ratelimit-limit']
    while (Date.now() < deadline && (await limitInForce()) !== '1000')
      await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(Date.now()).toBeLessThan(deadline)
  })

  it('answers 401, which is not 429, to a client that has been disabled', async () => {
    const key = 'a key that was taken back'
    await put({ ...clientKey(hashApiKey(key)), id: 'former', tier: 'free', disabled: true })
    expect((await hello({ 'x-api-key': key })).status).toBe(401)
  })

  it('admits exactly the limit to 8 clients that send 500 requests each', async () => {
    await giveTimeToDecide()
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const all: number[] = []
        for (let i = 0; i < 500; i++) all.push((await hello({ 'x-api-key': API_KEY })).status)
        return all
      }),
    )
    const counted = (status: number) => statuses.flat().filter((one) => one === status).length
    expect([counted(200), counted(429)]).toEqual([1000 - 1, 3001]) // one was used to see that the limit is in force
  })

  it('is deployed again with another tiers file: what operators changed is still there, and the rest follows the file', async () => {
    const file = readFileSync(join(ROOT, 'tiers.yaml'), 'utf8')
    writeFileSync(
      join(folder, 'tiers.yaml'),
      file.replace('limit: 60,', 'limit: 61,').replace('limit: 600,', 'limit: 601,'),
    )
    await deploy(`tiersFile=${join(folder, 'tiers.yaml')}`)
    expect(await get(tierKey('free'))).toEqual(OPERATORS_FREE)
    expect(await get(clientKey(hashApiKey(API_KEY)))).toMatchObject({ id: 'customer' })
    expect((await get(tierKey('pro')))!.policies[0]).toMatchObject({ limit: 601 })
    expect(await get({ pk: called.pk, sk: called.sk })).toEqual(called)
  })

  it('has a guard that refuses its deletion while an API is attached, and no longer after detach', async () => {
    const rest = new APIGatewayClient(options)
    const { id: restApiId } = await rest.send(new CreateRestApiCommand({ name: 'zoo' }))
    const { items = [] } = await rest.send(new GetResourcesCommand({ restApiId }))
    const at = { restApiId, resourceId: items[0]!.id, httpMethod: 'GET' }
    await rest.send(new PutMethodCommand({ ...at, authorizationType: 'NONE' }))
    await rest.send(new PutIntegrationCommand({ ...at, type: 'MOCK' }))
    await rest.send(new CreateDeploymentCommand({ restApiId, stageName: 'prod' }))
    const command = (...args: string[]) => sluice([...args, restApiId!, '--yes'], { env: aws.env })
    const lambda = new LambdaClient(options)
    const deletion = (more?: object) => askGuard(lambda, outputs.AuthorizerFunctionArn, more)
    // The limiter is found by the outputs of its stack.
    const attached = await command('attach')
    expect(attached).toMatchObject({ code: 0, err: expect.stringContaining('limiter Sluice/Limiter in us-east-1') })
    expect(await deletion()).toMatchObject({
      Status: 'FAILED',
      Reason: expect.stringContaining(`Run sluice detach for: ${restApiId}.`),
    })
    expect(await command('detach', '--limiter', 'Sluice')).toMatchObject({ code: 0 })
    expect((await deletion()).Reason).not.toContain('sluice detach')
    // An API that calls by a role: only its authorizer says so.
    const authorizerUri = `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${outputs.AuthorizerFunctionArn}/invocations`
    await rest.send(new CreateAuthorizerCommand({ restApiId, name: 'by-role', type: 'REQUEST', authorizerUri }))
    expect((await deletion()).Reason).not.toContain(restApiId)
    expect((await deletion({ ByRole: 'true' })).Reason).toContain(restApiId)
    await rest.send(new DeleteRestApiCommand({ restApiId }))
    rest.destroy()
    lambda.destroy()
  })

  it('is destroyed, and leaves the config table and nothing else', async () => {
    await aws.cdk(ROOT, 'destroy', '--force', '--app', join(folder, 'cdk.out'))
    expect(await stackNames()).toEqual(['CDKToolkit'])
    expect((await new DynamoDBClient(options).send(new ListTablesCommand({}))).TableNames).toEqual([
      outputs.ConfigTableName,
    ])
    expect(await get({ pk: called.pk, sk: called.sk })).toBeUndefined()
    expect(await get(tierKey('free'))).toEqual(OPERATORS_FREE)
    expect((await new LambdaClient(options).send(new ListFunctionsCommand({}))).Functions).toEqual([])
    expect((await new APIGatewayClient(options).send(new GetRestApisCommand({}))).items ?? []).toEqual([])
  })

  const stackNames = async () => {
    const { Stacks = [] } = await new CloudFormationClient(options).send(new DescribeStacksCommand({}))
    return Stacks.filter(({ StackStatus }) => StackStatus !== 'DELETE_COMPLETE').map(({ StackName }) => StackName)
  }
})
