import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CountingProxy } from '../../local/console/counting-proxy'

/** An engine that remembers what it was asked, and refuses what it is told to. */
async function engine() {
  const applied: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (body.includes('refuse')) return void response.writeHead(400).end('no')
    applied.push(String(request.headers['x-amz-target']))
    response.writeHead(200).end('yes')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { applied, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('the counting proxy', () => {
  let behind: Awaited<ReturnType<typeof engine>>
  let proxy: CountingProxy
  let url: string

  beforeEach(async () => {
    behind = await engine()
    proxy = new CountingProxy(behind.url)
    url = await proxy.listen()
  })

  afterEach(async () => {
    await proxy.close()
    behind.server.closeAllConnections()
    await new Promise((resolve) => behind.server.close(resolve))
  })

  const call = async (operation: string, body: string): Promise<string> => {
    const headers = { 'x-amz-target': `DynamoDB_20120810.${operation}` }
    return (await fetch(url, { method: 'POST', headers, body })).text()
  }

  it('counts calls by table, and starts again at 0 after each report', async () => {
    expect(await call('UpdateItem', '{"TableName":"state","Key":{}}')).toBe('yes')
    await call('GetItem', '{"Key":{},"TableName": "state"}')
    await call('BatchGetItem', '{"RequestItems":{"config":{"Keys":[]}}}')
    await call('ListTables', '{}')
    expect(proxy.take()).toEqual({ total: 4, tables: { state: 2, config: 1, '': 1 } })
    expect(proxy.take()).toEqual({ total: 0, tables: {} })
  })

  it('loses the answer to one write that was applied, not to a refused one nor to a read', async () => {
    proxy.trouble = 'lose'
    expect(await call('GetItem', '{"TableName":"state"}')).toBe('yes')
    expect(await call('UpdateItem', '{"TableName":"state","ConditionExpression":"refuse"}')).toBe('no')
    await expect(call('UpdateItem', '{"TableName":"state"}')).rejects.toThrow('fetch failed')
    expect(behind.applied.filter((target) => target.endsWith('UpdateItem'))).toHaveLength(1)
    expect(await call('UpdateItem', '{"TableName":"state"}')).toBe('yes')
  })

  it('lets nothing through while it is down, and counts what tried', async () => {
    proxy.trouble = 'down'
    await expect(call('UpdateItem', '{"TableName":"state"}')).rejects.toThrow('fetch failed')
    expect(behind.applied).toEqual([])
    expect(proxy.take().total).toBe(1)
  })
})
