import { DeleteItemCommand, DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { mockClient } from 'aws-sdk-client-mock'
import {
  absentOrAtMost,
  add,
  append,
  between,
  exactly,
  remove,
  set,
  sizeAtMost,
  when,
} from '../../limiter/algorithms/conditional-write'
import { ConfigError } from '../../limiter/errors'
import { prefixOf } from '../../limiter/stores/attribute-prefix'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { fitted } from '../../limiter/stores/expression-budget'
import { toUpdate } from '../../limiter/stores/expressions'

const client = new DynamoDBClient({ region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })
const dynamodb = mockClient(client)
const store = new DynamoDbStore({ client, tableName: 'state' })
const write = {
  parts: [{ prefix: 'a1bc', write: when([absentOrAtMost('w', 7)], set('w', 7), add('zz', 1), remove('zy')) }],
  id: { mark: 'r3', value: 42 },
  at: 0,
}

beforeEach(() => dynamodb.reset())

describe('the DynamoDB store', () => {
  it('makes a write in one UpdateItem that returns the old item, applied or not', async () => {
    dynamodb.on(UpdateItemCommand).resolves({
      Attributes: { pk: { S: 'k' }, a1bcw: { N: '6' }, a1bcl: { L: [{ N: '1' }] }, exp: { N: '99' }, r5: { N: '3' } },
    })
    expect(await store.write('k', { ...write, expiresAtSeconds: 120 })).toEqual({
      kind: 'applied',
      item: { policies: { a1bc: { w: 6, l: [1] } }, expiresAtSeconds: 99, marks: { r5: 3 } },
    })
    expect(dynamodb.calls()).toHaveLength(1)
    expect(dynamodb.call(0).args[0].input).toEqual({
      TableName: 'state',
      Key: { pk: { S: 'k' } },
      UpdateExpression: 'SET r3=:0,exp=:1,a1bcw=:2 ADD a1bczz :3 REMOVE a1bczy',
      ConditionExpression: 'r3 <> :0 AND NOT exp>:1 AND NOT a1bcw>:2',
      ExpressionAttributeValues: { ':0': { N: '42' }, ':1': { N: '120' }, ':2': { N: '7' }, ':3': { N: '1' } },
      ReturnValues: 'ALL_OLD',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
  })

  it('takes a refusal without an item as a missing item, once the engine has returned an item with a refusal', async () => {
    const refusal = (Item?: object) => Object.assign(new Error('no'), { name: 'ConditionalCheckFailedException', Item })
    dynamodb
      .on(UpdateItemCommand)
      .rejectsOnce(refusal({ pk: { S: 'k' }, a1bcw: { N: '9' } }))
      .rejects(refusal())
    dynamodb.on(GetItemCommand).resolves({})
    expect(await store.write('k', write)).toMatchObject({ kind: 'refused', item: { policies: { a1bc: { w: 9 } } } })
    expect(await store.write('k', write)).toMatchObject({ kind: 'refused', item: { policies: {} } })
    expect(dynamodb.commandCalls(GetItemCommand)).toHaveLength(0)
  })

  it('reads the item after a refusal if the engine may be one that does not return it', async () => {
    const fresh = new DynamoDbStore({ client, tableName: 'state' })
    dynamodb.on(UpdateItemCommand).rejects(Object.assign(new Error('no'), { name: 'ConditionalCheckFailedException' }))
    dynamodb.on(GetItemCommand).resolves({ Item: { pk: { S: 'k' }, a1bcw: { N: '9' }, r3: { N: '42' } } })
    expect(await fresh.write('k', write)).toMatchObject({
      kind: 'already-applied',
      item: { policies: { a1bc: { w: 9 } } },
    })
    expect(dynamodb.commandCalls(GetItemCommand, { ConsistentRead: true })).toHaveLength(1)
  })

  it('takes it for a missing item where nothing but writing is permitted, and reads no more', async () => {
    const fresh = new DynamoDbStore({ client, tableName: 'state' })
    dynamodb.on(UpdateItemCommand).rejects(Object.assign(new Error('no'), { name: 'ConditionalCheckFailedException' }))
    dynamodb.on(GetItemCommand).rejects(Object.assign(new Error('not you'), { name: 'AccessDeniedException' }))
    for (let i = 0; i < 2; i++)
      expect(await fresh.write('k', write)).toMatchObject({ kind: 'refused', item: { policies: {} } })
    expect(dynamodb.commandCalls(GetItemCommand)).toHaveLength(1)
  })

  it('deletes the item of a subject only while its marks are as seen', async () => {
    dynamodb.on(DeleteItemCommand).resolves({ Attributes: { pk: { S: 'k' }, r1: { N: '5' } } })
    expect(await store.delete('k', { r0: undefined, r1: 5 })).toMatchObject({
      kind: 'deleted',
      item: { marks: { r1: 5 } },
    })
    expect(dynamodb.call(0).args[0].input).toEqual({
      TableName: 'state',
      Key: { pk: { S: 'k' } },
      ConditionExpression: 'attribute_not_exists(r0) AND r1=:0',
      ExpressionAttributeValues: { ':0': { N: '5' } },
      ReturnValues: 'ALL_OLD',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
  })

  it('passes the abort signal to every call', async () => {
    dynamodb.onAnyCommand().resolves({})
    const { signal } = new AbortController()
    await store.write('k', write, { signal })
    await store.read('k', { signal })
    await store.delete('k', { r1: 5 }, { signal })
    expect(dynamodb.calls().map(({ args }) => (args as unknown[])[1])).toEqual(Array(3).fill({ abortSignal: signal }))
  })

  it('rejects an invalid client and table name, naming both', () => {
    expect(() => new DynamoDbStore({ client: {} as never, tableName: '' })).toThrow(ConfigError)
    expect(() => new DynamoDbStore({ client: {} as never, tableName: '' })).toThrow(
      /tableName must be the name of a table, got ""[\s\S]*client must be a DynamoDBClient, got an object/,
    )
  })
})

describe('a ValidationException', () => {
  const reasonFor = async (message: string) => {
    dynamodb
      .on(UpdateItemCommand)
      .rejects(Object.assign(new Error(message), { name: 'ValidationException', $metadata: { httpStatusCode: 400 } }))
    return store.write('k', write).catch(({ reason }) => reason)
  }

  it('counts as a failure of the item if its message is about the item or the write', async () => {
    for (const message of [
      'Item size to update has exceeded the maximum allowed size',
      'Invalid ConditionExpression: The expression contains too many operators; operator count: 301',
      'Invalid UpdateExpression: Expression size has exceeded the maximum allowed size;',
      'An operand in the update expression has an incorrect data type',
      'The document path provided in the update expression is invalid for update',
      'Number overflow. Attempting to store a number with magnitude larger than supported range',
    ])
      expect(await reasonFor(message)).toBe('item')
  })

  it('counts as a failure of the table if its message is about the keys of the table', async () => {
    for (const message of [
      'The provided key element does not match the schema',
      'One of the required keys was not given a value',
      'One or more parameter values were invalid: Type mismatch for key pk expected: N actual: S',
    ])
      expect(await reasonFor(message)).toBe('refused')
  })
})

describe('expressions', () => {
  const condition = (...guard: Parameters<typeof when>[0]) =>
    toUpdate({ ...write, parts: [{ prefix: 'a1bc', write: when(guard) }] }).ConditionExpression

  it('contain each comparison', () => {
    expect(condition(exactly('a', 5), between('b', 1, 9), sizeAtMost('l', 3))).toBe(
      'r3 <> :0 AND a1bca=:1 AND a1bcb>=:2 AND a1bcb<=:3 AND (attribute_not_exists(a1bcl) OR size(a1bcl)<=:4)',
    )
  })

  it('use one value for equal numbers', () => {
    const { ExpressionAttributeValues } = toUpdate({
      ...write,
      parts: [{ prefix: 'a1bc', write: when([exactly('a', 42)], set('b', 42), append('l', [42])) }],
    })
    expect(Object.values(ExpressionAttributeValues)).toEqual([{ N: '42' }, { L: [] }, { L: [{ N: '42' }] }])
  })

  it('keep the first alternatives if there are too many for one expression', () => {
    const anyOf = Array.from({ length: 9 }, (_, i) => [absentOrAtMost('c', 100 - i)])
    const parts = Array.from({ length: 30 }, (_, i) => ({
      prefix: prefixOf(`p${i}`, 'x'),
      write: when([{ anyOf }], add('c', 1)),
    }))
    expect(toUpdate({ ...write, parts: parts.slice(0, 1) }).ConditionExpression.match(/ OR /g)).toHaveLength(8)
    expect(() => toUpdate({ ...write, parts })).toThrow(/too large/)
    const { ConditionExpression } = toUpdate(fitted({ ...write, parts }))
    expect(ConditionExpression.match(/NOT \w{5}>:1(?!\w)/g)).toHaveLength(30)
    expect(ConditionExpression.match(/ OR /g)).toHaveLength(60)
  })
})

describe('attribute prefixes', () => {
  it('differ by name, state schema and scope, and are the same in every release', () => {
    expect(prefixOf('per-minute', 'sliding-window 60000')).toBe('L5AZ')
    expect(
      new Set([
        prefixOf('a', 'b'),
        prefixOf('b', 'b'),
        prefixOf('a', 'c'),
        prefixOf('a', 'b', 'x'),
        prefixOf('a', 'bx'),
      ]).size,
    ).toBe(5)
  })

  it('are valid DynamoDB attribute names without aliases', () => {
    for (let i = 0; i < 2000; i++) expect(prefixOf(`p${i}`, 'f')).toMatch(/^[A-Za-z][0-9][A-Za-z0-9]{2}$/)
  })
})
