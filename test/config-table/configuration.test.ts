import { PolicySets } from '../../lambda/config-table/configuration'
import { COST_FIELD } from '../../lambda/config-table/items/cost'
import type { PolicySet } from '../../lambda/config-table/items/policy-set'
import { setFor } from '../../lambda/config-table/items/scoped-set'
import { parseIpAddress } from '../../lambda/ip-address'
import { rulesOf } from '../../lambda/rules'
import { FakeClock, FakeLog, FakeTable, isSettled, itemsOf, readingOf, settled, tierItem } from './fake-table'

const TTL_MS = 30_000
const REFRESH_MS = 25_000

let table: FakeTable
let clock: FakeClock
let log: FakeLog
let configurations: PolicySets

/** What is asked of the policy set alone. */
const sets = { current: async () => (await configurations.current())?.policies }

beforeEach(() => {
  table = new FakeTable()
  clock = new FakeClock()
  log = new FakeLog()
  const reading = readingOf(table, clock, log)
  configurations = new PolicySets({ ...reading, ttlMs: TTL_MS })
})

const page = (...items: Record<string, unknown>[]) => ({ Items: itemsOf(items) })
const limitOf = (set: PolicySet | undefined, tier = 'anonymous') => set?.tiers.get(tier)?.policies[0]?.limit

/** The set in force, with the table answering at once. */
async function readNow(...items: Record<string, unknown>[]): Promise<PolicySet | undefined> {
  table.answers = () => page(...items)
  const set = await sets.current()
  await settled()
  table.answers = undefined
  return set
}

/** Reads again after the time to live, and returns what is in force then. */
async function readLater(...items: Record<string, unknown>[]): Promise<PolicySet | undefined> {
  clock.now += TTL_MS
  await readNow(...items)
  return sets.current()
}

