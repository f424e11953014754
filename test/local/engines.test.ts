import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CreateTableCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { connect } from '../../local/dynamodb'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import { useExternalEngine } from '../../local/engines/external'
import { startEngine } from '../../local/engines/start-engine'

const here = dynoxideBinary() !== undefined
const testWithDynoxide = here ? test : test.skip

describe.each(['dynalite', ...(here ? ['dynoxide' as const] : [])] as const)('%s', (engineName) => {
  test('answers when started, keeps items, and is gone when stopped', async () => {
    const engine = await startEngine({ engine: engineName })
    const client = connect(engine.endpoint)
    try {
      expect(engine.name).toBe(engineName)
      await client.send(
        new CreateTableCommand({
          TableName: 'things',
          BillingMode: 'PAY_PER_REQUEST',
          KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
          AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        }),
      )
      const item = { pk: { S: 'a' }, n: { N: '1' } }
      await client.send(new PutItemCommand({ TableName: 'things', Item: item }))
      expect((await client.send(new GetItemCommand({ TableName: 'things', Key: { pk: { S: 'a' } } }))).Item).toEqual(
        item,
      )
    } finally {
      await engine.stop() // while the client still holds a connection
      await engine.stop()
      client.destroy()
    }
    await expect(fetch(engine.endpoint)).rejects.toThrow()
  })

  test('can run twice at the same time', async () => {
    const engines = await Promise.all([startEngine({ engine: engineName }), startEngine({ engine: engineName })])
    expect(engines[0].endpoint).not.toBe(engines[1].endpoint)
    await Promise.all(engines.map((engine) => engine.stop()))
  })
})

testWithDynoxide('dynoxide is the engine of choice where it runs', async () => {
  const engine = await startEngine({})
  expect(engine.name).toBe('dynoxide')
  await engine.stop()
})

describe('an external engine', () => {
  test('is used and left running', async () => {
    const theirs = await startEngine({ engine: 'dynalite' })
    const engine = await startEngine({ endpoint: theirs.endpoint })
    expect(engine.endpoint).toBe(theirs.endpoint)
    await engine.stop()
    expect((await fetch(theirs.endpoint)).status).toBe(200)
    await theirs.stop()
  })

  test('is waited for, and reported when it never answers', async () => {
    const before = Date.now()
    await expect(useExternalEngine('http://127.0.0.1:1', 200)).rejects.toThrow(
      /^no DynamoDB answers at http:\/\/127\.0\.0\.1:1 \(SLUICE_DYNAMODB_ENDPOINT\): .*connect ECONNREFUSED/,
    )
    expect(Date.now() - before).toBeGreaterThanOrEqual(199)
  })

  test.each([
    [200, '{}'],
    [200, '<html></html>'],
    [404, ''],
  ])('is not taken for DynamoDB when it answers %i %j', async (status, body) => {
    const server = createServer((_, response) => response.writeHead(status).end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(useExternalEngine(endpoint)).rejects.toThrow('the answer is not DynamoDB’s')
    server.close()
  })

  test('times out when it accepts the connection and never answers', async () => {
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(useExternalEngine(endpoint, 300)).rejects.toThrow(`no DynamoDB answers at ${endpoint}`)
    server.closeAllConnections()
    server.close()
  })

  test.each(['localhost:8000', 'nonsense', 'ftp://localhost'])('must be a URL, not %s', async (endpoint) => {
    await expect(startEngine({ endpoint })).rejects.toThrow(
      `SLUICE_DYNAMODB_ENDPOINT must be a URL such as http://localhost:8000, got "${endpoint}"`,
    )
  })

  test('cannot be combined with an embedded one', async () => {
    await expect(startEngine({ engine: 'dynalite', endpoint: 'http://localhost:8000' })).rejects.toThrow(
      'exclude each other',
    )
  })
})
