import { Agent, createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect as connectTo } from 'node:net'
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  GetItemCommand,
  ListTablesCommand,
} from '@aws-sdk/client-dynamodb'
import { CountingProxy } from '../../local/console/counting-proxy'
import { connect } from '../../local/dynamodb'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import { type GuardedEngine, startGuardedEngine } from '../../local/engines/guarded-engine'
import { hiddenAddress } from '../../local/engines/hidden-address'
import { passOn } from '../../local/engines/pass-on'

/** Ports of https://fetch.spec.whatwg.org/#port-blocking that need no privileges. */
const BLOCKED = [1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669].concat(
  [6679, 6697, 10_080],
)

const PUT = 'DynamoDB_20120810.PutItem'
const item = (n: number, bytes = 1) => ({ pk: { S: `${n}` }, text: { S: 'x'.repeat(bytes) } })

/** A call with headers of the test's own: `fetch` allows none for the host. */
function call(endpoint: string, headers: Readonly<Record<string, string>>, body = '{}', method = 'POST') {
  const { hostname: host, port } = new URL(endpoint)
  const all = { Host: `localhost:${port}`, 'Content-Type': 'application/x-amz-json-1.0', ...signed, ...headers }
  return new Promise<{ status: number; said: string; headers: object }>((resolve, reject) => {
    const asked = request({ host, port, method, headers: all }, (answer) => {
      let said = ''
      answer.on('data', (chunk) => {
        said += chunk
      })
      answer.once('error', reject)
      answer.once('end', () => resolve({ status: answer.statusCode!, said, headers: answer.headers }))
    })
    asked.once('error', reject)
    asked.end(body)
  })
}
const signed = {
  Authorization:
    'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
  'X-Amz-Date': '20260101T000000Z',
}