describe('the policy set', () => {
  it('is read by one Query on one partition, consistently and within a deadline', async () => {
    await readNow(tierItem('anonymous', 20))
    expect(table.calls).toHaveLength(1)
    expect(table.calls[0]!.name).toBe('QueryCommand')
    expect(table.calls[0]!.input).toEqual({
      TableName: 'config',
      KeyConditionExpression: 'pk = :partition',
      ExpressionAttributeValues: { ':partition': { S: 'policy-set' } },
      ConsistentRead: true,
      ExclusiveStartKey: undefined,
    })
    expect(table.calls[0]!.signal).toBeInstanceOf(AbortSignal)
  })

  it('has the tiers and routes of the table', async () => {
    const set = await readNow(
      tierItem('anonymous', 20, { by: 'ip' }),
      tierItem('free', 60),
      { pk: 'policy-set', sk: 'route#POST /batch', cost: 5 },
      { pk: 'policy-set', sk: 'route#GET /a#b' },
    )
    expect([...set!.tiers.keys()]).toEqual(['anonymous', 'free'])
    expect([limitOf(set), limitOf(set, 'free')]).toEqual([20, 60])
    expect(set!.routes.map(({ pattern, cost }) => [pattern.text, cost])).toEqual([['POST /batch', 5]])
    expect(log.entries).toEqual([
      expect.objectContaining({
        details: { item: 'route#GET /a#b', issues: [expect.stringContaining('route "GET /a#b"')] },
      }),
    ])
  })

  it('is read once at the start, and all requests wait for that reading', async () => {
    const waiting = [sets.current(), sets.current(), sets.current()]
    await settled()
    expect(table.calls).toHaveLength(1)
    expect(await isSettled(Promise.race(waiting))).toBe(false)
    await table.calls[0]!.answer(page(tierItem('anonymous', 20)))
    const [one, ...others] = await Promise.all(waiting)
    expect(limitOf(one)).toBe(20)
    for (const other of others) expect(other).toBe(one)
    expect(table.calls).toHaveLength(1)
  })

  it('is not read again for five sixths of its time to live', async () => {
    const set = await readNow(tierItem('anonymous', 20))
    for (let second = 0; second < 25; second++) {
      expect(await sets.current()).toBe(set)
      clock.now += second < 24 ? 1000 : 999
    }
    expect(table.calls).toHaveLength(1)
    clock.now += 1
    await sets.current()
    expect(table.calls).toHaveLength(2)
  })

  it('serves in the last sixth of its time while it is read again, once, and no request waits for that', async () => {
    const old = await readNow(tierItem('anonymous', 20))
    clock.now += REFRESH_MS
    for (let request = 0; request < 100; request++) {
      const answer = sets.current()
      expect(await isSettled(answer)).toBe(true)
      expect(await answer).toBe(old)
    }
    expect(table.calls).toHaveLength(2)
    await table.calls[1]!.answer(page(tierItem('anonymous', 30)))
    expect(limitOf(await sets.current())).toBe(30)
    expect(table.calls).toHaveLength(2)
  })

  it('decides no request after its time to live: every request waits for a new reading', async () => {
    await readNow(tierItem('anonymous', 20))
    clock.now += TTL_MS
    const waiting = [sets.current(), sets.current()]
    await settled()
    expect(table.calls).toHaveLength(2)
    expect(await isSettled(Promise.race(waiting))).toBe(false)
    await table.calls[1]!.answer(page(tierItem('anonymous', 30)))
    for (const set of await Promise.all(waiting)) expect(limitOf(set)).toBe(30)
  })

  it('has an age that counts from the beginning of its reading', async () => {
    await readNow(tierItem('anonymous', 20))
    clock.now += REFRESH_MS
    await sets.current()
    clock.now += 700 // the answer takes its time
    await table.calls[1]!.answer(page(tierItem('anonymous', 30)))
    clock.now += REFRESH_MS - 701
    expect(limitOf(await sets.current())).toBe(30)
    expect(table.calls).toHaveLength(2)
    clock.now += 1
    await sets.current()
    expect(table.calls).toHaveLength(3)
  })

  it('is read again when the clock has stepped back behind it', async () => {
    await readNow(tierItem('anonymous', 20))
    clock.now -= 1
    const waiting = sets.current()
    await settled()
    expect(table.calls).toHaveLength(2)
    await table.calls[1]!.answer(page(tierItem('anonymous', 30)))
    expect(limitOf(await waiting)).toBe(30)
  })

  it('may come in several pages', async () => {
    const answer = sets.current()
    await settled()
    const key = { pk: { S: 'policy-set' }, sk: { S: 'tier#anonymous' } }
    await table.calls[0]!.answer({ ...page(tierItem('anonymous', 20)), LastEvaluatedKey: key })
    expect(table.calls[1]!.input).toMatchObject({ ExclusiveStartKey: key })
    await table.calls[1]!.answer({ LastEvaluatedKey: key }) // a page may be empty
    await table.calls[2]!.answer(page(tierItem('free', 60)))
    expect([...(await answer)!.tiers.keys()]).toEqual(['anonymous', 'free'])
    expect(new Set(table.calls.map(({ signal }) => signal)).size).toBe(1) // one deadline for all of them
  })

  it('is never applied in part: a failed page leaves the old set in force', async () => {
    const old = await readNow(tierItem('anonymous', 20))
    clock.now += TTL_MS
    await sets.current()
    await table.calls[1]!.answer({ ...page(tierItem('anonymous', 30)), LastEvaluatedKey: {} })
    await table.calls[2]!.fail(new Error('gone'))
    expect(await sets.current()).toBe(old)
  })

  it('with more items than the maximum is refused', async () => {
    const old = await readNow(tierItem('anonymous', 20))
    clock.now += TTL_MS
    const thousand = itemsOf(Array.from({ length: 1000 }, (_, i) => ({ pk: 'policy-set', sk: `route#GET /${i}` })))
    table.answers = () => ({ Items: thousand, LastEvaluatedKey: {} })
    await sets.current()
    await settled()
    expect(table.calls).toHaveLength(1 + 6)
    expect(await sets.current()).toBe(old)
    expect(log.entries[0]).toMatchObject({
      event: 'config_table_unreadable',
      details: { error: 'a policy set has at most 5000 items, this one has more' },
    })
  })

  it('may have 5,000 items, and not one more', async () => {
    const blocks = Array.from({ length: 5000 }, (_, i) => ({ pk: 'policy-set', sk: `block#client#${i}` }))
    const items = [tierItem('anonymous', 20), ...blocks]
    const set = await readNow(...items.slice(0, 5000))
    expect(limitOf(set)).toBe(20)
    expect(log.entries).toEqual([])
    expect(await readLater(...items)).toBe(set)
    expect(log.entries).toMatchObject([{ event: 'config_table_unreadable' }])
  })
})

