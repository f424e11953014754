import { unmarshall } from '@aws-sdk/util-dynamodb'
import { Clients } from '../../lambda/config-table/clients'
import { hashApiKey } from '../../lambda/identity/api-key'
import { thoroughly } from '../runs'
import { FakeClock, FakeLog, FakeTable, isSettled, itemsOf, readingOf, settled } from './fake-table'

const TTL_MS = 30_000
const REFRESH_MS = 25_000
const HASH = hashApiKey('key of alice')
const ITEM = { id: 'alice', tier: 'free' }
const ALICE = { ...ITEM, overrides: {}, disabled: false }

let table: FakeTable
let clock: FakeClock
let log: FakeLog
let clients: Clients

beforeEach(() => {
  table = new FakeTable()
  clock = new FakeClock()
  log = new FakeLog()
  const reading = readingOf(table, clock, log)
  clients = new Clients({ ...reading, ttlMs: TTL_MS, negativeTtlMs: TTL_MS })
})

const found = (item: Record<string, unknown>) => ({ Item: itemsOf([item])[0] })
const NOTHING = {}

async function findNow(output: Record<string, unknown>, hash = HASH) {
  table.answers = () => output
  const client = await clients.find(hash)
  await settled()
  table.answers = undefined
  return client
}

describe('a client', () => {
  it('is looked up by one GetItem under the hash of its key', async () => {
    expect(await findNow(found(ITEM))).toEqual(ALICE)
    expect(table.calls).toHaveLength(1)
    expect(table.calls[0]!.name).toBe('GetItemCommand')
    expect(table.calls[0]!.input).toMatchObject({ TableName: 'config' })
    expect(unmarshall(table.calls[0]!.input.Key as never)).toEqual({ pk: `client#${HASH}`, sk: 'client' })
    expect(table.calls[0]!.signal).toBeInstanceOf(AbortSignal)
  })

  it('is looked up once, however many requests need it at the same time', async () => {
    const waiting = Array.from({ length: 50 }, () => clients.find(HASH))
    await settled()
    expect(table.calls).toHaveLength(1)
    await table.calls[0]!.answer(found(ITEM))
    for (const client of await Promise.all(waiting)) expect(client).toEqual(ALICE)
    expect(table.calls).toHaveLength(1)
  })

  it('is looked up again after five sixths of its time to live, once, and no request waits for that', async () => {
    await findNow(found(ITEM))
    clock.now += REFRESH_MS - 1
    expect(await clients.find(HASH)).toEqual(ALICE)
    expect(table.calls).toHaveLength(1)

    clock.now += 1
    for (let request = 0; request < 50; request++) {
      const answer = clients.find(HASH)
      expect(await isSettled(answer)).toBe(true)
      expect(await answer).toEqual(ALICE)
    }
    expect(table.calls).toHaveLength(2)
    await table.calls[1]!.answer(found({ ...ALICE, tier: 'pro' }))
    expect(await clients.find(HASH)).toEqual({ ...ALICE, tier: 'pro' })
    clock.now += REFRESH_MS - 1
    await clients.find(HASH)
    expect(table.calls).toHaveLength(2)
  })

  it('is looked up before the first request after its time to live is decided', async () => {
    await findNow(found(ITEM))
    clock.now += TTL_MS
    const waiting = clients.find(HASH)
    expect(await isSettled(waiting)).toBe(false)
    await table.calls[1]!.answer(found({ ...ALICE, disabled: true }))
    expect(await waiting).toEqual({ ...ALICE, disabled: true })
  })

  it('is looked up again before a request is decided when the clock has stepped back', async () => {
    await findNow(found(ITEM))
    clock.now -= 1
    expect(await findNow(found({ ...ITEM, tier: 'pro' }))).toEqual({ ...ALICE, tier: 'pro' })
    expect(table.calls).toHaveLength(2)
  })

  it('that was deleted is unknown, also to the first request after an hour', async () => {
    await findNow(found(ITEM))
    clock.now += 3_600_000
    expect(await findNow(NOTHING)).toBeUndefined()
    expect(table.calls).toHaveLength(2)
  })

  it('is not updated by a look-up that was frozen with its instance', async () => {
    await findNow(found(ITEM))
    clock.now += REFRESH_MS
    await clients.find(HASH)
    clock.now += 600_000
    const waiting = clients.find(HASH)
    await settled()
    expect(table.calls).toHaveLength(3)
    await table.calls[1]!.answer(found({ ...ALICE, tier: 'of then' }))
    expect(await isSettled(waiting)).toBe(false)
    await table.calls[2]!.answer(found({ ...ALICE, tier: 'pro' }))
    expect(await waiting).toEqual({ ...ALICE, tier: 'pro' })
    expect(await clients.find(HASH)).toEqual({ ...ALICE, tier: 'pro' })
    expect(table.calls).toHaveLength(3)
  })
})

