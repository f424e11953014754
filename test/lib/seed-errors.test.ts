import { DynamoDBDocumentClient, PutCommand, QueryCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { mockClient } from 'aws-sdk-client-mock'
import { handler, type SeedRequest } from '../../lib/seed/handler'

// The function waits seconds between its tries.
const waits: number[] = []
jest.mock('node:timers/promises', () => ({ setTimeout: async (ms: number) => void waits.push(ms) }))

const documents = mockClient(DynamoDBDocumentClient)
const answers: { readonly Status: string; readonly Reason: string }[] = []

beforeEach(() => {
  documents.reset()
  documents.on(QueryCommand).resolves({ Items: [] })
  documents.on(PutCommand).resolves({})
  documents.on(TransactWriteCommand).resolves({})
  answers.length = 0
  waits.length = 0
  for (const level of ['info', 'error'] as const) jest.spyOn(console, level).mockImplementation(() => {})
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (_, init) => {
    answers.push(JSON.parse(new TextDecoder().decode(init!.body as Uint8Array)))
    return new Response()
  })
})
afterAll(() => {
  documents.restore()
  jest.restoreAllMocks()
})

const fault = (name: string, message = name, more: object = {}) => Object.assign(new Error(message), { name, ...more })
const cancelled = (Code: string) =>
  fault('TransactionCanceledException', 'Transaction cancelled', {
    CancellationReasons: [{ Code }, { Code }, { Code }],
  })

const tiers = { Items: [JSON.stringify({ pk: 'policy-set', sk: 'tier#free', policies: [] })] }
const label = { Api: { Id: 'a1', Label: 'shop' } }

/** What CloudFormation asks of the function, and the status and reason that it hears. */
async function ask(RequestType: SeedRequest['RequestType'], properties: object = tiers): Promise<[string, string]> {
  const ids = { StackId: 'stack', RequestId: 'request', LogicalResourceId: 'Tiers', ResponseURL: 'https://answer.test' }
  await handler({ RequestType, ...ids, ResourceProperties: { TableName: 'config', ...properties } })
  const { Status, Reason } = answers.at(-1)!
  return [Status, Reason]
}

describe.each([
  ['tiers', tiers, TransactWriteCommand],
  ['a label', label, TransactWriteCommand],
] as const)('the seed function, asked to write %s', (_, properties, write) => {
  it.each([
    ['throttled', fault('ProvisionedThroughputExceededException', 'slow down')],
    ['not found', fault('ResourceNotFoundException', 'no such table')],
    ['out of reach', fault('TimeoutError', 'connect ETIMEDOUT')],
    ['broken', fault('InternalServerError', 'internal')],
  ])('tells CloudFormation why it failed while the table is %s, at once', async (_state, error) => {
    for (const command of [QueryCommand, write]) {
      documents.on(command as never).rejects(error)
      expect(await ask('Update', properties)).toEqual([
        'FAILED',
        `the config table could not be seeded: ${error.message}`,
      ])
      documents.on(command as never).resolves({})
    }
    expect(waits).toEqual([])
  })

  it('waits for a new role’s rights, which DynamoDB does not know for some seconds', async () => {
    documents.on(QueryCommand).rejectsOnce(fault('AccessDeniedException')).resolves({ Items: [] })
    documents
      .on(write as never)
      .rejectsOnce(fault('AccessDeniedException'))
      .resolves({})
    expect(await ask('Update', properties)).toEqual(['SUCCESS', ''])
    expect(waits.length).toBeGreaterThanOrEqual(1)
  })

  it('gives up after six tries without the rights', async () => {
    documents.on(QueryCommand).rejects(fault('AccessDeniedException', 'not authorized'))
    expect(await ask('Update', properties)).toEqual(['FAILED', expect.stringContaining('not authorized')])
    expect(waits).toHaveLength(5)
  })
})

describe('the seed function, when somebody else writes at the same time', () => {
  it('tries a tier again that is part of another’s transaction', async () => {
    documents.on(TransactWriteCommand).rejectsOnce(cancelled('TransactionConflict')).resolves({})
    expect(await ask('Update')).toEqual(['SUCCESS', ''])
  })

  it('keeps a tier that somebody changed after it was read', async () => {
    documents.on(TransactWriteCommand).rejects(cancelled('ConditionalCheckFailed'))
    expect(await ask('Update')).toEqual(['SUCCESS', ''])
    expect(documents.commandCalls(TransactWriteCommand)).toHaveLength(1)
    expect(documents.commandCalls(PutCommand)).toHaveLength(0)
  })

  it.each(['ConditionalCheckFailed', 'TransactionConflict'])(
    'reads again and tries a label again after %s',
    async (code) => {
      documents.on(TransactWriteCommand).rejectsOnce(cancelled(code)).resolves({})
      expect(await ask('Update', label)).toEqual(['SUCCESS', ''])
      expect(documents.commandCalls(TransactWriteCommand)).toHaveLength(2)
      expect(documents.commandCalls(QueryCommand)).toHaveLength(6)
    },
  )

  it('does not repeat a label’s transaction that was cancelled for another reason', async () => {
    documents.on(TransactWriteCommand).rejects(cancelled('ValidationError'))
    expect(await ask('Update', label)).toEqual(['FAILED', expect.stringContaining('Transaction cancelled')])
    expect(documents.commandCalls(TransactWriteCommand)).toHaveLength(1)
  })
})

it('a stack whose table is gone can be deleted', async () => {
  documents.on(QueryCommand).rejects(fault('ResourceNotFoundException'))
  expect(await ask('Delete', label)).toEqual(['SUCCESS', ''])
  expect(await ask('Delete', tiers)).toEqual(['SUCCESS', ''])
})