describe('a table that fails', () => {
  it('leaves the set in force, however long, and is not queried more than once a second', async () => {
    const old = await readNow(tierItem('anonymous', 20))
    table.answers = () => {
      throw Object.assign(new Error('no such table'), { name: 'ResourceNotFoundException' })
    }
    clock.now += TTL_MS
    for (let request = 0; request < 100; request++) {
      expect(await sets.current()).toBe(old)
      await settled()
      clock.now += 100
    }
    expect(table.calls).toHaveLength(1 + 10)
    expect(log.entries).toHaveLength(10)
    expect(log.entries[0]).toEqual({
      level: 'error',
      event: 'config_table_unreadable',
      details: { table: 'config', error: 'no such table', name: 'ResourceNotFoundException', reason: undefined },
    })
    expect(limitOf(await readLater(tierItem('anonymous', 30)))).toBe(30)
  })

  it('at the start leaves no configuration, is queried once a second, and gives the whole set as soon as it answers', async () => {
    const first = [sets.current(), sets.current()]
    await settled()
    await table.calls[0]!.fail(new Error('slow'))
    await table.calls[1]!.fail(new Error('slow again'))
    expect(await Promise.all(first)).toEqual([undefined, undefined])
    clock.now += 999
    expect(await sets.current()).toBeUndefined()
    expect(table.calls).toHaveLength(2)
    clock.now += 1
    expect(limitOf(await readNow(tierItem('anonymous', 20)))).toBe(20)
    expect(table.calls).toHaveLength(3)
  })

  it('once, at the start, is queried a second time', async () => {
    const first = sets.current()
    await settled()
    await table.calls[0]!.fail(new Error('slow'))
    await table.calls[1]!.answer({ Items: itemsOf([tierItem('anonymous', 20)]) })
    expect(limitOf(await first)).toBe(20)
  })

  it('with an empty answer that is not DynamoDB’s leaves the set in force', async () => {
    const old = await readNow(tierItem('anonymous', 20))
    clock.now += TTL_MS
    table.answers = () => ({ $metadata: { httpStatusCode: 200 } })
    await sets.current()
    await settled()
    expect(await sets.current()).toBe(old)
    expect(log.entries[0]).toMatchObject({ event: 'config_table_unreadable' })
  })

  it('is queried again at once when the clock has stepped back', async () => {
    table.answers = () => {
      throw new Error('slow')
    }
    expect(await sets.current()).toBeUndefined()
    clock.now -= 1
    expect(limitOf(await readNow(tierItem('anonymous', 20)))).toBe(20)
  })

  it('that answers with garbage counts as failed or gives a set without mistakes, and nothing is thrown', async () => {
    const old = await readNow(tierItem('anonymous', 20))
    for (const rubbish of [
      undefined,
      null,
      {},
      { Items: null },
      { Items: [] },
      { Items: [{}] },
      { Items: [null] },
      { Items: [{ sk: { S: 'tier#free' } }] },
      { Items: 5 },
    ]) {
      clock.now += TTL_MS
      table.answers = () => rubbish as never
      await sets.current()
      await settled()
      expect(limitOf(await sets.current())).toBe(limitOf(old))
    }
  })
})

