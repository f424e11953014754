import { type BatchGetItemCommand, type BatchGetItemCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { batchStates } from '../../cli/callers/batch-states'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { hashApiKey } from '../../lambda/identity/api-key'
import { createLimiter } from '../../limiter'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { ENGINES } from '../stores'
import { type Deployment, deploy, TIERS } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }

let at: Deployment
beforeAll(async () => {
  at = await deploy(ENGINES[0]!)
  await at.put(
    ...TIERS,
    {
      pk: 'policy-set',
      sk: 'tier#shop',
      apis: ['abcdefgh01/prod'],
      policies: [{ name: 'shop', limit: 4, window: '1m' }],
    },
    { pk: 'policy-set', sk: 'block#client#c4' },
    ...Array.from({ length: 130 }, (_, i) => client(`c${i}`, i % 2 === 0 ? 'free' : 'pro')),
    client('twice', 'pro', 'first'),
    client('twice', 'pro', 'second'),
    client('shopper', 'shop'),
    { pk: 'client#user:1', sk: 'client', id: 'invalid' },
  )
  const store = new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state })
  const used = {
    c3: ['per-minute', 600, 300],
    c4: ['per-minute', 60, 45],
    c5: ['per-minute', 600, 30],
    twice: ['per-minute', 600, 600],
  }
  for (const [id, [name, limit, cost]] of Object.entries(used) as [string, [string, number, number]][])
    await createLimiter({ store, clock: () => NOW, policies: [{ name, limit, window: '1m' }] }).take(`client:${id}`, {
      cost,
    })
})
afterAll(async () => at?.close())

const client = (id: string, tier: string, key = id) => ({ pk: `client#${hashApiKey(key)}`, sk: 'client', id, tier })
const list = (...more: string[]) => at.json(['clients', 'list', '--usage', ...more], now)

test('clients come the nearest to a limit first, each with what usage says of it', async () => {
  const clients = await list('--limit', '5')
  expect(clients.map(({ id, nearness, reason }: Record<string, unknown>) => [id, nearness, reason])).toEqual([
    ['twice', 1, null],
    ['c4', 0.75, 'blocked'],
    ['c3', 0.5, null],
    ['c5', 0.05, null],
    ['c0', 0, null],
  ])
  for (const { id, nearest } of clients) {
    const { policies } = await at.json(['usage', id], now)
    expect(policies).toContainEqual(nearest)
  }
})

test('they are shown as a table, and those that are left out are counted', async () => {
  const { code, out, err } = await at.sluice(['clients', 'list', '--usage', '--limit', '2', '--tier', 'pro'], now)
  expect([code, out.split('\n').map((line) => line.split(' ')[0])]).toEqual([0, ['id', 'twice', 'c3', '']])
  expect(err).toBe('64 other clients are further from their limits: --limit shows more\n')
})

test('clients of a tier for some APIs are looked at there', async () => {
  const nowhere = await at.sluice(['clients', 'list', '--usage', '--tier', 'shop'], now)
  expect(nowhere.err).toContain(
    '1 of 1 clients are counted by no policy, for requests to no API in particular: --api names one\n',
  )
  expect(await list('--tier', 'shop', '--api', 'abcdefgh01/prod')).toMatchObject([
    { id: 'shopper', nearest: { limit: 4 } },
  ])
})

test('state is read a hundred clients in a call', async () => {
  const sent = jest.spyOn(DynamoDBClient.prototype, 'send')
  await list()
  const inputs = sent.mock.calls.map(([command]) => command.input as { readonly RequestItems?: object })
  const calls = sent.mock.calls.map(([command]) => command.constructor.name)
  sent.mockRestore()
  const ofState = inputs.filter(({ RequestItems }) => RequestItems && LOCAL_TABLES.state in RequestItems)
  expect(ofState).toHaveLength(2)
  expect(calls.filter((name) => name === 'GetItemCommand').length).toBeLessThan(3)
})

test('what DynamoDB leaves out of an answer is asked for again, and an end comes of it', async () => {
  const asked: number[] = []
  const half = {
    send: async ({ input }: BatchGetItemCommand) => {
      const { Keys = [] } = (input as BatchGetItemCommandInput).RequestItems!.t!
      asked.push(Keys.length)
      const [done, left] = [Keys.slice(0, Math.ceil(Keys.length / 2)), Keys.slice(Math.ceil(Keys.length / 2))]
      return { Responses: { t: done }, UnprocessedKeys: left.length > 0 ? { t: { Keys: left } } : {} }
    },
  }
  const keys = Array.from({ length: 104 }, (_, i) => `k${i}`)
  const items = await batchStates(half as never, 't', [...keys, 'k1'], async () => {})
  expect([items.size, asked]).toEqual([104, [100, 50, 25, 12, 6, 3, 1, 4, 2, 1]])
  const never = { send: async ({ input }: BatchGetItemCommand) => ({ UnprocessedKeys: input.RequestItems }) }
  await expect(batchStates(never as never, 't', ['k'], async () => {})).rejects.toThrow(
    'table t is too busy: 1 items were not read',
  )
})

test.each(['--limit', '--api'])('%s without --usage is rejected', async (option) =>
  expect(await at.sluice(['clients', 'list', option, '5'])).toEqual({
    code: 1,
    out: '',
    err: `${option} goes with --usage\n`,
  }),
)
