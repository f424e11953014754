import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  CloudFormationClient,
  CreateChangeSetCommand,
  DescribeChangeSetCommand,
  DescribeStacksCommand,
  ExecuteChangeSetCommand,
} from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { clientKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { MINISTACK, type MiniStack, startMiniStack } from '../engines/ministack'
import { packageService } from '../engines/serverless'
import { minuteWith } from '../minute-with'

const ROOT = join(__dirname, '..', '..')
const EXAMPLES = join(ROOT, 'examples')
const REST = ['openapi/template.yaml', 'sam/template.yaml']
const HTTP = ['openapi/http-api.yaml', 'sam/http-api.yaml']

/** What a client may send in a minute: few, so that it is sent in one. */
const LIMIT = 6

describe('templates without the CDK, beside the stack of this repository', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-templates-'))
  let aws: MiniStack
  let client: CloudFormationClient
  let documents: DynamoDBDocumentClient
  let sluice: { AuthorizerFunctionArn: string; ConfigTableName: string }

  beforeAll(async () => {
    aws = await startMiniStack()
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const options = { endpoint: aws.env.AWS_ENDPOINT_URL!, region: 'us-east-1', credentials }
    client = new CloudFormationClient(options)
    documents = DynamoDBDocumentClient.from(new DynamoDBClient(options))
    const outputs = join(folder, 'outputs.json')
    await aws.cdk(
      ROOT,
      'deploy',
      '--require-approval',
      'never',
      '--outputs-file',
      outputs,
      '--output',
      join(folder, 'cdk.out'),
    )
    sluice = JSON.parse(readFileSync(outputs, 'utf8')).Sluice
  }, 300_000)
  afterAll(async () => {
    client?.destroy()
    documents?.destroy()
    await aws?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Deploys a template as `aws cloudformation deploy` does, by a change set, and returns its outputs. */
  async function deploy(
    StackName: string,
    TemplateBody: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>> {
    const named = { StackName, ChangeSetName: 'first' }
    await client.send(
      new CreateChangeSetCommand({
        ...named,
        ChangeSetType: 'CREATE',
        TemplateBody,
        Parameters: Object.entries(parameters).map(([ParameterKey, ParameterValue]) => ({
          ParameterKey,
          ParameterValue,
        })),
        Capabilities: ['CAPABILITY_NAMED_IAM', 'CAPABILITY_AUTO_EXPAND'],
      }),
    )
    await settled(async () => {
      const { Status, StatusReason } = await client.send(new DescribeChangeSetCommand(named))
      return { status: Status!, reason: StatusReason }
    })
    await client.send(new ExecuteChangeSetCommand(named))
    const { outputs } = await settled(async () => {
      const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName }))
      const { StackStatus, StackStatusReason, Outputs = [] } = Stacks[0]!
      return { status: StackStatus!, reason: StackStatusReason, outputs: Outputs }
    })
    return Object.fromEntries(outputs.map(({ OutputKey, OutputValue }) => [OutputKey!, OutputValue!]))
  }

  async function settled<T extends { readonly status: string; readonly reason?: string }>(
    look: () => Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; attempt < 600; attempt++) {
      const seen = await look()
      if (seen.status === 'CREATE_COMPLETE') return seen
      if (/FAILED|ROLLBACK/.test(seen.status)) throw new Error(`${seen.status}: ${seen.reason}`)
      await pause(100)
    }
    throw new Error('the deployment does not end')
  }

  const served = async (url: string) => JSON.parse((await aws.send(url)).body).served

  /** Sends a client of its own, because all APIs ask the same limiter, past its limit. */
  async function exceed(client: string, limited: string, open: string): Promise<void> {
    const key = `the key for ${client}`
    const item = {
      ...clientKey(hashApiKey(key)),
      id: client,
      tier: 'free',
      overrides: { 'per-minute': { limit: LIMIT } },
    }
    await documents.send(new PutCommand({ TableName: sluice.ConfigTableName, Item: item }))
    await minuteWith(20_000)
    const statuses: number[] = []
    for (let i = 0; i < LIMIT + 2; i++)
      statuses.push((await aws.send(limited, { headers: { 'x-api-key': key } })).status)
    const counted = (status: number) => statuses.filter((one) => one === status).length
    expect({ allowed: counted(200), denied: counted(403) + counted(429) }).toEqual({ allowed: LIMIT, denied: 2 })
    expect(await served(open)).toBe(LIMIT + 1)
  }

  // MiniStack takes methods and authorizers from a document, and no gateway responses: on AWS the 403 is a 429.
  test.each(REST)(
    '%s: requests past the limit are denied, and never reach the backend; the health check is not counted',
    async (path) => {
      const name = path.replace(/\W/g, '-')
      const template = readFileSync(join(EXAMPLES, path), 'utf8')
      const { Url } = await deploy(name, template, { LimiterArn: sluice.AuthorizerFunctionArn })
      await exceed(name, `${Url}orders`, `${Url}health`)
    },
  )

  // MiniStack takes no HTTP API from a document.
  test('sam/http-api.yaml: SAM makes the authorizer of openapi/http-api.yaml, for one route, and a permission', async () => {
    const { Resources } = await transformed(join(EXAMPLES, 'sam/http-api.yaml'))
    const { paths, components } = Resources.Api!.Properties.Body
    const { authorizerUri, identitySource, ...authorizer } =
      components.securitySchemes.Sluice['x-amazon-apigateway-authorizer']
    expect(authorizer).toEqual({
      type: 'request',
      authorizerPayloadFormatVersion: '2.0',
      enableSimpleResponses: true,
      authorizerResultTtlInSeconds: 0,
    })
    expect(identitySource).toEqual([])
    expect(JSON.stringify(authorizerUri)).toContain('{"Ref":"LimiterArn"}')
    expect(paths['/items'].get.security).toEqual([{ Sluice: [] }])
    expect(paths['/health'].get.security).toEqual([{ NONE: [] }])
    expect(JSON.stringify(Resources.ApiSluiceAuthorizerPermission)).toContain('/authorizers/*"')
  })

  test('serverless: what the framework makes asks about every request, and nothing is live before it may', async () => {
    const service = join(EXAMPLES, 'serverless')
    const template = await packageService(service, { limiterArn: sluice.AuthorizerFunctionArn })
    const { Resources } = template
    const of = (type: string) => Object.values(Resources).filter(({ Type }) => Type === type)
    const [rest] = of('AWS::ApiGateway::Authorizer')
    expect(rest!.Properties).toMatchObject({ Type: 'REQUEST', AuthorizerResultTtlInSeconds: 0 })
    expect(rest!.Properties.IdentitySource).toBeUndefined()
    expect(of('AWS::ApiGatewayV2::Authorizer')[0]!.Properties).toMatchObject({
      AuthorizerType: 'REQUEST',
      AuthorizerPayloadFormatVersion: '2.0',
      EnableSimpleResponses: true,
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: [],
    })
    const forLimiter = of('AWS::Lambda::Permission').filter(
      ({ Properties }) => Properties.FunctionName === sluice.AuthorizerFunctionArn,
    )
    expect(forLimiter.map(({ Properties }) => Properties.SourceArn['Fn::Sub'].split('/')[1])).toEqual([
      'authorizers',
      'authorizers',
    ])
    const [deployment] = of('AWS::ApiGateway::Deployment')
    expect(deployment!.DependsOn).toContain('ApiGatewayMethodOrdersGet')
    expect(Resources.ApiGatewayMethodOrdersGet!.DependsOn).toEqual(
      expect.arrayContaining(['RestLimiterPermission', 'TooManyRequests']),
    )
    expect(Resources.HttpApiRouteGetItems!.DependsOn).toContain('HttpLimiterPermission')

    // The framework sends the code by a bucket; here it is in the template.
    const code = { ZipFile: readFileSync(join(service, 'backend.js'), 'utf8') }
    Object.assign(Resources.BackendLambdaFunction!.Properties, { Code: code, Handler: 'index.handler' })
    const outputs = await deploy('serverless', JSON.stringify(template), {})
    await exceed('serverless-rest', `${outputs.ServiceEndpoint}/orders`, `${outputs.ServiceEndpoint}/health`)
    const { status } = await aws.send(`${outputs.HttpApiUrl}/items`, {
      headers: { 'x-api-key': 'the key for serverless-rest' },
    })
    expect(status).toBe(403) // the same client, by the same count
    expect((await aws.send(`${outputs.HttpApiUrl}/status`)).status).toBe(200)
  })

  // W3005: a dependency that the CDK writes down though it follows from a reference.
  test('cfn-lint finds nothing in the template of the stack', async () => {
    const assembly = join(folder, 'cdk.out')
    const templates = readdirSync(assembly).filter((name) => name.endsWith('.template.json'))
    expect(templates).toHaveLength(1)
    await lint('--ignore-checks', 'W3005', '--', ...templates.map((name) => join(assembly, name)))
  })

  test('nor in that of the stack with all that watches the limiter', async () => {
    const assembly = join(folder, 'watched')
    await aws.cdk(ROOT, 'synth', '--quiet', '-c', 'dashboard=true', '--output', assembly)
    await lint('--ignore-checks', 'W3005', '--', join(assembly, 'Sluice.template.json'))
  }, 120_000)

  test.each([...REST, ...HTTP])('cfn-lint finds nothing in the example %s', async (path) => {
    await lint('--', join(EXAMPLES, path))
  })
})

const TRANSFORM = `
import json, sys
from cfnlint.decode import cfn_yaml
from samtranslator.translator.transform import transform
class Policies:
    def load(self): return {'AWSLambdaBasicExecutionRole': 'arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole'}
template = json.loads(json.dumps(cfn_yaml.load(sys.argv[1])))
print(json.dumps(transform(template, {'LimiterArn': 'arn:aws:lambda:us-east-1:000000000000:function:sluice'}, Policies())))`

/** What SAM's own translator makes of a template. */
async function transformed(path: string): Promise<Awaited<ReturnType<typeof packageService>>> {
  const env = { ...process.env, AWS_DEFAULT_REGION: 'us-east-1' }
  const { stdout } = await promisify(execFile)(join(MINISTACK, 'python3'), ['-c', TRANSFORM, path], { env })
  return JSON.parse(stdout)
}

async function lint(...args: string[]): Promise<void> {
  try {
    await promisify(execFile)(join(MINISTACK, 'cfn-lint'), args)
  } catch (error) {
    throw new Error((error as { stdout?: string }).stdout || String(error))
  }
}
