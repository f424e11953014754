import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { connect } from '../../local/dynamodb'
import { documentsOf, type ExactItem, keepExact, readPartition } from '../../provisioning/documents'
import {
  fitOneTransaction,
  type GuardedWrite,
  WriteConflictError,
  writeAlone,
  writeTogether,
} from '../../provisioning/guarded-writes'
import { ITEM_KINDS, type ItemKind } from '../../provisioning/item-kinds'
import { type Deployment, deploy } from '../cli/command-line'
import { ENGINES } from '../stores'

const TABLE = LOCAL_TABLES.config

const key = { pk: 'policy-set', sk: 'tier#a' }
const item = (fields: Record<string, unknown> = {}): ExactItem => ({ ...key, ...fields })
const policies = [
  { name: 'a', limit: 1, window: '1m', by: ['client', 'route'] },
  { name: 'b', limit: 2, window: '1d', countDenied: true },
]

describe.each(ENGINES)('a guarded write on %s', (engine) => {
  let at: Deployment
  let documents: DynamoDBDocumentClient
  beforeAll(async () => {
    at = await deploy(engine)
    documents = documentsOf(connect(at.endpoint))
  })
  afterAll(async () => at?.close())

  const stored = async () => (await readPartition(documents, TABLE, key.pk)).find((one) => one.item.sk === key.sk)?.item
  const write = (one: Omit<GuardedWrite, 'key'>) => writeAlone(documents, TABLE, { key, ...one })

  beforeEach(() => at.put({ ...key, policies }))

  it('is done while the item is what it was, lists and maps included', async () => {
    await write({ before: item({ policies }), after: item({ policies: [] }) })
    expect(await stored()).toEqual(item({ policies: [] }))
    await write({ before: item({ policies: [] }) })
    expect(await stored()).toBeUndefined()
    await write({ after: item({ cost: 1 }) })
    expect(await stored()).toEqual(item({ cost: 1 }))
  })

  it.each([
    ['another value', { before: item({ policies: [{ ...policies[0], limit: 9 }, policies[1]] }), after: item() }],
    ['a list with one entry less', { before: item({ policies: [policies[0]] }), after: item() }],
    ['a field that the item does not have', { before: item({ policies, by: 'ip' }), after: item() }],
    ['a field that the item did not have', { before: item(), after: item({ cost: 1 }) }],
    ['an item that should be new and exists', { after: item({ cost: 1 }) }],
    ['an item that should be deleted and was another', { before: item({ cost: 1 }) }],
  ])('conflicts with %s, and nothing is written', async (_, one) => {
    await expect(write(one)).rejects.toThrow(new WriteConflictError([key]))
    expect(await stored()).toEqual(item({ policies }))
  })

  it('conflicts when somebody has set any field of any kind of item meanwhile, under either of its names', async () => {
    const fields = Object.values<ItemKind>(ITEM_KINDS).flatMap(({ fields }) =>
      Object.entries(fields).flatMap(([name, { storedAs = name }]) => [name, storedAs]),
    )
    expect(fields).toEqual(expect.arrayContaining(['preflight', 'by', 'expiresAt', 'failureMode', 'onStoreError']))
    const unnoticed: string[] = []
    for (const field of new Set(fields)) {
      await at.put({ ...key, policies, [field]: 'theirs' })
      const change = write({ before: item({ policies }), after: item({ policies, cost: 1 }) })
      const isRefused = await change.then(
        () => false,
        (error) => error instanceof WriteConflictError,
      )
      if (!isRefused) unnoticed.push(field)
    }
    expect(unnoticed).toEqual([])
  })

  it('counts as done when the item already is as wanted, as after a lost answer', async () => {
    await write({ before: item({ cost: 7 }), after: item({ policies }) })
    const gone = { key: { pk: 'policy-set', sk: 'tier#gone' }, before: item({ cost: 7 }) }
    await writeAlone(documents, TABLE, gone)
    expect(await stored()).toEqual(item({ policies }))
  })

  it('of several items is all or nothing, where the engine has transactions', async () => {
    const other = { pk: 'policy-set', sk: 'tier#b' }
    const good: GuardedWrite = { key: other, after: { ...other, cost: 1 } }
    if (engine === 'dynalite') return expect(await writeTogether(documents, TABLE, [good])).toBe(false)
    const stale: GuardedWrite = { key, before: item({ cost: 1 }), after: item() }
    await expect(writeTogether(documents, TABLE, [good, stale])).rejects.toThrow(new WriteConflictError([key]))
    expect((await at.json(['tiers', 'list'])).map(({ sk }: { sk: string }) => sk)).toEqual(['tier#a'])
    expect(await writeTogether(documents, TABLE, [good, { ...stale, before: item({ policies }) }])).toBe(true)
    expect(await stored()).toEqual(item())
    return undefined
  })
})

