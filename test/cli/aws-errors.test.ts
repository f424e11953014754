import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import {
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ScanCommand as RawScanCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import {
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb'
import { mockClient } from 'aws-sdk-client-mock'
import { ringKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { newRingKey } from '../../provisioning/make-key-ring'
import { sluice } from './command-line'

const documents = mockClient(DynamoDBDocumentClient)
const tables = mockClient(DynamoDBClient)
const stacks = mockClient(CloudFormationClient)
const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
const file = join(folder, 'tiers.yaml')
const TIER = { policies: [{ name: 'per-minute', limit: 10, window: '1m' }] }

beforeAll(() => writeFileSync(file, JSON.stringify({ tiers: { anonymous: { by: 'ip', ...TIER }, free: TIER } })))
afterAll(() => {
  for (const mock of [documents, tables, stacks]) mock.restore()
  rmSync(folder, { recursive: true })
})

const SET = [
  { pk: 'policy-set', sk: 'tier#anonymous', by: 'ip', ...TIER },
  { pk: 'policy-set', sk: 'block#ip#203.0.113.7' },
  { pk: 'policy-set', sk: 'api#a1', label: 'shop' },
  { pk: 'policy-set', sk: 'switch', mode: 'observe', since: '2026-01-01T00:00:00Z' },
]
const CLIENT = { pk: `client#${'0'.repeat(64)}`, sk: 'client', id: 'acme', tier: 'anonymous' }

beforeEach(() => {
  for (const mock of [documents, tables, stacks]) mock.reset()
  documents.on(QueryCommand).resolves({ Items: SET })
  documents.on(ScanCommand).resolves({ Items: [CLIENT] })
  documents.on(GetCommand).resolves({})
  tables.on(GetItemCommand).resolves({})
  tables.on(RawScanCommand).resolves({ Items: [] })
})

/** An error as the SDK throws it. */
const fault = (name: string, message: string, httpStatusCode: number, more: object = {}) =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode }, ...more })
const cancelled = (...codes: string[]) =>
  fault('TransactionCanceledException', 'Transaction cancelled', 400, {
    CancellationReasons: codes.map((Code) => ({ Code })),
  })
const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8000'), { code: 'ECONNREFUSED' })

/** What a call may meet that no retry gets over, the exit code that it ends with, and what is printed. */
const FAULTS = [
  ['throttled', fault('ProvisionedThroughputExceededException', 'slow down', 400), 2, 'the service failed: slow down'],
  ['throttled by account', fault('ThrottlingException', 'rate exceeded', 400), 2, 'the service failed: rate exceeded'],
  ['denied', fault('AccessDeniedException', 'not authorized', 400), 1, 'AWS rejects these credentials: not authorized'],
  ['without a table', fault('ResourceNotFoundException', 'no', 400), 1, 'there is no table "sluice-config" here'],
  ['without a network', refused, 2, 'the service failed: connect ECONNREFUSED 127.0.0.1:8000'],
  ['unlucky', fault('InternalServerError', 'oh', 500), 2, 'the service failed: oh'],
] as const

const at = (args: readonly string[]) => sluice([...args, '--endpoint', 'http://127.0.0.1:1'])
const sent = () => documents.calls().map(({ args: [command] }) => command.constructor.name)

/** Every command that reads the config table, by the call that it reads with first. */
const READS = [
  [['tiers', 'list'], QueryCommand],
  [['tiers', 'get', 'anonymous'], QueryCommand],
  [['tiers', 'diff', file], QueryCommand],
  [['tiers', 'export'], QueryCommand],
  [['tiers', 'apply', file, '--yes'], QueryCommand],
  [['clients', 'create', 'new', '--tier', 'anonymous'], QueryCommand],
  [['clients', 'list'], ScanCommand],
  [['clients', 'get', 'acme'], ScanCommand],
  [['clients', 'set', 'acme', '--name', 'Acme'], ScanCommand],
  [['clients', 'disable', 'acme'], ScanCommand],
  [['clients', 'delete', 'acme', '--yes'], ScanCommand],
  [['clients', 'rotate-key', 'acme'], ScanCommand],
  [['apis', 'list'], QueryCommand],
  [['apis', 'label', 'a2', 'cart'], GetCommand],
  [['apis', 'remove', 'a1', '--yes'], QueryCommand],
  [['block', 'add', '198.51.100.1'], QueryCommand],
  [['block', 'remove', '203.0.113.7', '--yes'], QueryCommand],
  [['block', 'list'], QueryCommand],
  [['block', 'export', '--waf'], QueryCommand],
  [['off', '--yes'], QueryCommand],
  [['on'], QueryCommand],
  [['observe', 'on', '--yes'], QueryCommand],
  [['usage', 'acme'], QueryCommand],
  [['peek', 'acme'], QueryCommand],
  [['refund', 'acme', '1'], QueryCommand],
  [['reset', 'acme'], QueryCommand],
  [['hmac-key', 'status'], GetCommand],
  [['forget', 'client:acme', '--yes'], GetCommand],
] as const