describe('an unknown key', () => {
  it('is remembered as long as a client', async () => {
    expect(await findNow(NOTHING)).toBeUndefined()
    clock.now += TTL_MS - 1
    expect(await clients.find(HASH)).toBeUndefined()
    expect(table.calls).toHaveLength(1)
    clock.now += 1
    expect(await findNow(found(ITEM))).toEqual(ALICE)
    expect(await clients.find(HASH)).toEqual(ALICE)
    expect(table.calls).toHaveLength(2)
  })

  thoroughly('pushes no client out of memory, and the number of remembered keys is bounded', async () => {
    const hashes = Array.from({ length: 100 }, (_, i) => hashApiKey(`client ${i}`))
    for (const [i, hash] of hashes.entries()) await findNow(found({ id: `client-${i}`, tier: 'free' }), hash)
    table.answers = () => NOTHING
    for (let made = 0; made < 11_000; made++) await clients.find(`made up ${made}`)
    const calls = table.calls.length
    expect(calls).toBe(100 + 11_000)

    for (const [i, hash] of hashes.entries())
      expect(await clients.find(hash)).toMatchObject({ id: `client-${i}`, tier: 'free' })
    for (let made = 1_000; made < 11_000; made++) await clients.find(`made up ${made}`)
    expect(table.calls).toHaveLength(calls)
    await clients.find('made up 999')
    expect(table.calls).toHaveLength(calls + 1)
    expect(remembered(clients)).toEqual([100, 10_000, 0])
  })

  thoroughly('has a bound of its own: known clients are bounded apart from it', async () => {
    table.answers = (call) => found({ id: String(unmarshall(call.input.Key as never).pk), tier: 'free' })
    for (let client = 0; client < 10_001; client++) await clients.find(`client ${client}`)
    expect(remembered(clients)).toEqual([10_000, 0, 0])
    await clients.find('client 10000')
    expect(table.calls).toHaveLength(10_001)
    await clients.find('client 0') // the one looked up longest ago
    expect(table.calls).toHaveLength(10_002)
  })
})

/** Sizes of all maps that it keeps. */
const remembered = (of: Clients): number[] =>
  Object.values(of).flatMap((value) => (value instanceof Map ? [value.size] : []))