describe.each(['dynalite', ...(dynoxideBinary() ? ['dynoxide' as const] : [])] as const)('%s, guarded', (name) => {
  let engine: GuardedEngine
  let client: ReturnType<typeof connect>
  beforeAll(async () => {
    engine = await startGuardedEngine({ engine: name, allowHosts: ['box.example'] })
    client = connect(engine.endpoint)
    await client.send(
      new CreateTableCommand({
        TableName: 'things',
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      }),
    )
  })
  afterAll(async () => {
    client.destroy()
    await engine.stop()
  })
  const put = (headers: Readonly<Record<string, string>>, pk: string) =>
    call(
      engine.endpoint,
      { 'X-Amz-Target': PUT, ...headers },
      JSON.stringify({ TableName: 'things', Item: { pk: { S: pk } } }),
    )
  const stored = async (pk: string) =>
    (await client.send(new GetItemCommand({ TableName: 'things', Key: { pk: { S: pk } } }))).Item !== undefined

  it('refuses whatever a browser says that a page sent, and other names of this machine', async () => {
    const own = `localhost:${new URL(engine.endpoint).port}`
    const refused: readonly Readonly<Record<string, string>>[] = [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: `http://${own}` },
      { Origin: 'http://localhost:3000' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'none' },
      { Host: 'evil.example' },
      { Host: `evil.example:${new URL(engine.endpoint).port}` },
      { Host: 'localhost:1' },
      { Host: 'box.example', Origin: 'http://box.example' },
    ]
    for (const headers of refused) {
      const { status, said, headers: answered } = await put(headers, 'refused')
      expect([status, JSON.parse(said).__type]).toEqual([403, expect.stringMatching(/#AccessDeniedException$/)])
      expect(Object.keys(answered).join()).not.toMatch(/access-control/)
    }
    const preflight = await call(engine.endpoint, { Origin: 'http://a.example' }, '', 'OPTIONS')
    expect([preflight.status, Object.keys(preflight.headers).join()]).toEqual([
      403,
      expect.not.stringContaining('access-control'),
    ])
    expect(await stored('refused')).toBe(false)
  })

  it('answers programs, by this machine’s names and by those that are allowed', async () => {
    const { port } = new URL(engine.endpoint)
    for (const Host of [
      `localhost:${port}`,
      `127.0.0.1:${port}`,
      `[::1]:${port}`,
      'box.example',
      `box.example:${port}`,
    ]) {
      const { status, headers } = await put({ Host }, Host)
      expect([status, Object.keys(headers).join()]).toEqual([200, expect.not.stringContaining('access-control')])
      expect(await stored(Host)).toBe(true)
    }
    expect((await fetch(engine.endpoint)).status).toBe(200) // Node's own, which says sec-fetch-mode
  })

  it('takes the body of a program that waits for 100 Continue, and not that of a page', async () => {
    const body = JSON.stringify({ TableName: 'things', Item: item(100) })
    expect((await call(engine.endpoint, { 'X-Amz-Target': PUT, Expect: '100-continue' }, body)).status).toBe(200)
    const page = { Origin: 'http://a.example', Expect: '100-continue', 'Content-Length': '2' }
    expect((await call(engine.endpoint, page)).status).toBe(403)
  })

  it('passes on the longest calls and answers that DynamoDB has', async () => {
    const numbers = Array.from({ length: 25 }, (_, n) => n)
    const PutRequests = numbers.map((n) => ({ PutRequest: { Item: item(n, 390 * 1024) } }))
    await client.send(new BatchWriteItemCommand({ RequestItems: { things: PutRequests } }))
    const Keys = numbers.map((n) => ({ pk: { S: `${n}` } }))
    const { Responses, UnprocessedKeys } = await client.send(
      new BatchGetItemCommand({ RequestItems: { things: { Keys } } }),
    )
    const rest = UnprocessedKeys?.things?.Keys ?? [] // dynalite answers a megabyte, the others up to 16
    expect(Responses!.things!.length + rest.length).toBe(25)
    expect(new Set(Responses!.things!.map(({ text }) => text!.S!.length))).toEqual(new Set([390 * 1024]))
  })

  it('the engine itself is where no browser goes, and this process asks it directly', async () => {
    const { port, hostname } = new URL(engine.direct)
    expect(BLOCKED).toContain(Number(port))
    expect(hostname).toMatch(/^127\./)
    const direct = connect(engine.direct)
    expect((await direct.send(new ListTablesCommand({}))).TableNames).toEqual(['things'])
    direct.destroy()
  })

  it('can run twice at the same time, each by itself', async () => {
    const [one, other] = await Promise.all([startGuardedEngine({ engine: name }), startGuardedEngine({ engine: name })])
    expect(new Set([one.direct, other.direct, engine.direct]).size).toBe(3)
    await Promise.all([one.stop(), other.stop(), one.stop()])
    await expect(fetch(one.endpoint)).rejects.toThrow()
  })
})

it('two hidden addresses of one host are never the same, and a released one can be had again', async () => {
  const taken = await Promise.all([1, 2, 3].map(() => hiddenAddress('127.0.0.1')))
  expect(new Set(taken.map(({ port }) => port)).size).toBe(3)
  for (const { release } of taken) release()
  const again = await hiddenAddress('127.0.0.1')
  expect(taken.map(({ port }) => port)).toContain(again.port)
  again.release()
})

it('a host that the system does not have is none: the engine is at 127.0.0.1 then', async () => {
  const { host, port, release } = await hiddenAddress('192.0.2.1')
  expect([host, BLOCKED.includes(port)]).toEqual(['127.0.0.1', true])
  release()
})

it('the counting proxy answers no page either', async () => {
  const asked: string[] = []
  const { server, url } = await listening((incoming, response) => {
    asked.push(incoming.url!)
    response.end('{}')
  })
  const proxy = new CountingProxy(url)
  const endpoint = await proxy.listen()
  expect((await call(endpoint, { Origin: 'http://a.example' })).status).toBe(403)
  expect((await call(endpoint, { Host: 'a.example' })).status).toBe(403)
  expect(asked).toEqual([])
  expect((await call(endpoint, {})).status).toBe(200)
  expect(proxy.take().total).toBe(1)
  await proxy.close()
  server.close()
})

describe('a call that is passed on', () => {
  const agent = new Agent()
  it('is a cut connection where the engine is gone, or breaks off', async () => {
    const { server: gone, url } = await listening(() => {})
    await new Promise((resolve) => gone.close(resolve))
    const { server: breaking, url: breaks } = await listening((_, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('{', () => response.destroy())
    })
    for (const target of [url, breaks]) {
      const { server, url: guard } = await listening((incoming, response) =>
        passOn(incoming, response, { target: new URL(target), agent }),
      )
      await expect(call(guard, {})).rejects.toThrow(/hang up|aborted|ECONNRESET/)
      server.close()
    }
    breaking.close()
  })

  it('ends at the engine when its caller goes away', async () => {
    let ended: () => void
    const isCut = new Promise<void>((resolve) => {
      ended = resolve
    })
    let arrived: () => void
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const { server: engine, url } = await listening((incoming, response) => {
      response.once('close', () => ended())
      incoming.once('data', () => arrived())
    })
    const { server, url: guard } = await listening((incoming, response) =>
      passOn(incoming, response, { target: new URL(url), agent }),
    )
    const caller = connectTo(Number(new URL(guard).port), '127.0.0.1')
    caller.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nbegun')
    await hasArrived
    caller.destroy()
    await isCut
    server.close()
    engine.close()
  })
})

async function listening(listener: Parameters<typeof createServer>[1]): Promise<{ server: Server; url: string }> {
  const server = createServer(listener!)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
