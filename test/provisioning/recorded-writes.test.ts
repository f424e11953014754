import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { tierKey } from '../../lambda/config-table/items/config-keys'
import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import { AuditTrail } from '../../provisioning/audit-trail'
import { documentsOf, readPartition } from '../../provisioning/documents'
import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import { tryRecorded, writeRecorded } from '../../provisioning/recorded-writes'
import { createConfigTable } from '../../tiered/create-config-table'
import { ENGINES, openEngine } from '../stores'

const TABLE = 'config'
const about = { change: 'c', by: 'alice', how: 'sluice' }
const trail = () => new AuditTrail(async () => about, Date.now)
const tier = (name: string, note: string) => ({ ...tierKey(name), policies: [], note })
const write = (name: string, note: string, before?: string): GuardedWrite => ({
  key: tierKey(name),
  ...(before !== undefined && { before: tier(name, before) }),
  after: tier(name, note),
})

describe.each(ENGINES)('a write with its record on %s', (name) => {
  let opened: Awaited<ReturnType<typeof openEngine>>
  let documents: ReturnType<typeof documentsOf>
  beforeEach(async () => {
    opened = await openEngine(name)
    documents = documentsOf(opened.client)
    await createConfigTable(opened.client, TABLE)
  })
  afterEach(() => opened.close())

  const records = async () => (await readPartition(documents, TABLE, AUDIT_PARTITION)).length
  const notes = async () => (await readPartition(documents, TABLE, 'policy-set')).map(({ item }) => item.note)

  it('is done with it, and not at all where somebody edited the item meanwhile', async () => {
    expect(await writeRecorded(documents, TABLE, [write('a', '1')], trail())).toBe(true)
    expect([await notes(), await records()]).toEqual([['1'], 1])
    await documents.send(new PutCommand({ TableName: TABLE, Item: tier('a', 'theirs') }))
    const late = write('a', '2', '1')
    await expect(writeRecorded(documents, TABLE, [late], trail())).rejects.toThrow(WriteConflictError)
    expect(await tryRecorded(documents, TABLE, late, trail())).toBe(false)
    expect([await notes(), await records()]).toEqual([['theirs'], 1])
  })

  it('of several items is one record, or nothing', async () => {
    const both = [write('a', '1'), write('b', '1')]
    if (name === 'dynalite') return expect(await writeRecorded(documents, TABLE, both, trail())).toBe(false)
    await documents.send(new PutCommand({ TableName: TABLE, Item: tier('b', 'theirs') }))
    await expect(writeRecorded(documents, TABLE, both, trail())).rejects.toThrow(WriteConflictError)
    expect([await notes(), await records()]).toEqual([['theirs'], 0])
    expect(await writeRecorded(documents, TABLE, [both[0]!, write('b', '1', 'theirs')], trail())).toBe(true)
    expect([await notes(), await records()]).toEqual([['1', '1'], 1])
  })

  it('that two make at once succeeds for both, and is recorded once', async () => {
    const twice = [0, 1].map(() => writeRecorded(documents, TABLE, [write('a', '1')], trail()))
    expect(await Promise.all(twice)).toEqual([true, true])
    expect(await notes()).toEqual(['1'])
    if (name !== 'dynalite') expect(await records()).toBe(1)
  })
})

it('a transaction whose answer was lost is sent again with its token, by which DynamoDB does it once', async () => {
  const tokens: unknown[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => {
      tokens.push(JSON.parse(text).ClientRequestToken)
      if (tokens.length === 1) request.socket.destroy()
      else response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new DynamoDBClient({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'x', secretAccessKey: 'x' },
  })
  try {
    expect(await writeRecorded(documentsOf(client), TABLE, [write('a', '1')], trail())).toBe(true)
    expect(tokens).toEqual([expect.stringMatching(/^.{16,36}$/), tokens[0]])
  } finally {
    client.destroy()
    server.closeAllConnections()
    server.close()
  }
})
