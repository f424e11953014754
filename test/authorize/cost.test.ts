import fc from 'fast-check'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import type { PolicyAnswer } from '../../lambda/responses/answers'
import { StoreUnavailableError } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { policy } from '../policies/issues'
import { runs } from '../runs'
import { Gateway, httpEvent, KEYS, restEvent } from './gateway'

const ROUTES = { 'GET /reports': { cost: { query: 'rows', default: 10, max: 100 } } }
const setWith = (one: object, file: object = {}) =>
  parseTiersFile(
    {
      tiers: { anonymous: { policies: [] }, free: { policies: [policy({ limit: 250, ...one })] } },
      routes: ROUTES,
      ...file,
    },
    'tiers.yaml',
  )

const rest = async (gateway: Gateway, rows: readonly string[], path = '/reports') => {
  const event = {
    ...restEvent({ path, key: KEYS.free }),
    queryStringParameters: { rows: rows.at(-1) },
    multiValueQueryStringParameters: { rows },
  }
  return ((await gateway.authorize(event)) as PolicyAnswer).context
}

describe('a route whose cost the request says', () => {
  it('is charged so many units on a REST API, and the context says how many', async () => {
    const gateway = new Gateway({ set: setWith({}) })
    const told = []
    for (const rows of [['40'], [], ['x'], ['99', '1'], ['1']]) told.push(await rest(gateway, rows))
    expect(told.map(({ allowed, cost, remaining }) => [allowed, cost, remaining])).toEqual([
      [true, 40, 210],
      [true, 10, 200],
      [true, 100, 100],
      [true, 100, 0],
      [false, 0, 0],
    ])
  })

  it('is charged the most for a parameter that comes twice on an HTTP API', async () => {
    const gateway = new Gateway({ set: setWith({}) })
    const event = (rows: string) => ({
      ...httpEvent({ path: '/reports', key: KEYS.free }),
      queryStringParameters: { rows },
    })
    expect(await gateway.authorize(event('40'))).toMatchObject({ context: { allowed: true, cost: 40 } })
    expect(await gateway.authorize(event('1,40'))).toMatchObject({ context: { allowed: true, cost: 100 } })
  })

  it('is charged the higher cost where a path can match two routes', async () => {
    const routes = { ...ROUTES, 'GET /public/*': { cost: 0 }, 'GET /admin/*': { cost: 50 } }
    const gateway = new Gateway({ set: setWith({}, { routes }) })
    expect((await rest(gateway, ['40'], '/public/%2e%2e/reports')).cost).toBe(40)
    expect((await rest(gateway, ['40'], '/public/x')).cost).toBe(0)
    expect((await rest(gateway, ['40'], '/admin/%2e%2e/reports')).cost).toBe(50)
  })

  it('is not counted where limits are off, and is counted in observe mode', async () => {
    const off = new Gateway({ set: setWith({}, { settings: { mode: 'off' } }) })
    expect(await rest(off, ['40'])).toMatchObject({ allowed: true, reason: 'uncounted', cost: 0 })
    const observed = new Gateway({ set: setWith({ limit: 50 }, { settings: { mode: 'observe' } }) })
    await rest(observed, ['40'])
    expect(await rest(observed, ['40'])).toMatchObject({ allowed: true, observed: true, cost: 0 })
    expect(await rest(observed, ['10'])).toMatchObject({ allowed: true, observed: false, cost: 10 })
  })

  it('takes so many units of the local share while the table is away', async () => {
    const away = async () => {
      throw new StoreUnavailableError('unreachable', 'away')
    }
    const gateway = new Gateway({ set: setWith({}), store: { write: away, read: away, delete: away } })
    expect(await rest(gateway, ['40'])).toMatchObject({ allowed: true, degraded: true, cost: 40 })
    expect(await rest(gateway, ['40'])).toMatchObject({ allowed: false, degraded: true, cost: 0 }) // a fifth of 250
    expect(await rest(gateway, ['10'])).toMatchObject({ allowed: true, degraded: true, cost: 10 })
  })

  it('can never pass where it costs more than a limit ever admits', async () => {
    const gateway = new Gateway({ set: setWith({ limit: 99 }) })
    expect(await rest(gateway, ['100'])).toMatchObject({ allowed: false, retryAfter: 31_536_000 })
    expect(await rest(gateway, ['99'])).toMatchObject({ allowed: true, cost: 99 })
  })

  it.each(['strict', 'leased'])(
    'admits at most the limit on several instances, whatever requests cost: %s',
    (consistency) =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(2), fc.constantFrom('1', '7', '40', '250', '-1', 'x', '')), { maxLength: 40 }),
          async (requests) => {
            const store = new MemoryStore()
            const set = setWith({ algorithm: 'fixed-window', consistency })
            const gateways = [0, 1, 2].map(() => new Gateway({ set, store }))
            const all = await Promise.all(requests.map(([i, rows]) => rest(gateways[i]!, [rows])))
            const charged = all.reduce((sum, { cost }) => sum + cost, 0)
            expect(charged).toBeLessThanOrEqual(250)
            expect(all.every(({ allowed, cost }) => allowed === cost > 0)).toBe(true)
          },
        ),
        { numRuns: runs(15, 200) },
      ),
  )
})
