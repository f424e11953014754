import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CloudFormationClient, type Stack } from '@aws-sdk/client-cloudformation'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { App, Stack as CdkStack, Stage } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { announceGateway } from '../../cli/tables/gateway-files'
import { RateLimiter } from '../../lib/index'
import { failure } from '../attach/fake-service'
import { sluice } from './command-line'

const GATEWAY = { address: 'http://localhost:3005', dynamodb: 'http://127.0.0.1:13005' }
/** Where local gateways say that they run. */
let folder: string

let stacks: Stack[]
/** Names of the tables that were asked. */
let asked: unknown[]
/** What answers at the address of the local gateway. */
let answer: unknown

/** What the SDK finds on a machine that is set up for AWS. */
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
const before = { ...process.env }

beforeEach(() => {
  jest.restoreAllMocks()
  Object.assign(process.env, CREDENTIALS)
  ;[stacks, asked] = [[], []]
  folder = mkdtempSync(join(tmpdir(), 'sluice-run-'))
  answer = { dynamodb: GATEWAY.dynamodb }
  jest.spyOn(global, 'fetch').mockImplementation((async () => ({ json: async () => answer })) as never)
  jest.spyOn(CloudFormationClient.prototype, 'send').mockImplementation((async ({
    input,
  }: {
    input: { StackName?: string }
  }) => {
    const Stacks = stacks.filter(({ StackName }) => input.StackName === undefined || input.StackName === StackName)
    if (input.StackName !== undefined && Stacks.length === 0) throw failure('ValidationError', 400, 'no such stack')
    return { Stacks }
  }) as never)
  jest.spyOn(DynamoDBDocumentClient.prototype, 'send').mockImplementation((async ({
    input,
  }: {
    input: { TableName: string }
  }) => {
    asked.push(input.TableName)
    return { Items: [] }
  }) as never)
})
afterEach(() => rmSync(folder, { recursive: true }))
afterAll(() => {
  jest.restoreAllMocks()
  process.env = before
})

const announce = () => announceGateway(GATEWAY, { XDG_RUNTIME_DIR: folder })

/** A stack of one's own app, as the construct's output describes its limiters. */
const own = (StackName: string, ...paths: string[]): Stack => ({
  StackName,
  CreationTime: new Date(0),
  StackStatus: 'CREATE_COMPLETE',
  Outputs: paths.map((limiter, i) => ({
    OutputKey: `SluiceLimiter0000000${i}`,
    OutputValue: JSON.stringify({
      limiter,
      configTable: `${StackName}-${limiter}-config`,
      stateTable: `${StackName}-${limiter}-state`,
      function: `arn:aws:lambda:us-east-1:123456789012:function:${StackName}-${limiter}`,
    }),
  })),
})
/** The stack of this repository, as a release deployed it that did not name limiters. */
const earlier = (StackName: string): Stack => ({
  StackName,
  CreationTime: new Date(0),
  StackStatus: 'CREATE_COMPLETE',
  Outputs: [
    { OutputKey: 'ConfigTableName', OutputValue: `${StackName}-config` },
    { OutputKey: 'StateTableName', OutputValue: `${StackName}-state` },
  ],
})
const list = (args: string[] = [], env: Record<string, string> = {}) =>
  sluice(['apis', 'list', ...args], { env: { AWS_REGION: 'us-east-1', XDG_RUNTIME_DIR: folder, ...env } })

