import { join } from 'node:path'
import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { readTiersFile } from '../../cli/tiers/tiers-yaml'
import { ringKey } from '../../lambda/config-table/items/config-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { connect, TABLES } from '../../local/dynamodb'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { keysOf, replaceTiers, seed } from '../../local/seed'
import { documentsOf, readPartition } from '../../provisioning/documents'
import type { TiersFile } from '../../provisioning/tiers-file'

const TIERS = readTiersFile(join(__dirname, '..', '..', 'tiers.yaml'))

describe('npm start on a DynamoDB that it was started on before', () => {
  let engine: Engine
  let client: ReturnType<typeof connect>
  beforeEach(async () => {
    engine = await startEngine({ engine: 'dynalite' })
    client = connect(engine.endpoint)
  })
  afterEach(async () => {
    client?.destroy()
    await engine?.stop()
  })
  const put = (Item: Record<string, unknown>) =>
    documentsOf(client).send(new PutCommand({ TableName: TABLES.config, Item }))
  const itemsOf = async (pk: string) =>
    (await readPartition(documentsOf(client), TABLES.config, pk)).map(({ item }) => item)

  it('keeps edited tiers and clients, and reports which tiers', async () => {
    expect(await seed(client, TABLES, TIERS)).toEqual([])
    const free = { pk: 'policy-set', sk: 'tier#free', policies: [{ name: 'per-minute', limit: 7, window: '1m' }] }
    const [{ apiKey } = { apiKey: '' }] = keysOf(TIERS)
    const demo = { pk: `client#${hashApiKey(apiKey)}`, sk: 'client', id: 'demo-free', tier: 'pro', notes: 'mine' }
    await put(free)
    await put(demo)
    expect(await seed(client, TABLES, TIERS)).toEqual(['tier#free'])
    expect((await itemsOf('policy-set')).find(({ sk }) => sk === 'tier#free')).toEqual(free)
    expect(await itemsOf(demo.pk)).toEqual([demo])
  })

  it('removes what is deleted from the file that is saved, and no tier that somebody else made', async () => {
    const tier = (limit: number) => ({ policies: [{ name: 'per-minute', limit, window: '1m' }] })
    const [first, second] = [
      { tiers: { anonymous: tier(1), 'free @shop': { ...tier(2), apis: ['shop'] }, pro: tier(3) } },
      { tiers: { anonymous: tier(1), 'free @shop': { ...tier(4), apis: ['shop'] } } },
    ] as TiersFile[]
    const names = async () => (await itemsOf('policy-set')).map(({ sk }) => sk).sort()
    const samples = async () => {
      const found = await Promise.all(keysOf(first!).map(({ apiKey }) => itemsOf(`client#${hashApiKey(apiKey)}`)))
      return found.flat().map(({ id, tier }) => [id, tier])
    }
    await seed(client, TABLES, first!)
    await put({ pk: 'policy-set', sk: 'tier#partner', ...tier(9) })
    expect(await samples()).toEqual([
      ['demo-free', 'free'],
      ['demo-pro', 'pro'],
    ])
    expect(await replaceTiers(client, TABLES, second!, first!)).toEqual({
      removed: ['tier#pro'],
      kept: ['tier#partner'],
    })
    expect(await names()).toEqual(['tier#anonymous', 'tier#free @shop', 'tier#partner'])
    expect(await samples()).toEqual([['demo-free', 'free']])
    expect(await replaceTiers(client, TABLES, second!, second!)).toEqual({ removed: [], kept: ['tier#partner'] })
  })

  it('keeps the secret, and makes none for counters that have none', async () => {
    await seed(client, TABLES, TIERS)
    const [secret] = await itemsOf('hmac-key')
    expect(secret).toBeDefined()
    await seed(client, TABLES, TIERS)
    expect(await itemsOf('hmac-key')).toEqual([secret])
    await documentsOf(client).send(new DeleteCommand({ TableName: TABLES.config, Key: ringKey(HMAC_RING) }))
    await seed(client, TABLES, TIERS)
    expect(await itemsOf('hmac-key')).toEqual([])
  })
})
