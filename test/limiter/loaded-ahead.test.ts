import { createLimiter, MemoryStore } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'

const NOWHERE = { region: 'eu-central-1', endpoint: 'http://127.0.0.1:1' }
const policies = [{ name: 'p', limit: 2, window: '1h' }] as const

/** What decides, with the store and without it, of the parts that are imported when they are needed. */
const LOADED = [
  'limiter/rate-limiter',
  'limiter/consistency/fallback',
  'limiter/consistency/leased',
  'limiter/stores/direct-calls',
] as const

describe('code that decides while the store is away', () => {
  it.each(LOADED)('is loaded as soon as a limiter is made: %s', async (part) => {
    await isLoadedBy(part, (loaded) => {
      const { createLimiter, DynamoDbStore } = loaded('limiter') as typeof import('../../limiter')
      createLimiter({ store: new DynamoDbStore({ tableName: 't', ...NOWHERE }), policies })
    })
  })

  it.each([...LOADED, 'lambda/assemble-parts', 'tiered/tiered-limiter'] as const)(
    'is loaded as soon as a limiter with tiers is made: %s',
    async (part) => {
      await isLoadedBy(part, (loaded) => {
        const { createTieredLimiter } = loaded('tiered') as typeof import('../../tiered')
        createTieredLimiter({ configTable: 'config', stateTable: 'state', ...NOWHERE })
      })
    },
  )

  it('decides by the failure mode in an outage that was there first', async () => {
    const away = () => Promise.reject(new StoreUnavailableError('unreachable', 'away'))
    const store = Object.assign(new MemoryStore(), { write: away, read: away })
    const limiter = createLimiter({ store, policies })
    const decisions = [await limiter.take('a'), await limiter.take('a'), await limiter.take('a')]
    expect(decisions.map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
      [true, true],
      [true, true],
      [false, true],
    ])
  })

  it('has the Region and endpoint of the moment when the store was made', async () => {
    const before = process.env.AWS_REGION
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b' }
    process.env.AWS_REGION = 'eu-central-1'
    const store = new DynamoDbStore({ tableName: 't', endpoint: 'http://127.0.0.1:1', credentials })
    delete process.env.AWS_REGION
    await expect(store.read('a')).rejects.toMatchObject({ reason: 'unreachable' })
    if (before !== undefined) process.env.AWS_REGION = before
  })
})

/** Expects a file to be loaded right after something is made; before, what imports it does without. */
async function isLoadedBy(part: string, make: (loaded: (entry: string) => unknown) => void): Promise<void> {
  const loads: string[] = []
  const path = `../../${part}`
  await jest.isolateModulesAsync(async () => {
    jest.doMock(path, () => {
      loads.push(part)
      return jest.requireActual(path)
    })
    make((entry) => require(`../../${entry}`))
    expect(loads).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    expect(loads).toEqual([part])
  })
  jest.dontMock(path)
}