describe('the limiter that a command means', () => {
  it('is the only one of the account and Region, in whatever app, and the command says which', async () => {
    stacks = [
      { StackName: 'Web', CreationTime: new Date(0), StackStatus: 'CREATE_COMPLETE' },
      own('Shop', 'Api/Limiter'),
    ]
    expect(await list()).toMatchObject({
      code: 0,
      err: expect.stringContaining('limiter Shop/Api/Limiter in us-east-1\n'),
    })
    expect(new Set(asked)).toEqual(new Set(['Shop-Api/Limiter-config']))
  })

  it('must be chosen where there are several: by its name, or by its stack or path if that is enough', async () => {
    stacks = [own('Shop', 'Public', 'Internal'), own('Blog', 'Public'), earlier('Sluice')]
    expect(await list()).toEqual({
      code: 1,
      out: '',
      err: 'there are 4 limiters in us-east-1, choose one with --limiter: Shop/Public, Shop/Internal, Blog/Public, Sluice\n',
    })
    for (const [name, table] of [
      ['Shop/Internal', 'Shop-Internal-config'],
      ['Internal', 'Shop-Internal-config'],
      ['Blog', 'Blog-Public-config'],
      ['Sluice', 'Sluice-config'],
    ]) {
      asked = []
      expect([name, (await list(['--limiter', name!])).code]).toEqual([name, 0])
      expect(new Set(asked)).toEqual(new Set([table]))
    }
    expect((await list(['--limiter', 'Public'])).err).toBe(
      'there are 2 limiters in us-east-1, choose one with --limiter: Shop/Public, Blog/Public\n',
    )
    expect((await list(['--limiter', 'Other'])).err).toContain(
      'there is no limiter "Other" in us-east-1: there is Shop/',
    )
    asked = []
    expect((await list(['--stack', 'Shop', '--limiter', 'Public'])).code).toBe(0)
    expect(new Set(asked)).toEqual(new Set(['Shop-Public-config']))
  })

  it('is named first by options, then by the environment, and then nothing is looked for', async () => {
    stacks = [own('Shop', 'Limiter')]
    await list(['--table', 'mine'])
    await list([], { SLUICE_CONFIG_TABLE: 'set' })
    expect(CloudFormationClient.prototype.send).not.toHaveBeenCalled()
    await list(['--limiter', 'Shop'], { SLUICE_CONFIG_TABLE: 'set' })
    expect([...new Set(asked)]).toEqual(['mine', 'set', 'Shop-Limiter-config'])
  })

  it('is not asked of an engine that is no CloudFormation: the variable that leads there is named', async () => {
    jest
      .spyOn(CloudFormationClient.prototype, 'send')
      .mockRejectedValue(failure('UnknownError', 400, 'Unknown') as never)
    const env = { SLUICE_DYNAMODB_ENDPOINT: 'http://127.0.0.1:8000' }
    const { code, err } = await list(['--limiter', 'Limiter'], env)
    expect(code).toBe(1)
    expect(err).toContain('--limiter needs CloudFormation, which does not answer at http://127.0.0.1:8000')
    expect(err).toContain('unset SLUICE_DYNAMODB_ENDPOINT')
    expect((await list(['--region', 'eu-west-1'], env)).err).toContain(
      'tables at http://127.0.0.1:8000, by SLUICE_DYNAMODB_ENDPOINT',
    )
  })

  it('is not guessed where a local gateway runs as well: both are named', async () => {
    stacks = [own('Shop', 'Limiter')]
    announce()
    expect(await list()).toEqual({
      code: 1,
      out: '',
      err: 'a local gateway runs at http://localhost:3005, and in us-east-1 there is Shop/Limiter: choose with --endpoint http://127.0.0.1:13005, or with --limiter\n',
    })
    expect(asked).toEqual([])
    expect((await list(['--limiter', 'Shop'])).code).toBe(0)
    const log = ['--log-group', '/aws/lambda/other', '--once']
    const { err } = await sluice(['top', ...log], { env: { AWS_REGION: 'us-east-1', XDG_RUNTIME_DIR: folder } })
    expect(err).not.toContain('local gateway')
    stacks = []
    expect((await list()).err).toContain(
      'no limiter in us-east-1, and a local gateway runs at http://localhost:3005: use --endpoint http://127.0.0.1:13005',
    )
  })

  describe('where there is no AWS to ask', () => {
    const used = 'tables of the local gateway at http://localhost:3005\n'
    beforeEach(() => {
      for (const name of Object.keys(CREDENTIALS)) delete process.env[name]
      announce()
    })

    it('is that of the local gateway, and the command says so', async () => {
      for (const env of [{ AWS_REGION: 'us-east-1' }, { AWS_REGION: '' }]) {
        expect(await list([], env)).toMatchObject({ code: 0, err: expect.stringContaining(used) })
      }
      expect(asked).toEqual(['sluice-config', 'sluice-config'])
      expect(CloudFormationClient.prototype.send).not.toHaveBeenCalled()
    })

    it.each([
      [['--table', 'mine'], {}],
      [['--endpoint', 'http://127.0.0.1:8000'], {}],
      [['--region', 'eu-west-1', '--limiter', 'a'], {}],
      [[], { SLUICE_DYNAMODB_ENDPOINT: 'http://127.0.0.1:8000' }],
      [[], { SLUICE_CONFIG_TABLE: 'mine' }],
    ])('is not that of the local gateway with %j and %j', async (args, env) => {
      expect((await list(args, env as Record<string, string>)).err).not.toContain(used)
      expect(fetch).not.toHaveBeenCalled()
    })

    it.each(['https://dynamodb.us-east-1.amazonaws.com', 'nonsense', 5])(
      'is not what claims to have its DynamoDB at %j',
      async (dynamodb) => {
        answer = { dynamodb }
        expect((await list()).err).not.toContain(used)
      },
    )
  })

  it('is not one whose stack is gone, and what answers on the port of a gateway that is gone is none', async () => {
    announce()
    answer = { hello: 'world' }
    stacks = [{ ...own('Old', 'Limiter'), StackStatus: 'DELETE_COMPLETE' }]
    expect((await list()).err).toBe(
      'no table: no stack in us-east-1 has the outputs of a limiter; use --table and --state-table, or --endpoint\n',
    )
    expect((await list(['--stack', 'Gone'])).err).toContain('if it was deleted, name its config table with --table')
  })
})

test('the construct names itself, its tables and its function in an output of its stack', () => {
  const stage = new Stage(new App(), 'Prod')
  const stack = new CdkStack(stage, 'Shop')
  new RateLimiter(stack, 'Public')
  new RateLimiter(stack, 'Internal')
  const outputs = Object.entries(Template.fromStack(stack).toJSON().Outputs as Record<string, { Value: unknown }>)
  expect(outputs.map(([key]) => key)).toEqual([
    expect.stringMatching(/^SluiceLimiter[0-9a-f]{8}$/),
    expect.stringMatching(/^SluiceLimiter[0-9a-f]{8}$/),
  ])
  expect(JSON.stringify(outputs[0]![1].Value)).toContain(
    '{\\\\\\"limiter\\\\\\":\\\\\\"Public\\\\\\"'.replaceAll('\\\\\\', '\\'),
  )
})