describe('clients due for a refresh', () => {
  const ids = Array.from({ length: 120 }, (_, i) => `client ${i}`)
  const item = (credential: string, tier = 'free') =>
    itemsOf([{ pk: `client#${credential}`, sk: 'client', id: credential, tier }])[0]!
  const meet = async (credentials: readonly string[], tier?: string) => {
    for (const one of credentials) {
      table.answers = () => ({ Item: item(one, tier) })
      await clients.find(one)
    }
    table.answers = undefined
  }
  const keysOf = (call: { input: unknown }) =>
    (call.input as { RequestItems: { config: { Keys: unknown[] } } }).RequestItems.config.Keys

  it('are looked up together if they were used', async () => {
    await meet(ids.slice(0, 50))
    for (const used of ids.slice(0, 40)) await clients.find(used)
    clock.now += REFRESH_MS
    for (const one of ids.slice(0, 40)) expect(await clients.find(one)).toMatchObject({ tier: 'free' })
    expect(table.calls).toHaveLength(51)
    expect(table.calls[50]!.name).toBe('BatchGetItemCommand')
    expect(keysOf(table.calls[50]!)).toHaveLength(40)
    await table.calls[50]!.answer({ Responses: { config: ids.slice(0, 40).map((one) => item(one, 'pro')) } })
    for (const one of ids.slice(0, 40)) expect(await clients.find(one)).toMatchObject({ id: one, tier: 'pro' })
    expect(table.calls).toHaveLength(51)
  })

  it('are looked up at most a hundred at a time, without those before half of their time to live', async () => {
    await meet(ids)
    for (const used of ids) await clients.find(used)
    clock.now += REFRESH_MS - 1
    await meet(['late'])
    await clients.find('late')
    clock.now += 1
    await clients.find(ids[0]!)
    expect(keysOf(table.calls.at(-1)!)).toHaveLength(100)
    await clients.find(ids[119]!)
    expect(keysOf(table.calls.at(-1)!)).toHaveLength(20)
  })

  it('each get their own result when one is deleted, invalid or not answered at first', async () => {
    await meet(ids.slice(0, 4))
    for (const used of ids.slice(0, 4)) await clients.find(used)
    clock.now += REFRESH_MS
    await clients.find(ids[0]!)
    const wrong = itemsOf([{ pk: `client#${ids[2]}`, sk: 'client', id: '', tier: 'pro' }])[0]!
    const UnprocessedKeys = { config: { Keys: [{ pk: { S: `client#${ids[3]}` }, sk: { S: 'client' } }] } }
    await table.calls.at(-1)!.answer({ Responses: { config: [item(ids[0]!, 'pro'), wrong] }, UnprocessedKeys })
    expect(table.calls.at(-1)!.input.Key).toEqual(UnprocessedKeys.config.Keys[0])
    await table.calls.at(-1)!.answer({ Item: item(ids[3]!, 'pro') })
    const now = await Promise.all(ids.slice(0, 4).map((one) => clients.find(one)))
    expect(now.map((one) => (typeof one === 'object' ? one.tier : one))).toEqual(['pro', undefined, 'free', 'pro'])
    expect(log.entries).toHaveLength(1)
  })

  it('stay in force when they cannot be looked up', async () => {
    await meet(ids.slice(0, 4))
    for (const used of ids.slice(0, 4)) await clients.find(used)
    clock.now += REFRESH_MS
    await clients.find(ids[0]!)
    await table.calls.at(-1)!.fail(new Error('slow'))
    for (const one of ids.slice(0, 4)) expect(await clients.find(one)).toMatchObject({ tier: 'free' })
    expect(table.calls).toHaveLength(5)
    expect(log.entries).toHaveLength(1)
  })

  it('are not added to the look-up of a new client, which a request waits for', async () => {
    await meet(ids.slice(0, 4))
    for (const used of ids.slice(0, 4)) await clients.find(used)
    clock.now += REFRESH_MS
    await meet(['new'])
    expect(table.calls.at(-1)!.name).toBe('GetItemCommand')
  })
})

describe('an unknown credential', () => {
  it('is looked up once in the negative time to live', async () => {
    const reading = readingOf(table, clock, log)
    clients = new Clients({ ...reading, ttlMs: TTL_MS, negativeTtlMs: 5000 })
    expect(await findNow(NOTHING)).toBeUndefined()
    clock.now += 4999
    expect(await clients.find(HASH)).toBeUndefined()
    expect(table.calls).toHaveLength(1)
    clock.now += 1
    expect(await findNow(found(ITEM))).toEqual(ALICE)
    clock.now += 5000
    await clients.find(HASH)
    expect(table.calls).toHaveLength(2)
  })
})

describe('a client whose item is invalid', () => {
  it.each([
    [{ id: '', tier: 'free' }, ['id must be a string of 1 to 256 characters, got "" (client)']],
    [
      { id: 'x'.repeat(257), tier: 'free' },
      [expect.stringMatching(/^id must be a string of 1 to 256 characters, got "x{60}…" \(client\)$/)],
    ],
    [{ id: 7, tier: 'free' }, ['id must be a string of 1 to 256 characters, got 7 (client)']],
    [{ id: 'alice' }, ['tier is missing, it must be the name of a tier (client)']],
    [{ ...ITEM, disable: true }, ['unknown field "disable", did you mean "disabled"? (client)']],
    [{ id: 'alice', tier: '' }, ['tier must be the name of a tier, got "" (client)']],
    [
      { id: ['alice'], tier: null },
      [
        'id must be a string of 1 to 256 characters, got a list (client)',
        'tier must be the name of a tier, got null (client)',
      ],
    ],
  ])('%j is told, and cannot be known where it never was right', async (item, issues) => {
    expect(await findNow(found(item))).toBe('unavailable')
    expect(log.entries).toEqual([
      { level: 'error', event: 'client_invalid', details: { item: `client#${HASH}`, issues } },
    ])
    await clients.find(HASH)
    expect(table.calls).toHaveLength(1)
  })

  it('stays in force as it was', async () => {
    await findNow(found(ITEM))
    for (const broken of [
      found({ id: 'alice' }),
      { Item: { id: { N: '1e500' } } },
      { Item: { id: { X: 'unknown type' } } },
    ]) {
      clock.now += TTL_MS
      await findNow(broken)
      expect(await clients.find(HASH)).toEqual(ALICE)
    }
    expect(log.entries).toHaveLength(3)
    expect(table.calls).toHaveLength(4)
    clock.now += TTL_MS
    await findNow(found({ ...ALICE, tier: 'pro' }))
    expect(await clients.find(HASH)).toEqual({ ...ALICE, tier: 'pro' })
  })
})