describe.each(ENGINES)('an item with values that no double holds, on %s', (engine) => {
  let at: Deployment
  let documents: DynamoDBDocumentClient
  /** As somebody with a console or another program may have written it. */
  const odd = {
    pk: { S: key.pk },
    sk: { S: key.sk },
    disabled: { BOOL: false },
    big: { N: '12345678901234567890123456789012345678' },
    small: { N: '0.12345678901234567890123456789012345678' },
    numbers: { NS: ['9007199254740993', '1.5'] },
    words: { SS: ['a', 'b'] },
    bytes: { B: new Uint8Array([0, 255, 1]) },
    manyBytes: { BS: [new Uint8Array([1]), new Uint8Array([2, 3])] },
    nothing: { NULL: true },
    nested: { M: { list: { L: [{ N: '9007199254740993' }, { S: '' }] }, empty: { M: {} } } },
  } as const
  beforeAll(async () => {
    at = await deploy(engine)
    documents = documentsOf(connect(at.endpoint))
  })
  afterAll(async () => at?.close())
  beforeEach(() => at.client.send(new PutItemCommand({ TableName: TABLE, Item: odd as never })))

  const read = async () => (await readPartition(documents, TABLE, key.pk)).find((one) => one.item.sk === key.sk)!
  /** The item as the engine has it, sets in a fixed order. */
  const raw = async () => {
    const { Item } = await at.client.send(
      new GetItemCommand({ TableName: TABLE, Key: { pk: { S: key.pk }, sk: { S: key.sk } }, ConsistentRead: true }),
    )
    for (const value of Object.values(Item!)) (value.NS ?? value.SS ?? value.BS)?.sort()
    return Item
  }
  const expected = () => ({ ...odd, numbers: { NS: [...odd.numbers.NS].sort() } })

  it('keeps every attribute, digit for digit, when another field is changed', async () => {
    const stored = await read()
    await writeAlone(documents, TABLE, {
      key,
      before: stored.exact,
      after: keepExact(
        { ...stored.item, disabled: true, nested: { ...(stored.item.nested as object), more: 1 } },
        stored,
      ),
    })
    const nested = { M: { ...odd.nested.M, more: { N: '1' } } }
    expect(await raw()).toEqual({ ...expected(), disabled: { BOOL: true }, nested })
  })

  it.each([
    ['the last digit of a number', { big: { N: '12345678901234567890123456789012345679' } }],
    [
      'the last digit of a number in a list',
      { nested: { M: { ...odd.nested.M, list: { L: [{ N: '9007199254740992' }] } } } },
    ],
    ['a member of a set of numbers', { numbers: { NS: ['9007199254740992', '1.5'] } }],
    ['a member of a set of texts', { words: { SS: ['a', 'c'] } }],
    ['a byte', { bytes: { B: new Uint8Array([0, 254, 1]) } }],
    ['the type of a value', { nothing: { BOOL: false } }],
  ])('conflicts when somebody changed %s meanwhile, and keeps that change', async (_, change) => {
    const stored = await read()
    await at.client.send(new PutItemCommand({ TableName: TABLE, Item: { ...odd, ...change } as never }))
    const theirs = await raw()
    const after = keepExact({ ...stored.item, disabled: true }, stored)
    await expect(writeAlone(documents, TABLE, { key, before: stored.exact, after })).rejects.toThrow(WriteConflictError)
    expect(await raw()).toEqual(theirs)
  })
})

describe('one transaction', () => {
  const many = (count: number, size = 0): GuardedWrite[] =>
    Array.from({ length: count }, () => ({ key, after: item({ note: 'x'.repeat(size) }) }))
  it('takes at most 100 items and 3.5 MB', () => {
    expect([fitOneTransaction(many(100)), fitOneTransaction(many(101))]).toEqual([true, false])
    expect([fitOneTransaction(many(10, 300_000)), fitOneTransaction(many(12, 300_000))]).toEqual([true, false])
  })
})
