import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { BatchWriteItemCommand, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { connect, TABLES } from '../../local/dynamodb'
import { itemsOf, type PolicySetItem, type TiersFile } from '../../provisioning/tiers-file'
import { onlyInProcess } from '../evasion/attack'
import { ATTACKS } from '../evasion/attacks'
import { holdEvents } from '../evasion/event-law'
import { addressOf, BLOCK, sentAs } from '../evasion/events-of'
import { ROUTERS } from '../evasion/routers'
import { RULES } from '../evasion/rules'
import { APIS, holdSpellings } from '../evasion/spelling-law'

const POLICY_SET = 'policy-set'

interface Answer {
  readonly status: number
  readonly limit: string | string[] | undefined
}

/** An attack that can be made by HTTP: by rules and a route that are there, on an API of this kind. */
const attacksOn = (api: string) =>
  ATTACKS.map((attack, place) => ({ attack, place, title: attack.tried })).filter(
    ({ attack }) => (attack.api ?? 'rest') === api && onlyInProcess(attack) === undefined,
  )

describe.each(['rest', 'http'] as const)('npm start, a %s API under attack', (api) => {
  let npm: ChildProcess
  let said = ''
  let url: URL

  beforeAll(async () => {
    const command = ['start', '--', '--api', api, '--instances', '1', '--port', '0']
    npm = spawn('npm', command, { cwd: join(__dirname, '..', '..'), detached: true })
    await new Promise<void>((resolve, reject) => {
      const listen = (chunk: Buffer) => {
        said += chunk
        if (said.includes('Ctrl-C')) resolve()
      }
      npm.stdout!.on('data', listen)
      npm.stderr!.on('data', listen)
      npm.once('exit', (code) => reject(new Error(`npm start ended with ${code}\n${said}`)))
    })
    url = new URL(/^Sluice is listening on (\S+)$/m.exec(said)![1]!)
    const client = connect(/http:\/\/127\.0\.0\.1:\d+/.exec(said)![0])
    await replacePolicySet(client, [
      ...itemsOf(RULES as unknown as TiersFile),
      { pk: POLICY_SET, sk: `block#${BLOCK}` },
    ])
    client.destroy()
    await inForce()
  }, 150_000)
  afterAll(async () => {
    if (npm.exitCode !== null) return
    const exited = once(npm, 'exit')
    process.kill(-npm.pid!, 'SIGTERM')
    await exited
  })

  /** The instance reads its rules anew once they are half a minute old, with the request that comes then. */
  async function inForce(): Promise<void> {
    for (let n = 1; n < 30; n++) {
      const { limit } = await send('GET', '/anything', `203.0.113.${n}`)
      if (limit === '10') return
      await new Promise((resolve) => setTimeout(resolve, 3500)) // fewer in a minute than the rules before allow
    }
    throw new Error('the rules of the attacks are not in force')
  }

  function send(
    method: string,
    path: string,
    address: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request({
        host: url.hostname,
        port: url.port,
        method,
        path,
        headers: { ...headers, 'X-Forwarded-For': address },
      })
      sent.on('response', (response) => {
        const limit = response.headers['x-ratelimit-limit']
        response.resume().on('end', () => resolve({ status: response.statusCode!, limit }))
      })
      sent.on('error', reject).end()
    })
  }

  it.each(attacksOn(api).map((one) => [one.title, one] as const))('%s', async (_, { attack, place }) => {
    const { times = 30, passes } = attack
    const statuses: number[] = []
    for (let n = 0; n < times; n++) {
      const { method = 'GET', path, headers } = sentAs(attack, n)
      const { status } = await send(method, path, headers?.['X-Forwarded-For'] ?? addressOf(attack, place), headers)
      statuses.push(status)
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(passes)
    const denied = statuses.filter((status) => status !== 200)
    for (const status of denied) expect(api === 'rest' ? [401, 429] : [403]).toContain(status)
  })
})

async function replacePolicySet(client: DynamoDBClient, items: readonly PolicySetItem[]): Promise<void> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: TABLES.config,
      KeyConditionExpression: 'pk = :set',
      ExpressionAttributeValues: { ':set': { S: POLICY_SET } },
    }),
  )
  const wanted = new Set(items.map(({ sk }) => sk))
  const requests = [
    ...Items.filter(({ sk }) => !wanted.has(sk!.S!)).map(({ pk, sk }) => ({
      DeleteRequest: { Key: { pk: pk!, sk: sk! } },
    })),
    ...items.map((item) => ({ PutRequest: { Item: marshall(item, { removeUndefinedValues: true }) } })),
  ]
  await client.send(new BatchWriteItemCommand({ RequestItems: { [TABLES.config]: requests } }))
}

describe.each(APIS)('no spelling of a path is cheaper than the one that the backend serves, behind %s:', (api) => {
  it.each(Object.keys(ROUTERS))('%s', (router) => holdSpellings(api, router, 4000))
})

test(
  '100,000 events from somebody who has used up his limits: no pass, no error, no key without bound',
  () => holdEvents(100_000),
  600_000,
)