describe('an invalid item', () => {
  const free = (set: PolicySet | undefined) => limitOf(set, 'free')

  it('keeps its last valid version while the others change; the log names item, field, what was got and wanted', async () => {
    await readNow(tierItem('anonymous', 20), tierItem('free', 60))
    const set = await readLater(tierItem('anonymous', 21), tierItem('free', 'sixty'))
    expect([limitOf(set), free(set)]).toEqual([21, 60])
    expect(log.entries).toEqual([
      {
        level: 'error',
        event: 'config_item_invalid',
        details: {
          item: 'tier#free',
          issues: [
            'limit must be a positive integer, got "sixty" (item "tier#free", tier "free", policy "per-minute")',
          ],
        },
      },
    ])
  })

  it('keeps its last valid version reading after reading, until it is valid again', async () => {
    await readNow(tierItem('anonymous', 20), tierItem('free', 60))
    for (let turn = 0; turn < 3; turn++)
      expect(free(await readLater(tierItem('anonymous', 20), tierItem('free', 0)))).toBe(60)
    expect(free(await readLater(tierItem('anonymous', 20), tierItem('free', 70)))).toBe(70)
    expect(free(await readLater(tierItem('anonymous', 20), tierItem('free', 0)))).toBe(70)
  })

  it('has no last valid version when it was never valid, or was deleted in between', async () => {
    expect(free(await readNow(tierItem('anonymous', 20), tierItem('free', 0)))).toBeUndefined()
    expect(free(await readLater(tierItem('anonymous', 20), tierItem('free', 60)))).toBe(60)
    expect(free(await readLater(tierItem('anonymous', 20)))).toBeUndefined()
    expect(free(await readLater(tierItem('anonymous', 20), tierItem('free', 0)))).toBeUndefined()
  })

  it('may be a route', async () => {
    const route = (cost: unknown) => ({ pk: 'policy-set', sk: 'route#POST /batch', cost })
    await readNow(tierItem('anonymous', 20), route(5))
    const set = await readLater(tierItem('anonymous', 20), route(-5))
    expect(set!.routes.map(({ cost }) => cost)).toEqual([5])
    expect(log.entries[0]!.details.issues).toEqual([
      `cost must be ${COST_FIELD.wanted}, got -5 (item "route#POST /batch", route "POST /batch")`,
    ])
  })

  it('may be of an unknown kind, or hold a number that cannot be represented', async () => {
    table.answers = () => ({
      Items: [
        ...itemsOf([tierItem('anonymous', 20), { pk: 'policy-set', sk: 'setting' }, { pk: 'policy-set', sk: 'tier#' }]),
        { pk: { S: 'policy-set' }, sk: { S: 'route#POST /batch' }, cost: { N: '12345678901234567890123' } },
        { pk: { S: 'policy-set' }, sk: { S: 'route#POST /other' }, cost: { X: 'unknown type' } as never },
      ],
    })
    expect(limitOf(await sets.current())).toBe(20)
    expect(log.entries.map(({ details }) => [details.item, (details.issues as string[])[0]])).toEqual([
      [
        'setting',
        'sk must be "global", "settings" or "switch", or begin with "tier#", "route#", "settings @", "api#", "block#" or "allow#", got "setting"',
      ],
      ['tier#', expect.stringContaining("a tier's name must be")],
      ['route#POST /batch', expect.stringContaining(`cost must be ${COST_FIELD.wanted}, got 1.2345678901234568e+22`)],
    ])
  })

  it('of the anonymous tier keeps its last valid version even when it is deleted, since anonymous callers could not be counted without it', async () => {
    await readNow(tierItem('anonymous', 20), tierItem('free', 60))
    const set = await readLater(tierItem('free', 70))
    expect([limitOf(set), free(set)]).toEqual([20, 70])
    expect(log.entries).toEqual([
      {
        level: 'error',
        event: 'config_items_conflict',
        details: { table: 'config', issues: ['tiers must have "anonymous", the tier of callers without a known key'] },
      },
    ])
    expect(limitOf(await readLater())).toBe(20)
    expect(limitOf(await readLater(tierItem('anonymous', 25)))).toBe(25)
  })

  it('is also reported when it contradicts another item', async () => {
    const set = await readNow(
      tierItem('anonymous', 20),
      { pk: 'policy-set', sk: 'route#GET /users/{id}', cost: 2 },
      { pk: 'policy-set', sk: 'route#GET /users/{name}', cost: 3 },
    )
    expect(set!.routes).toHaveLength(2)
    expect(log.entries[0]!.details.issues).toEqual([
      'routes "GET /users/{id}" and "GET /users/{name}" match the same requests, keep one',
    ])
  })
})

