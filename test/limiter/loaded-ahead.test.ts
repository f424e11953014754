import { createLimiter, MemoryStore } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'

const policies = [{ name: 'p', limit: 2, window: '1h' }] as const

/** What is loaded when the outage begins, of the parts that are imported when they are needed. */
const LOADED = ['consistency/fallback', 'consistency/leased', 'stores/direct-calls'] as const

describe('code that decides while the store is away', () => {
  it.each(LOADED)('is loaded before: %s', async (part) => {
    const loads: string[] = []
    await jest.isolateModulesAsync(async () => {
      jest.doMock(`../../limiter/${part}`, () => {
        loads.push(part)
        return jest.requireActual(`../../limiter/${part}`)
      })
      const limiter = require('../../limiter') as typeof import('../../limiter')
      const store = new limiter.DynamoDbStore({
        tableName: 't',
        region: 'eu-central-1',
        endpoint: 'http://127.0.0.1:1',
      })
      limiter.createLimiter({ store, policies })
      expect(loads).toEqual([]) // not before it is made
      await new Promise((resolve) => setImmediate(resolve))
      expect(loads).toEqual([part])
    })
    jest.dontMock(`../../limiter/${part}`)
  })

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
