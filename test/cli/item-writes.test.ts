import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { toAttributes } from '../../cli/config-table'
import {
  type Attributes,
  ChangedMeanwhile,
  fitOneTransaction,
  type ItemWrite,
  writeAlone,
  writeTogether,
} from '../../cli/item-writes'
import { LOCAL_TABLES } from '../../cli/local-engine'
import { ENGINES } from '../stores'
import { type Deployment, deploy } from './command-line'

const TABLE = LOCAL_TABLES.config

const key = { pk: 'policy-set', sk: 'tier#a' }
const item = (fields: Record<string, unknown> = {}): Attributes => toAttributes({ ...key, ...fields })
const policies = [
  { name: 'a', limit: 1, window: '1m', by: ['client', 'route'] },
  { name: 'b', limit: 2, window: '1d', countDenied: true },
]

describe.each(ENGINES)('a write on %s', (engine) => {
  let at: Deployment
  beforeAll(async () => {
    at = await deploy(engine)
  })
  afterAll(async () => at?.close())

  const stored = async () =>
    (await at.client.send(new GetItemCommand({ TableName: TABLE, Key: toAttributes(key), ConsistentRead: true }))).Item
  const write = (one: Omit<ItemWrite, 'key'>) => writeAlone(at.client, TABLE, { key, ...one })

  beforeEach(() => at.put({ ...key, policies }))

  it('is done where the item is what it was, with lists and maps in it', async () => {
    await write({ before: item({ policies }), after: item({ policies: [] }) })
    expect(await stored()).toEqual(item({ policies: [] }))
    await write({ before: item({ policies: [] }) })
    expect(await stored()).toBeUndefined()
    await write({ after: item({ cost: 1 }) })
    expect(await stored()).toEqual(item({ cost: 1 }))
  })

  it.each([
    ['another value', { before: item({ policies: [{ ...policies[0], limit: 9 }, policies[1]] }), after: item() }],
    ['an entry less', { before: item({ policies: [policies[0]] }), after: item() }],
    ['a field that is not there', { before: item({ policies, by: 'ip' }), after: item() }],
    ['a field that was not there', { before: item(), after: item({ cost: 1 }) }],
    ['an item that is there', { after: item({ cost: 1 }) }],
    ['what shall go and was another', { before: item({ cost: 1 }) }],
  ])('is refused for %s, and nothing is written', async (_, one) => {
    await expect(write(one)).rejects.toThrow(new ChangedMeanwhile([key]))
    expect(await stored()).toEqual(item({ policies }))
  })

  it.each([
    'basePaths',
    'preflight',
    'failedCredentials',
    'localShare',
    'onStoreError',
    'by',
    'note',
    'overrides',
    'expiresAt',
  ])('is refused where somebody has set %s meanwhile', async (field) => {
    await at.put({ ...key, policies, [field]: 'theirs' })
    await expect(write({ before: item({ policies }), after: item({ policies, cost: 1 }) })).rejects.toThrow(
      ChangedMeanwhile,
    )
  })

  it('that was done already, because an answer was lost, is done', async () => {
    await write({ before: item({ cost: 7 }), after: item({ policies }) })
    const gone = { key: { pk: 'policy-set', sk: 'tier#gone' }, before: item({ cost: 7 }) }
    await writeAlone(at.client, TABLE, gone)
    expect(await stored()).toEqual(item({ policies }))
  })

  it('of several is all or nothing, where the engine can', async () => {
    const other = { pk: 'policy-set', sk: 'tier#b' }
    const good: ItemWrite = { key: other, after: toAttributes({ ...other, cost: 1 }) }
    if (engine === 'dynalite') return expect(await writeTogether(at.client, TABLE, [good])).toBe(false)
    const stale: ItemWrite = { key, before: item({ cost: 1 }), after: item() }
    await expect(writeTogether(at.client, TABLE, [good, stale])).rejects.toThrow(new ChangedMeanwhile([key]))
    expect((await at.json(['tiers', 'list'])).map(({ sk }: { sk: string }) => sk)).toEqual(['tier#a'])
    expect(await writeTogether(at.client, TABLE, [good, { ...stale, before: item({ policies }) }])).toBe(true)
    expect(await stored()).toEqual(item())
    return undefined
  })
})

describe('one transaction', () => {
  const many = (count: number, size = 0): ItemWrite[] =>
    Array.from({ length: count }, () => ({ key, after: item({ note: 'x'.repeat(size) }) }))
  it('takes a hundred items, and some megabytes', () => {
    expect([fitOneTransaction(many(100)), fitOneTransaction(many(101))]).toEqual([true, false])
    expect([fitOneTransaction(many(10, 300_000)), fitOneTransaction(many(12, 300_000))]).toEqual([true, false])
  })
})