describe('an item for some APIs', () => {
  const shop = { apiId: 'a1', stageName: 'prod' }
  const cart = { apiId: 'b2', stageName: 'prod' }
  const api = { pk: 'policy-set', sk: 'api#a1', label: 'shop' }
  const credentialsOf = (set: PolicySet | undefined, request: typeof shop) =>
    setFor(set!, request).tiers.get('anonymous')!.credentials

  it('holds for those, by the label that the table knows', async () => {
    const set = await readNow(api, tierItem('anonymous', 20), tierItem('anonymous @x', 5, { apis: ['shop'] }))
    expect([shop, cart].map((request) => limitOf(setFor(set!, request)))).toEqual([5, 20])
    expect(log.entries).toEqual([])
  })

  it('keeps its last valid version', async () => {
    await readNow(api, tierItem('anonymous', 20), tierItem('anonymous @x', 5, { apis: ['shop'] }))
    const set = await readLater(api, tierItem('anonymous', 20), tierItem('anonymous @x', 5, { apis: ['*'] }))
    expect([shop, cart].map((request) => limitOf(setFor(set!, request)))).toEqual([5, 20])
  })

  it('finds a label in the last valid version of an API’s item, until another API has that label', async () => {
    const tiers = [tierItem('anonymous', 20), tierItem('anonymous @x', 5, { apis: ['shop'] })]
    await readNow(api, ...tiers)
    const wrong = { ...api, label: 'sh op' }
    const kept = await readLater(wrong, ...tiers)
    expect([shop, cart].map((request) => limitOf(setFor(kept!, request)))).toEqual([5, 20])
    const given = await readLater(wrong, { ...api, sk: 'api#b2' }, ...tiers)
    expect([shop, cart].map((request) => limitOf(setFor(given!, request)))).toEqual([20, 5])
    expect(given!.apis!.list).toEqual([
      { id: 'a1', label: undefined },
      { id: 'b2', label: 'shop' },
    ])
  })

  it('that was never valid admits no unverified caller on its APIs, or on any API when its APIs are invalid, too', async () => {
    const wrong = { policies: 'none' }
    const some = await readNow(api, tierItem('anonymous', 20), {
      ...tierItem('anonymous @x', 5, { apis: ['shop'] }),
      ...wrong,
    })
    expect([shop, cart].map((request) => credentialsOf(some, request))).toEqual(['unknown', 'optional'])
    const all = await readLater(api, tierItem('anonymous', 20), {
      ...tierItem('anonymous @y', 5, { apis: 'shop' }),
      ...wrong,
    })
    expect([shop, cart].map((request) => credentialsOf(all, request))).toEqual(['unknown', 'unknown'])
    const route = await readLater(tierItem('anonymous', 20), {
      pk: 'policy-set',
      sk: 'route#GET /a @x',
      apis: ['a1'],
      cost: 'much',
    })
    expect([shop, cart].map((request) => setFor(route!, request).routes.map(({ credentials }) => credentials))).toEqual(
      [['unknown'], []],
    )
  })

  it('that fits as well as another is reported, and both hold', async () => {
    const set = await readNow(
      api,
      tierItem('anonymous', 20),
      tierItem('free @b', 2, { apis: ['a1', 'b2'], credentials: 'required', failureMode: 'deny' }),
      tierItem('free @a', 1, { apis: ['shop'] }),
      { pk: 'policy-set', sk: 'route#GET /a @a', apis: ['shop'], cost: 0 },
      { pk: 'policy-set', sk: 'route#GET /a @b', apis: ['a1'], cost: 5 },
      { pk: 'policy-set', sk: 'settings @a', apis: ['shop'], mode: 'off' },
      { pk: 'policy-set', sk: 'settings @b', apis: ['a1'], mode: 'observe' },
    )
    const found = setFor(set!, shop)
    const free = found.tiers.get('free')!
    expect(free).toMatchObject({ credentials: 'required', failureMode: 'deny' })
    expect(free.policies.map(({ limit }) => limit)).toEqual([1, 2])
    expect(rulesOf(found, 'GET', '/a').costs).toMatchObject([{ cost: 0 }, { cost: 5 }])
    expect(found.settings.mode).toBe('observe')
    expect(
      setFor(set!, cart)
        .tiers.get('free')!
        .policies.map(({ limit }) => limit),
    ).toEqual([2])
    expect(log.entries).toEqual([expect.objectContaining({ event: 'config_items_conflict' })])
  })

  it('leaves two routes for the same requests in force', async () => {
    const twice = [
      { pk: 'policy-set', sk: 'route#GET /a' },
      { pk: 'policy-set', sk: 'route#GET /a/', cost: 5, credentials: 'required' },
    ]
    const set = await readNow(api, tierItem('anonymous', 20), ...twice, tierItem('free @x', 1, { apis: ['cart'] }))
    expect([set!, setFor(set!, shop)].map((one) => rulesOf(one, 'GET', '/a'))).toEqual(
      Array(2).fill(
        expect.objectContaining({
          costs: expect.arrayContaining([expect.objectContaining({ cost: 5 })]),
          credentials: 'required',
        }),
      ),
    )
  })

  it('is in force from the first request on, however many tiers there are', async () => {
    const many = Array.from({ length: 40 }, (_, i) => tierItem(`t${i}`, 1))
    const set = await readNow(
      api,
      tierItem('anonymous', 20),
      ...many,
      tierItem('t39 @x', 7, { apis: ['shop'] }),
      tierItem('u', 8, { apis: ['shop'] }),
    )
    expect(
      [shop, cart].map((request) => ['t39', 't38', 'u'].map((name) => limitOf(setFor(set!, request), name))),
    ).toEqual([
      [7, 1, 8],
      [1, 1, undefined],
    ])
  })
})