describe('a look-up that fails', () => {
  const failure = Object.assign(new Error('throttled'), { name: 'ThrottlingException' })

  it('leaves a known client in force, and is not repeated within a second', async () => {
    await findNow(found(ITEM))
    clock.now += TTL_MS
    table.answers = () => {
      throw failure
    }
    for (let request = 0; request < 40; request++) {
      expect(await clients.find(HASH)).toEqual(ALICE)
      await settled()
      clock.now += 100
    }
    expect(table.calls).toHaveLength(1 + 2 * 4) // each tried again
    expect(log.entries).toHaveLength(4)
    expect(log.entries[0]).toEqual({
      level: 'error',
      event: 'client_unreadable',
      details: { table: 'config', error: 'throttled', name: 'ThrottlingException', reason: undefined },
    })
    expect(await findNow(found({ ...ALICE, tier: 'pro' }))).toEqual({ ...ALICE, tier: 'pro' })
  })

  it('of many keys opens the circuit breaker: after five failures no request waits for the table until it answers again', async () => {
    table.answers = () => {
      throw failure
    }
    for (let i = 0; i < 30; i++) expect(await clients.find(`made-up-${i}`)).toBe('unavailable')
    expect(table.calls).toHaveLength(2 * 5) // each tried again
    expect(log.entries).toHaveLength(5)
    table.answers = undefined
    clock.now += 1500
    expect(await findNow(found(ITEM))).toEqual(ALICE)
  })

  it('of a key that is not known yet makes it unavailable for this request only', async () => {
    const first = [clients.find(HASH), clients.find(HASH)]
    await settled()
    await table.calls[0]!.fail(failure)
    await table.calls[1]!.fail(failure)
    expect(await Promise.all(first)).toEqual(['unavailable', 'unavailable'])
    expect(await findNow(found(ITEM))).toEqual(ALICE)
    expect(table.calls).toHaveLength(3)
  })

  it('is tried again where a request waits for it, unless it would be refused again', async () => {
    const first = clients.find(HASH)
    await settled()
    await table.calls[0]!.fail(failure)
    await table.calls[1]!.answer(found(ITEM))
    expect(await first).toEqual(ALICE)
    const refused = clients.find('another')
    await settled()
    await table.calls[2]!.fail(Object.assign(new Error('no'), { name: 'AccessDeniedException' }))
    expect(await refused).toBe('unavailable')
    expect(table.calls).toHaveLength(3)
  })

  it('is also an answer without a request id', async () => {
    table.answers = () => ({ ...found(ITEM), $metadata: { httpStatusCode: 200 } })
    expect(await clients.find(HASH)).toBe('unavailable')
    expect(log.entries[0]).toMatchObject({ event: 'client_unreadable' })
  })

  it('of an unknown key leaves it unknown', async () => {
    await findNow(NOTHING)
    clock.now += TTL_MS
    table.answers = () => {
      throw failure
    }
    expect(await clients.find(HASH)).toBeUndefined()
    expect(await clients.find(HASH)).toBeUndefined()
    expect(table.calls).toHaveLength(1 + 2)
  })

  it.each([undefined, null, 5, { Item: null }, { Item: 5 }, { Item: [] }, { Item: { id: null } }])(
    'or answers %j finds no client',
    async (output) => {
      expect(typeof (await findNow(output as never))).not.toBe('object')
    },
  )
})
