import { GetItemCommand, PutItemCommand, ScanCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { createLimiter } from '../../limiter'
import { asNumber, poolKeyOf } from '../../limiter/consistency/pools'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { subjectKey } from '../../limiter/subject-key'
import { compiled } from '../limiter/policies'
import { type Deployment, deploy, TIERS } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }
const TableName = LOCAL_TABLES.state
const KEY = subjectKey('client:busy')
const POOLS = [3, 0, 63].map((place) => poolKeyOf(KEY, 'p1aa', place))

let at: Deployment
beforeEach(async () => {
  at = await deploy()
  await at.put(...TIERS)
  await at.json(['clients', 'create', 'busy', '--tier', 'free'])
  const policy = { name: 'per-minute', limit: 60, window: '1m' } as const
  const store = new DynamoDbStore({ client: at.client, tableName: TableName })
  await createLimiter({ store, clock: () => NOW, policies: [policy] }).take('client:busy', { cost: 40 })
  await at.client.send(
    new UpdateItemCommand({
      TableName,
      Key: { pk: { S: KEY } },
      UpdateExpression: 'SET p0__s = :count, p0__p1aa = :policies',
      ExpressionAttributeValues: {
        ':count': { N: '4' },
        ':policies': { L: compiled(policy).map((one) => ({ N: String(asNumber(one)) })) },
      },
    }),
  )
  for (const [i, pk] of POOLS.entries()) {
    const ends = i === 2 ? NOW : NOW + 30_000 // the last one's units have ended
    const units = { p0__l: { N: '5' }, p0__g: { N: '2' }, p0__e: { N: String(ends) } }
    await at.client.send(new PutItemCommand({ TableName, Item: { pk: { S: pk }, r0: { N: '1' }, ...units } }))
  }
})
afterEach(async () => at?.close())

const usedOf = ({ policies }: { readonly policies: readonly { readonly policy: string; readonly used: number }[] }) =>
  Object.fromEntries(policies.map(({ policy, used }) => [policy, used]))

test('usage and the list of clients count what lies in pools as not used, of the policies whose units it is', async () => {
  expect(usedOf(await at.json(['usage', 'busy'], now))).toEqual({ 'per-minute': 30, 'per-day': 0 })
  const [nearest] = await at.json(['clients', 'list', '--usage'], now)
  expect(nearest).toMatchObject({ id: 'busy', nearest: { policy: 'per-minute', used: 30, remaining: 30 } })
})

test('reset empties pools, too', async () => {
  await at.json(['reset', 'busy'], now)
  for (const pk of POOLS)
    expect(await at.client.send(new GetItemCommand({ TableName, Key: { pk: { S: pk } } }))).not.toHaveProperty('Item')
  expect(usedOf(await at.json(['usage', 'busy'], now))).toEqual({ 'per-minute': 0, 'per-day': 0 })
})

test('forget erases pools, too', async () => {
  await at.json(['forget', 'busy', '--yes'], now)
  expect((await at.client.send(new ScanCommand({ TableName }))).Items).toEqual([])
})
