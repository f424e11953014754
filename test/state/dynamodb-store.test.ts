import { DeleteItemCommand, DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { mockClient } from 'aws-sdk-client-mock'
import { absentOrAtMost, add, append, between, exactly, remove, set, sizeAtMost, when } from '../../lambda/algorithms/conditional-write'
import { ConfigError } from '../../lambda/errors'
import { codeOf } from '../../lambda/state/codes'
import { DynamoDbStore } from '../../lambda/state/dynamodb-store'
import { toUpdate } from '../../lambda/state/expressions'

const client = new DynamoDBClient({ region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })
const dynamodb = mockClient(client)
const store = new DynamoDbStore({ client, tableName: 'state' })
const write = {
  parts: [{ code: 'a1bc', write: when([absentOrAtMost('w', 7)], set('w', 7), add('zz', 1), remove('zy')) }],
  id: { mark: 'r3', value: 42 },
  at: 0,
}

beforeEach(() => dynamodb.reset())

describe('the DynamoDB store', () => {
  it('says all of a write in one UpdateItem that returns the old item, applied or not', async () => {
    dynamodb
      .on(UpdateItemCommand)
      .resolves({ Attributes: { pk: { S: 'k' }, a1bcw: { N: '6' }, a1bcl: { L: [{ N: '1' }] }, exp: { N: '99' }, r5: { N: '3' } } })
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

  it('takes a refusal without an item as no item, once the engine has shown that it returns them', async () => {
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

  it('reads the item after a refusal where the engine may be one that leaves it out', async () => {
    const fresh = new DynamoDbStore({ client, tableName: 'state' })
    dynamodb.on(UpdateItemCommand).rejects(Object.assign(new Error('no'), { name: 'ConditionalCheckFailedException' }))
    dynamodb.on(GetItemCommand).resolves({ Item: { pk: { S: 'k' }, a1bcw: { N: '9' }, r3: { N: '42' } } })
    expect(await fresh.write('k', write)).toMatchObject({ kind: 'repeated', item: { policies: { a1bc: { w: 9 } } } })
    expect(dynamodb.commandCalls(GetItemCommand, { ConsistentRead: true })).toHaveLength(1)
  })

  it('deletes the item of a subject', async () => {
    dynamodb.on(DeleteItemCommand).resolves({})
    await store.delete('k')
    expect(dynamodb.call(0).args[0].input).toEqual({ TableName: 'state', Key: { pk: { S: 'k' } } })
  })

  it('hands the signal on to every call', async () => {
    dynamodb.onAnyCommand().resolves({})
    const { signal } = new AbortController()
    await store.write('k', write, { signal })
    await store.read('k', { signal })
    await store.delete('k', { signal })
    expect(dynamodb.calls().map(({ args }) => (args as unknown[])[1])).toEqual(Array(3).fill({ abortSignal: signal }))
  })

  it('refuses to be made without a client and a table, naming both', () => {
    expect(() => new DynamoDbStore({ client: {} as never, tableName: '' })).toThrow(ConfigError)
    expect(() => new DynamoDbStore({ client: {} as never, tableName: '' })).toThrow(
      /client must be a DynamoDBClient, got an object[\s\S]*tableName must be the name of a table, got ""/,
    )
  })
})

describe('expressions', () => {
  const condition = (...guard: Parameters<typeof when>[0]) =>
    toUpdate({ ...write, parts: [{ code: 'a1bc', write: when(guard) }] }).ConditionExpression

  it('say each comparison', () => {
    expect(condition(exactly('a', 5), between('b', 1, 9), sizeAtMost('l', 3))).toBe(
      'r3 <> :0 AND a1bca=:1 AND a1bcb>=:2 AND a1bcb<=:3 AND (attribute_not_exists(a1bcl) OR size(a1bcl)<=:4)',
    )
  })

  it('use one value for one number', () => {
    const { ExpressionAttributeValues } = toUpdate({
      ...write,
      parts: [{ code: 'a1bc', write: when([exactly('a', 42)], set('b', 42), append('l', [42])) }],
    })
    expect(Object.values(ExpressionAttributeValues)).toEqual([{ N: '42' }, { L: [] }, { L: [{ N: '42' }] }])
  })

  it('keep the first alternatives when there are too many for one expression', () => {
    const anyOf = Array.from({ length: 9 }, (_, i) => [absentOrAtMost('c', 100 - i)])
    const parts = Array.from({ length: 30 }, (_, i) => ({ code: codeOf(`p${i}`, 'x'), write: when([{ anyOf }], add('c', 1)) }))
    expect(toUpdate({ ...write, parts: parts.slice(0, 1) }).ConditionExpression.match(/ OR /g)).toHaveLength(8)
    const { ConditionExpression } = toUpdate({ ...write, parts })
    expect(ConditionExpression).not.toContain(' OR ')
    expect(ConditionExpression.match(/NOT \w{5}>:1(?!\d)/g)).toHaveLength(30)
  })
})

describe('codes', () => {
  it('differ by name, form and scope, and stay the same from release to release', () => {
    expect(codeOf('per-minute', 'sliding-window 60000')).toBe('L5AZ')
    expect(new Set([codeOf('a', 'b'), codeOf('b', 'b'), codeOf('a', 'c'), codeOf('a', 'b', 'x'), codeOf('a', 'bx')]).size).toBe(5)
  })

  it('are names that DynamoDB takes as they are', () => {
    for (let i = 0; i < 2000; i++) expect(codeOf(`p${i}`, 'f')).toMatch(/^[A-Za-z][0-9][A-Za-z0-9]{2}$/)
  })
})