describe.each(FAULTS)('a command whose reading is %s', (_, error, code, message) => {
  it.each(READS)('ends with the exit code and one sentence, and writes nothing: %j', async (args, command) => {
    documents.on(command as never).rejects(error)
    const said = await at(args)
    expect(said).toMatchObject({ code, out: '', err: expect.stringContaining(message) })
    expect(said.err).not.toContain('    at ')
    expect(sent().filter((name) => /^(Put|Delete|Transact)/.test(name))).toEqual([])
  })
})

/** Every command that writes the config table: with the record of it, in one transaction. */
const WRITES: readonly (readonly string[])[] = [
  ['tiers', 'apply', file, '--yes'],
  ['clients', 'create', 'new', '--tier', 'anonymous', '--another-key'],
  ['clients', 'set', 'acme', '--name', 'Acme'],
  ['clients', 'disable', 'acme'],
  ['clients', 'delete', 'acme', '--yes'],
  ['clients', 'rotate-key', 'acme'],
  ['apis', 'label', 'a2', 'cart'],
  ['apis', 'remove', 'a1', '--yes'],
  ['block', 'add', '198.51.100.1'],
  ['block', 'remove', '203.0.113.7', '--yes'],
  ['off', '--yes'],
  ['on'],
]

const ofWrite = (args: readonly string[]) =>
  args[1] === 'create' ? args.filter((arg) => !['--tier', 'anonymous'].includes(arg)) : args

describe.each(FAULTS)('a command whose write is %s', (_, error, code, message) => {
  it.each(WRITES)('ends with the exit code and one sentence, and claims nothing: %j', async (...args) => {
    documents.on(TransactWriteCommand).rejects(error)
    const said = await at(ofWrite(args))
    expect(said).toMatchObject({ code, err: expect.stringContaining(message) })
    expect(said.err).not.toContain('    at ')
    expect(said.out).not.toMatch(/is (changed|disabled|deleted|blocked|made)|limits are|applied|slcs_/)
  })
})

describe.each([
  ['whose item somebody changed meanwhile', 'ConditionalCheckFailed'],
  ['that meets the transaction of somebody else', 'TransactionConflict'],
])('a write %s', (_, reason) => {
  it.each(WRITES)('ends with exit code 1 and says that somebody else changed the item: %j', async (...args) => {
    documents.on(TransactWriteCommand).rejects(cancelled(reason, reason, reason))
    documents.on(GetCommand).resolves({ Item: { pk: 'other', sk: 'other' } })
    documents
      .on(GetCommand, { Key: ringKey(SIGNING_RING) })
      .resolves({ Item: keyRingItem(SIGNING_RING, [newRingKey(0)]) })
    const { code, err } = await at(ofWrite(args))
    expect(code).toBe(1)
    expect(err).toMatch(/another writer|at the same moment|already uses this/)
    expect(err).not.toContain('    at ')
  })
})

describe('a table named by a stack', () => {
  it.each([
    ['throttled', fault('Throttling', 'Rate exceeded', 400), 2, 'the service failed: Rate exceeded'],
    ['denied', fault('AccessDenied', 'no DescribeStacks', 403), 1, /refuses these credentials|--table/],
    ['of a name that no stack has', fault('ValidationError', 'Stack with id x does not exist', 400), 1, /x/],
    ['without a network', refused, 2, 'the service failed: connect ECONNREFUSED 127.0.0.1:8000'],
  ])('is not found while CloudFormation is %s, and no table is read', async (_, error, code, message) => {
    stacks.on(DescribeStacksCommand).rejects(error)
    const said = await sluice(['tiers', 'list', '--stack', 'x', '--region', 'us-east-1'])
    expect(said).toMatchObject({ code, out: '', err: expect.stringMatching(message) })
    expect(sent()).toEqual([])
  })
})

describe('a command on the state table', () => {
  it.each([
    [['reset', 'acme'], UpdateItemCommand],
    [['refund', 'acme', '1'], UpdateItemCommand],
    [['hmac-key', 'purge', '--yes'], RawScanCommand],
    [['usage', 'acme'], GetItemCommand],
  ])('says in one sentence that the table is missing: %j', async (args, command) => {
    documents.on(GetCommand).resolves({
      Item: { pk: 'hmac-key', sk: 'hmac-key', keys: [{ key: `${'A'.repeat(43)}=`, activeFrom: 0, carriedFrom: 0 }] },
    })
    for (const one of [command, GetItemCommand, PutItemCommand])
      tables.on(one as never).rejects(fault('ResourceNotFoundException', 'no', 400))
    const said = await at(args)
    expect(said.code).toBeGreaterThan(0)
    expect(said.err).not.toContain('    at ')
  })

  it('the doctor names the IAM action that is missing', async () => {
    tables.on(DescribeTableCommand).rejects(fault('AccessDeniedException', 'not authorized to DescribeTable', 400))
    const said = await at(['doctor'])
    expect(said.out).toContain('allow dynamodb:DescribeTable')
    expect(said.code).toBe(1)
  })
})