describe('settings, global policies and blocks', () => {
  const settings = (more: Record<string, unknown>) => ({ pk: 'policy-set', sk: 'settings', ...more })
  const global = (limit: unknown) => ({
    pk: 'policy-set',
    sk: 'global',
    policies: [{ name: 'all', limit, window: '1s' }],
  })
  const block = (range: string, more: Record<string, unknown> = {}) => ({
    pk: 'policy-set',
    sk: `block#ip#${range}`,
    ...more,
  })

  it('are read with the rest', async () => {
    const set = await readNow(
      tierItem('anonymous', 20),
      tierItem('free', 60),
      settings({ defaultTier: 'free' }),
      global(1000),
      block('203.0.113.0/24'),
    )
    expect(set).toMatchObject({
      settings: { defaultTier: 'free' },
      global: [{ name: 'all', limit: 1000, by: { who: ['global'] } }],
    })
    const { access } = (await configurations.current())!
    expect(access.ofAddress(parseIpAddress('203.0.113.9'), clock.now)).toBe('block')
    expect(log.entries).toEqual([])
  })

  it('keep their last valid version, each by itself', async () => {
    await readNow(
      tierItem('anonymous', 20),
      settings({ trustedHeaders: ['X-Tenant'] }),
      global(1000),
      block('203.0.113.0/24'),
    )
    const set = await readLater(
      tierItem('anonymous', 21),
      settings({ trustedHeaders: 5 }),
      global(0),
      block('203.0.113.0/24', { note: 7 }),
    )
    expect(set).toMatchObject({ settings: { trustedHeaders: ['x-tenant'] }, global: [{ limit: 1000 }] })
    expect(limitOf(set)).toBe(21)
    const { access } = (await configurations.current())!
    expect(access.ofAddress(parseIpAddress('203.0.113.9'), clock.now)).toBe('block')
    expect(log.entries.map(({ details }) => details.item)).toEqual(['settings', 'global', 'block#ip#203.0.113.0/24'])
  })

  it('are reported when their default tier does not exist', async () => {
    await readNow(tierItem('anonymous', 20), settings({ defaultTier: 'fre' }))
    expect(log.entries[0]!.details.issues).toEqual([
      'defaultTier must be the name of a tier, got "fre", but there is no such tier (settings)',
    ])
  })
})

