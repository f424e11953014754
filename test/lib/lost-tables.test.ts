import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { App, NestedStack, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { handler, type SeedRequest } from '../../lib/seed/handler'
import { customResource } from './cloudformation'

const CHECK = 'Custom::SluiceConfigTables'

describe('the check of config tables in a stack', () => {
  const checksIn = (stack: Stack) =>
    Object.values(Template.fromStack(stack).findResources(CHECK)).map(({ Properties }) => Properties.ConfigTables)

  it('knows the tables of every limiter of its stack, one that was handed over too, and of no other stack', () => {
    const app = new App()
    const stack = new Stack(app, 'Stack')
    new RateLimiter(stack, 'One')
    new RateLimiter(stack, 'Two', { configTable: TableV2.fromTableName(stack, 'Clients', 'clients') })
    new RateLimiter(new NestedStack(stack, 'Nested'), 'Three')
    new RateLimiter(new Stack(app, 'Other'), 'Four')
    const own = { Names: [{ Ref: expect.stringMatching(/^OneTablesConfig/) }, 'clients'], Loss: 'refuse' }
    expect(checksIn(stack)).toEqual([own, own])
  })

  it('is there with every limiter, and passes on that a loss is accepted', () => {
    const stack = new Stack(new App(), 'Stack')
    new RateLimiter(stack, 'Limiter', { configTableLoss: 'accept' })
    expect(checksIn(stack)).toEqual([expect.objectContaining({ Loss: 'accept' })])
    const wrong = { configTableLoss: 'maybe' } as unknown as RateLimiterProps
    expect(() => new RateLimiter(stack, 'Wrong', wrong)).toThrow(
      'configTableLoss must be "refuse" or "accept", got "maybe" (Stack/Wrong)',
    )
  })
})

describe('the check of config tables, asked by CloudFormation', () => {
  const cloudFormation = customResource(() => 'http://127.0.0.1:9')
  const table = (LogicalResourceId: string, PhysicalResourceId: string, more = {}) => ({
    LogicalResourceId,
    PhysicalResourceId,
    ResourceType: 'AWS::DynamoDB::GlobalTable',
    ResourceStatus: 'CREATE_COMPLETE',
    ...more,
  })
  const OLD = table('LimiterTablesConfigD79850F4', 'old')
  const NEW = table('RenamedTablesConfigF4E716A5', 'new')
  const ALIENS = [
    table('OrdersD79850F4', 'orders'),
    table('RenamedTablesStateD79850F4', 'state'),
    table('BucketTablesConfigD79850F4', 'bucket', { ResourceType: 'AWS::S3::Bucket' }),
    table('GoneTablesConfigD79850F4', 'gone', { ResourceStatus: 'DELETE_COMPLETE' }),
  ]

  let resources: readonly object[]
  let status: string
  let send: jest.SpyInstance
  beforeEach(() => {
    status = 'UPDATE_IN_PROGRESS'
    send = jest.spyOn(CloudFormationClient.prototype, 'send').mockImplementation((async ({
      input,
      constructor: { name },
    }: {
      readonly input: { readonly NextToken?: string }
      readonly constructor: { readonly name: string }
    }) => {
      if (name === 'DescribeStacksCommand') return { Stacks: [{ StackStatus: status }] }
      const at = Number(input.NextToken ?? 0)
      return {
        StackResourceSummaries: resources.slice(at, at + 1),
        NextToken: at + 1 < resources.length ? String(at + 1) : undefined,
      }
    }) as never)
  })
  afterEach(() => send.mockRestore())

  const ask = async (
    RequestType: SeedRequest['RequestType'],
    Names: readonly string[],
    { before, Loss = 'refuse' }: { readonly before?: readonly string[]; readonly Loss?: string } = {},
  ) => {
    await handler({
      RequestType,
      ResponseURL: cloudFormation.responseUrl(),
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'Check',
      ResourceProperties: { ConfigTables: { Names, Loss } } as never,
      ...(before && { OldResourceProperties: { ConfigTables: { Names: before, Loss: 'refuse' } } }),
    })
    const { Status, Reason } = cloudFormation.answers.at(-1)!
    return Status === 'SUCCESS' ? Status : Reason
  }

  it('lets a new stack pass, and other tables be', async () => {
    resources = [NEW, ...ALIENS]
    expect(await ask('Create', ['new'])).toBe('SUCCESS')
  })

  it('refuses a renamed construct, whatever version made the old one, and says how to keep the table', async () => {
    resources = [...ALIENS, OLD, NEW]
    expect(await ask('Create', ['new'])).toBe(
      'the limiter would get the new config table new and leave old behind, with every client in it: ' +
        'the construct was renamed, or its table was. To keep the table, one of: ' +
        'give the construct its old id and the table its old name; ' +
        "Stack.of(limiter).renameLogicalId('RenamedTablesConfigF4E716A5', 'LimiterTablesConfigD79850F4'); npx cdk refactor; " +
        "configTable: TableV2.fromTableName(this, 'Clients', 'old'). " +
        "To go on without the clients of the old table: configTableLoss: 'accept'.",
    )
  })

  it('refuses a table that CloudFormation replaces, and one that is exchanged for another', async () => {
    resources = [table('LimiterTablesConfigD79850F4', 'new')]
    const refused = await ask('Update', ['new'], { before: ['old'] })
    expect(refused).toMatch(/^the limiter would get the new config table new and leave old behind/)
    expect(refused).not.toContain('renameLogicalId')
    resources = []
    expect(await ask('Update', ['theirs'], { before: ['mine'] })).toMatch(/config table theirs and leave mine behind/)
  })

  it('refuses a rename of one limiter of two, at both', async () => {
    resources = [OLD, NEW, table('OtherTablesConfigF4E716A5', 'other')]
    expect(await ask('Create', ['new', 'other'])).toMatch(/new config table new, other and leave old behind/)
    expect(await ask('Update', ['new', 'other'], { before: ['old', 'other'] })).toMatch(
      /table new and leave old behind/,
    )
  })

  it('lets pass what loses no client: the old table handed over or kept, a limiter more, a limiter less, an end', async () => {
    resources = [OLD]
    expect(await ask('Create', ['old'])).toBe('SUCCESS')
    resources = [OLD, NEW]
    expect(await ask('Update', ['old', 'new'], { before: ['old'] })).toBe('SUCCESS')
    expect(await ask('Update', ['old'], { before: ['old', 'new'] })).toBe('SUCCESS')
    expect(await ask('Delete', ['new'])).toBe('SUCCESS')
  })

  it('never refuses a rollback, nor a loss that is accepted, for which it asks nothing', async () => {
    resources = [OLD, NEW]
    status = 'UPDATE_ROLLBACK_IN_PROGRESS'
    expect(await ask('Update', ['old'], { before: ['new'] })).toBe('SUCCESS')
    status = 'UPDATE_IN_PROGRESS'
    send.mockClear()
    expect(await ask('Create', ['new'], { Loss: 'accept' })).toBe('SUCCESS')
    expect(send).not.toHaveBeenCalled()
  })

  it('refuses where it cannot ask', async () => {
    send.mockRejectedValue(new Error('connect ETIMEDOUT'))
    expect(await ask('Create', ['new'])).toBe(
      'cannot check whether clients are left behind in another config table: connect ETIMEDOUT. ' +
        "To go on without the clients of the old table: configTableLoss: 'accept'.",
    )
  })
})
