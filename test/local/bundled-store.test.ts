import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { authorizerBundleOptions, bundle } from '../../lib/authorizer-bundle'
import type { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { storeContract } from '../../limiter/stores/store-contract'
import { ENGINES, type OpenEngine, openEngine, TABLE } from '../stores'

interface Bundled {
  readonly DynamoDBClient: typeof DynamoDBClient
  readonly DynamoDbStore: typeof DynamoDbStore
}

/** Beside the SDK itself, whose runs are in test/stores: what is replaced in the bundle must not show on the wire. */
describe.each(ENGINES)('the store as bundled, on %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  let opened: OpenEngine
  let client: DynamoDBClient
  let store: DynamoDbStore

  beforeAll(async () => {
    opened = await openEngine(engine)
    const bundled = bundledStore()
    client = new bundled.DynamoDBClient({
      endpoint: opened.endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 1,
    })
    store = new bundled.DynamoDbStore({ client, tableName: TABLE })
  })
  afterAll(async () => {
    client?.destroy()
    await opened?.close()
    rmSync(folder, { recursive: true })
  })

  function bundledStore(): Bundled {
    const outfile = join(folder, 'store.js')
    const contents = `
      export { DynamoDBClient } from '@aws-sdk/client-dynamodb'
      export { DynamoDbStore } from '../../limiter/stores/dynamodb-store'`
    const { entryPoints: _, ...options } = authorizerBundleOptions
    // which Jest does not have
    bundle({ ...options, stdin: { contents, resolveDir: __dirname }, outfile, supported: { 'dynamic-import': false } })
    return require(outfile)
  }

  it('returns the server’s time with every answer, also with a refused write', async () => {
    const told: number[] = []
    const options = { onServerTime: (at: number) => void told.push(at) }
    const write = { parts: [], id: { mark: 'r0', value: 7, rangeEnd: 9 }, at: Date.now() }
    await store.write('dated', write, options)
    await store.write('dated', write, options)
    await store.read('dated', options)
    expect(told.length).toBeGreaterThanOrEqual(3) // an engine that returns no item with a refusal is read once more
    expect(told.filter((at) => at % 1000 !== 0 || Math.abs(Date.now() - at) > 10_000)).toEqual([])
  })

  for (const { name, run } of storeContract) it(name, () => run(store))
})
