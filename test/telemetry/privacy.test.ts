import fc from 'fast-check'
import { parseAccess } from '../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { StoreUnavailableError } from '../../limiter/errors'
import { httpEvent, KEYS, restEvent } from '../authorize/gateway'
import { mangled } from '../authorize/mangled'
import { policy } from '../policies/issues'
import { runs } from '../runs'
import { brokenRules, sums } from './embedded-metrics'
import { watchedGateway } from './watched'

/** Limits so small that everything is denied soon. */
const SET = parseTiersFile(
  {
    tiers: { anonymous: { policies: [policy({ limit: 1 })] }, free: { policies: [policy({ limit: 1 })] } },
    settings: {},
  },
  'f',
)
const BLOCKED = parseAccess('block', 'ip#203.0.113.66', {}, [], [])!

const away = async (): Promise<never> => {
  throw new StoreUnavailableError('unreachable', 'no connection')
}
const DOWN = { write: away, read: away, delete: away }

const SECRET = 'sk-live-Zq7'
const IPS = ['198.51.100.7', '203.0.113.66', '192.0.2.133', '2001:db8:1:2aff::9']
/** Texts by which somebody could be told apart in the log. */
const SECRETS = [SECRET, KEYS.free, 'client-free', ...IPS, '2001:db8:1:2a00', 'mallory']

const request = fc.record({
  key: fc.constantFrom(undefined, KEYS.free, SECRET, `${SECRET}-made-up`),
  ip: fc.constantFrom(...IPS, `not an address ${IPS[0]}`),
  path: fc.constantFrom('/hello', '/users/mallory', `/search?key=${SECRET}`),
  method: fc.constantFrom('GET', 'POST', 'OPTIONS', SECRET),
})
const event = fc.oneof(
  { weight: 5, arbitrary: request.map(restEvent) },
  { weight: 5, arbitrary: request.map(httpEvent) },
  { weight: 1, arbitrary: fc.constantFrom(null, {}, { headers: { 'X-Api-Key': SECRET } }) },
)
const service = fc.constantFrom(
  {},
  { store: DOWN },
  { store: DOWN, onStoreError: 'deny' as const },
  { set: null },
  { access: [BLOCKED] },
)

describe('the log', () => {
  it('names no caller in clear, whatever the request and the log level', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 12 }), service, async (events, parts) => {
        const { gateway, lines } = watchedGateway({ level: 'debug', flushMs: 0 }, { set: SET, ...parts })
        for (const each of events) await gateway.authorize(each).catch(() => {})
        const text = lines.join('\n')
        expect(SECRETS.filter((secret) => text.toLowerCase().includes(secret.toLowerCase()))).toEqual([])
        expect(lines.flatMap(brokenRules)).toEqual([])
        const { Allowed = 0, Denied = 0 } = sums(lines)
        expect(Allowed + Denied).toBe(events.length)
      }),
      { numRuns: runs(60, 200) },
    )
  })

  it('names the caller and the address where so configured, but never a key', async () => {
    const { gateway, entries, lines } = watchedGateway({ callers: 'clear' }, { set: SET })
    for (const key of [KEYS.free, SECRET])
      for (let i = 0; i < 3; i++) await gateway.rest({ key, ip: '2001:db8:1:2aff::9' })
    const [ofClient, ofStranger] = entries()
    expect(ofClient).toMatchObject({ caller: 'client:client-free', ip: '2001:db8:1:2aff::9' })
    expect(ofStranger).toMatchObject({ tier: 'anonymous', ip: '2001:db8:1:2aff::9' })
    expect(ofStranger).not.toHaveProperty('caller')
    expect(lines.join()).not.toMatch(new RegExp(`${SECRET}|${KEYS.free}`))
  })

  it('is JSON, and never fails, for events of any form', async () => {
    await fc.assert(
      fc.asyncProperty(mangled, async (each) => {
        const { gateway, lines } = watchedGateway({ level: 'debug', callers: 'clear', flushMs: 0 })
        await gateway.authorize(each)
        expect(lines.flatMap(brokenRules)).toEqual([])
        expect(lines.every((line) => line.length < 2000)).toBe(true)
      }),
      { numRuns: runs(60, 200) },
    )
  })
})

describe('a denial without a policy', () => {
  it('is logged once for each address', async () => {
    const { gateway, entries } = watchedGateway({}, { set: SET, access: [BLOCKED] })
    for (let i = 0; i < 5; i++) await gateway.rest({ ip: '203.0.113.66' })
    for (let i = 0; i < 5; i++) await gateway.authorize({})
    expect(entries().map(({ reason, subject, route, method }) => ({ reason, subject, route, method }))).toEqual([
      { reason: 'blocked', subject: expect.stringMatching(/^ip#.{43}$/), route: '/{proxy+}', method: 'GET' },
      { reason: 'malformed', subject: '', route: undefined, method: undefined },
    ])
  })
})

describe('a denial on a route of the table', () => {
  it('names its pattern, and not the path', async () => {
    const routes = { 'GET /users/{id}': { policies: [policy({ name: 'users', limit: 1 })] } }
    const { gateway, entries } = watchedGateway(
      {},
      { set: parseTiersFile({ tiers: { anonymous: { policies: [] } }, routes }, 'f') },
    )
    for (let i = 0; i < 3; i++) await gateway.http({ path: '/users/mallory' })
    expect(entries()).toMatchObject([{ policy: 'users', route: 'GET /users/{id}', method: 'GET' }])
  })
})