describe('a configuration that has not changed', () => {
  it('is the same object, so that nothing is computed again', async () => {
    await readNow(tierItem('anonymous', 20), tierItem('free', 60))
    const before = await configurations.current()
    await readLater(tierItem('anonymous', 20), tierItem('free', 60))
    expect(await configurations.current()).toBe(before)
    await readLater(tierItem('anonymous', 20), tierItem('free', 61))
    expect(await configurations.current()).not.toBe(before)
  })

  it('has the same tiers where only others have changed', async () => {
    const before = await readNow(tierItem('anonymous', 20), tierItem('free', 60))
    const after = await readLater(tierItem('anonymous', 21), tierItem('free', 60))
    expect(after!.tiers.get('free')).toBe(before!.tiers.get('free'))
  })

  it('has its mistakes logged and counted again at each reading', async () => {
    await readNow(tierItem('anonymous', 20), tierItem('free', 0))
    await readLater(tierItem('anonymous', 20), tierItem('free', 0))
    expect(log.entries).toHaveLength(2)
    expect(log.entries[1]).toEqual(log.entries[0])
    expect(log.metrics).toEqual(['ConfigErrors', 'ConfigErrors'])
  })
})

describe('a set of very many tiers', () => {
  const name = (i: number) => `tier-${String(i).padStart(3, '0')}`
  const many = (limit: (i: number) => unknown = () => 60) => [
    tierItem('anonymous', 20),
    ...Array.from({ length: 199 }, (_, i) => tierItem(name(i), limit(i))),
  ]
  const mistakes = () => log.entries.map(({ details }) => details.item)

  it('has every tier from the first request on', async () => {
    const set = await readNow(...many((i) => 100 + i))
    for (let i = 198; i >= 0; i--) expect(limitOf(set, name(i))).toBe(100 + i)
    expect(set!.tiers.get('tier-199')).toBeUndefined()
    expect(set!.tiers.get(name(7))).toBe(set!.tiers.get(name(7)))
  })

  it('has few tiers parsed before the first answer, and some more with each request, until every mistake is logged', async () => {
    const first = await readNow(...many((i) => (i === 5 || i === 50 || i === 198 ? 0 : 60)))
    expect(mistakes()).toEqual(['tier#tier-005'])
    for (let request = 1; request <= 19; request++) {
      expect(await sets.current()).toBe(first)
      expect(mistakes().includes('tier#tier-050')).toBe(request >= 5)
      expect(mistakes().includes('tier#tier-198')).toBe(request >= 19)
    }
    expect(log.entries).toHaveLength(3)
    expect(log.entries[1]!.details.issues).toEqual([
      'limit must be a positive integer, got 0 (item "tier#tier-050", tier "tier-050", policy "per-minute")',
    ])
    expect([...first!.tiers.keys()].sort()).toEqual(
      [...many().keys()]
        .map((i) => (i === 199 ? 'anonymous' : name(i)))
        .filter((one) => !/005|050|198/.test(one))
        .sort(),
    )
    for (let request = 0; request < 50; request++) await sets.current()
    expect(log.entries).toHaveLength(3)
  })

  it('has the mistake of a tier logged once, with the first request of a caller in it', async () => {
    const set = await readNow(...many((i) => (i === 150 ? 0 : 60)))
    expect(limitOf(set, name(150))).toBeUndefined()
    expect(limitOf(set, name(150))).toBeUndefined()
    expect(mistakes()).toEqual(['tier#tier-150'])
  })

  it('has contradictions logged when the last tier has been parsed', async () => {
    const settings = { pk: 'policy-set', sk: 'settings', defaultTier: 'tier-150' }
    const global = {
      pk: 'policy-set',
      sk: 'global',
      policies: [{ name: 'per-minute', limit: 5, window: '1m' }],
      by: 'client',
    }
    const set = await readNow(...many(), settings, global)
    expect(log.entries).toEqual([])
    for (let request = 1; request <= 19; request++) await sets.current()
    expect(log.entries.map(({ event }) => event)).toEqual(['config_items_conflict'])
    expect(log.entries[0]!.details.issues).toHaveLength(1)
    expect(await sets.current()).toBe(set)
  })

  it('keeps the last valid versions of tiers that were not parsed yet when it was read again', async () => {
    await readNow(...many())
    clock.now += TTL_MS
    const set = await readNow(...many((i) => (i === 150 ? 0 : 70)))
    expect([limitOf(set, name(149)), limitOf(set, name(150))]).toEqual([70, 60])
    expect(mistakes()).toEqual(['tier#tier-150'])
  })

  it('is the same object when a reading gives the same items', async () => {
    const before = await readNow(...many())
    expect(await readLater(...many())).toBe(before)
    expect(log.entries).toEqual([])
  })
})

