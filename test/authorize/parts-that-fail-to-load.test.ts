import { assembleParts } from '../../lambda/assemble-parts'
import { parseJwtSettings } from '../../lambda/config-table/items/jwt-settings'
import { lazyVerifiers } from '../../lambda/identity/load-verifier'
import { loadUpstream } from '../../lambda/upstream/load-upstream'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { FakeLog, itemsOf, settled, tierItem } from '../config-table/fake-table'

/** Files that cannot be read until the test says that they can. */
let mockMissing = true
const mockPart = (part: object) => {
  if (mockMissing) throw new Error('no such file')
  return part
}
jest.mock('../../lambda/identity/jwt-verifier', () =>
  mockPart({
    JwtVerifier: class {
      verify = async () => ({ kind: 'valid', claims: {} })
    },
  }),
)
jest.mock('../../lambda/upstream/lambda-upstream', () =>
  mockPart({ lambdaUpstream: () => ({ check: async () => ({ kind: 'denied' }) }) }),
)
const mockKept: unknown[] = []
jest.mock('../../lambda/config-table/last-valid', () =>
  mockPart({
    LastValid: class {
      keep = async (valid: ReadonlyMap<string, unknown>) => mockKept.push([...valid.keys()])
    },
  }),
)

beforeEach(() => {
  mockMissing = true
})

const unavailable = { kind: 'unavailable', cause: new Error('no such file') }

describe('a part that fails to load is loaded again at the next request:', () => {
  test('the verifier of JWTs', async () => {
    const settings = { source: 'jwt', issuer: 'https://issuer.example', audience: 'api' }
    const verifier = lazyVerifiers(Date.now)(parseJwtSettings(settings, [], [])!)
    expect(await verifier.verify('token', 100)).toEqual(unavailable)
    mockMissing = false
    expect(await verifier.verify('token', 100)).toEqual({ kind: 'valid', claims: {} })
  })

  test("the upstream authorizer's client, which is loaded before any request", async () => {
    const asking = { functionName: 'check', deadlineMs: 100, ttlMs: 0, cacheHeaders: [], clock: Date.now }
    const upstream = loadUpstream(asking)
    await settled()
    const check = () => upstream.check({}, {} as never)
    expect(await check()).toEqual(unavailable)
    mockMissing = false
    expect(await check()).toEqual({ kind: 'denied' })
  })

  test('the copies of valid items, for which no request waits', async () => {
    const log = new FakeLog()
    let limit = 1
    const call = async (operation: string) =>
      operation === 'Query' ? { Items: itemsOf([tierItem('anonymous', limit++)]) } : { Responses: {} }
    const { configuration } = assembleParts({
      calls: { call, destroy() {} } as unknown as ItemCalls,
      stateTable: 'state',
      configTable: 'config',
      configTtlMs: 1, // so that each request reads
      negativeTtlMs: 1,
      deadlineMs: 100,
      failureMode: 'deny',
      ipv6Prefix: 56,
      authentication: 'config',
      telemetry: { log: log.write, onEvent() {}, answered() {} },
      verifierOf: () => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) }),
    })
    const request = async () => {
      expect(await configuration.current()).toBeDefined()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await request()
    await request() // keeps what the first has read
    expect(log.entries).toMatchObject([{ event: 'last_valid_unwritable', details: { error: 'no such file' } }])
    mockMissing = false
    await request()
    expect(mockKept.at(-1)).toEqual(['tier#anonymous'])
  })
})
