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
import { clientKey } from '../../lambda/config-table/items/config-items'
import { hashApiKey } from '../../lambda/identity/api-key'
import { MINISTACK, type MiniStack, minuteWith, startMiniStack } from '../engines/ministack'

const ROOT = join(__dirname, '..', '..')
const templateOf = (example: string) => join(ROOT, 'examples', example, 'template.yaml')

/** What tiers.yaml gives a client of the tier free in a minute. */
const LIMIT = 60

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

  /** Deploys a template as `aws cloudformation deploy` does, by a change set, and returns its output `Url`. */
  async function deploy(StackName: string, example: string): Promise<string> {
    const named = { StackName, ChangeSetName: 'first' }
    await client.send(
      new CreateChangeSetCommand({
        ...named,
        ChangeSetType: 'CREATE',
        TemplateBody: readFileSync(templateOf(example), 'utf8'),
        Parameters: [{ ParameterKey: 'LimiterArn', ParameterValue: sluice.AuthorizerFunctionArn }],
        Capabilities: ['CAPABILITY_IAM', 'CAPABILITY_AUTO_EXPAND'],
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
    return outputs.find(({ OutputKey }) => OutputKey === 'Url')!.OutputValue!
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

  // MiniStack takes methods and authorizers from a document, and no gateway responses: on AWS the 403 is a 429.
  test.each(['openapi', 'sam'])(
    '%s: requests past the limit are denied, and never reach the backend; the health check is not counted',
    async (example) => {
      const url = await deploy(`Orders-${example}`, example)
      // One of its own for each, because both APIs ask the same limiter.
      const key = `the key for ${example}`
      const client = { ...clientKey(hashApiKey(key)), id: example, tier: 'free' }
      await documents.send(new PutCommand({ TableName: sluice.ConfigTableName, Item: client }))
      await minuteWith(20_000)
      const statuses: number[] = []
      for (let i = 0; i < LIMIT + 2; i++)
        statuses.push((await aws.send(`${url}orders`, { headers: { 'x-api-key': key } })).status)
      const counted = (status: number) => statuses.filter((one) => one === status).length
      expect([counted(200), counted(403)]).toEqual([LIMIT, 2])
      expect(await served(`${url}health`)).toBe(LIMIT + 1)
    },
  )

  // W3005: a dependency that the CDK writes down though it follows from a reference.
  test('cfn-lint finds nothing in the template of the stack', async () => {
    const assembly = join(folder, 'cdk.out')
    const templates = readdirSync(assembly).filter((name) => name.endsWith('.template.json'))
    expect(templates).toHaveLength(1)
    await lint('--ignore-checks', 'W3005', '--', ...templates.map((name) => join(assembly, name)))
  })

  test.each(['openapi', 'sam'])('cfn-lint finds nothing in the template of the example %s', async (example) => {
    await lint('--', templateOf(example))
  })
})

async function lint(...args: string[]): Promise<void> {
  try {
    await promisify(execFile)(join(MINISTACK, 'cfn-lint'), args)
  } catch (error) {
    throw new Error((error as { stdout?: string }).stdout || String(error))
  }
}