describe('the switch', () => {
  const on = (mode: string) => ({ pk: 'policy-set', sk: 'switch', mode, since: '2026-11-21T12:00:00Z' })
  const others = [
    tierItem('anonymous', 20),
    { pk: 'policy-set', sk: 'settings @dev', apis: ['*/dev'], mode: 'observe' },
  ]
  const modeIn = (set: PolicySet | undefined, stageName = 'prod') =>
    setFor(set!, { apiId: 'a', stageName }).settings.mode

  it.each([
    ['off', ['off', 'off']],
    ['observe', ['observe', 'observe']],
  ])('%s holds for every API, whatever its settings say', async (mode, modes) => {
    const set = await readNow(...others, on(mode))
    expect([modeIn(set), modeIn(set, 'dev')]).toEqual(modes)
  })

  it('never makes the mode stricter than the settings do', async () => {
    expect(modeIn(await readNow(...others, { pk: 'policy-set', sk: 'settings', mode: 'off' }, on('observe')))).toBe(
      'off',
    )
  })

  it('ends when its item is deleted', async () => {
    await readNow(...others, on('off'))
    const set = await readLater(...others)
    expect([modeIn(set), modeIn(set, 'dev')]).toEqual(['enforce', 'observe'])
  })

  it('with an unknown mode is a mistake: limits are enforced, or the mode before stays in force', async () => {
    expect(modeIn(await readNow(...others, on('enforce')))).toBe('enforce')
    expect(log.entries.at(-1)).toMatchObject({
      details: { item: 'switch', issues: [expect.stringMatching(/^mode must be observe or off/)] },
    })
    expect(modeIn(await readLater(...others, on('off')))).toBe('off')
    expect(modeIn(await readLater(...others, on('of')))).toBe('off')
  })
})
