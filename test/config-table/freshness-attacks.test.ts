import { marshall } from '@aws-sdk/util-dynamodb'
import { Clients } from '../../lambda/config-table/clients'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { KeyRings } from '../../lambda/config-table/key-rings'
import { Refresher } from '../../lambda/config-table/refresher'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { inTime } from '../in-time'
import { FakeClock, FakeLog, FakeTable, isSettled, itemsOf, readingOf, settled } from './fake-table'

const HOUR = 3_600_000

interface Pending {
  answer(value: number): Promise<void>
  fail(): Promise<void>
}

let clock: FakeClock
let readings: Pending[]
let value: number | undefined
let refresher: Refresher<number>

beforeEach(() => {
  clock = new FakeClock()
  readings = []
  value = undefined
  refresher = new Refresher<number>({
    clock: clock.read,
    refreshMs: 25_000,
    maxAgeMs: 30_000,
    deadlineMs: 2000,
    read: () =>
      new Promise((resolve, reject) => {
        readings.push({
          answer: (read) => settled(() => resolve(read)),
          fail: () => settled(() => reject(new Error('no answer'))),
        })
      }),
    apply: (read) => {
      value = read
      return true
    },
    onError: () => {},
  })
})

const request = async () => {
  await refresher.refresh()
  return value
}

const start = async () => {
  const first = request()
  await readings[0]!.answer(1)
  expect(await first).toBe(1)
}

describe('a value of the config table', () => {
  it('is read before the first request after a freeze, also where the frozen reading fails before that request comes', async () => {
    await start()
    clock.now += 25_000
    await request() // begins a reading; then the instance is frozen
    clock.now += HOUR
    await readings[1]!.fail()
    const after = request()
    expect(await isSettled(after)).toBe(false)
    await readings[2]!.answer(2)
    expect(await after).toBe(2)
  })

  it('is read by the first request of an instance that was frozen while it started', async () => {
    void request()
    clock.now += HOUR
    await readings[0]!.fail()
    const after = request()
    expect(await isSettled(after)).toBe(false)
    await readings[1]!.answer(2)
    expect(await after).toBe(2)
  })

  it('is paused for no longer after many requests waited in vain at the same time than after one', async () => {
    await start()
    clock.now += 30_000
    const waiting = Array.from({ length: 20 }, request)
    await settled()
    await readings[1]!.fail()
    await Promise.all(waiting)
    clock.now += 1000
    const after = request()
    expect(await isSettled(after)).toBe(false)
    await readings[2]!.answer(2)
    expect(await after).toBe(2)
  })

  it.each([HOUR, -HOUR])(
    'comes from the later reading for requests that waited when the clock stepped by %d ms',
    async (step) => {
      await start()
      clock.now += 30_000
      const early = request()
      clock.now += step
      const late = request()
      await readings[1]!.answer(2)
      expect(await isSettled(early)).toBe(false)
      await readings[2]!.answer(3)
      expect(await Promise.all([early, late])).toEqual([3, 3])
    },
  )

  it('that was never read comes from the later reading when the clock steps during the first', async () => {
    const early = request()
    clock.now += HOUR
    const late = request()
    await readings[0]!.answer(2)
    await readings[1]!.answer(3)
    expect(await Promise.all([early, late])).toEqual([3, 3])
  })
})

describe('the secrets in the config table', () => {
  it('are read before the first request after a freeze, also where the frozen reading fails before that request comes', async () => {
    const table = new FakeTable()
    const log = new FakeLog()
    const { subjectKeys: keys } = new KeyRings(readingOf(table, clock, log))
    table.answers = () => ({})
    await keys.current()
    table.answers = undefined
    clock.now += 60_000
    await keys.current()
    clock.now += HOUR
    await table.calls[1]!.fail(Object.assign(new Error('no'), { name: 'AccessDeniedException' }))
    const after = keys.current()
    expect(await isSettled(after)).toBe(false)
    const item = marshall(keyRingItem(HMAC_RING, [{ secret: Buffer.alloc(32, 7), activeFrom: 0 }]))
    await table.calls[2]!.answer({ Responses: { config: [item] } })
    expect((await after)?.keys).toHaveLength(1)
  })
})

describe('a client', () => {
  const failure = Object.assign(new Error('throttled'), { name: 'ThrottlingException' })
  const item = (id: string, tier: string) => itemsOf([{ pk: `client#${id}`, sk: 'client', id, tier }])[0]!
  let table: FakeTable
  let clients: Clients

  beforeEach(() => {
    table = new FakeTable()
    const reading = { calls: sdkCalls(table.client), tableName: 'config', clock: clock.read, deadlineMs: 300 }
    clients = new Clients({ ...reading, log: new FakeLog().write, ttlMs: 30_000, negativeTtlMs: 30_000 })
  })

  const meet = async (...ids: readonly string[]) => {
    for (const id of ids) {
      table.answers = () => ({ Item: item(id, 'free') })
      await clients.find(id)
      await clients.find(id)
    }
    await settled()
    table.answers = undefined
  }

  it.each(['a', 'b'])(
    '%s is looked up before the first request after a freeze, also where the frozen look-up of both fails before that',
    async (id) => {
      await meet('a', 'b')
      clock.now += 25_000
      await clients.find('a')
      clock.now += HOUR
      await table.calls.at(-1)!.fail(failure)
      const after = clients.find(id)
      expect(await isSettled(after)).toBe(false)
      await table.calls.at(-1)!.answer({ Item: item(id, 'pro'), Responses: { config: [item(id, 'pro')] } })
      expect(await after).toMatchObject({ tier: 'pro' })
    },
  )

  it.each([HOUR, -HOUR])(
    'comes from the later look-up for requests that waited when the clock stepped by %d ms',
    async (step) => {
      const early = clients.find('a')
      clock.now += step
      const late = clients.find('a')
      await table.calls[0]!.answer({ Item: item('a', 'free') })
      await table.calls[1]!.answer({ Item: item('a', 'pro') })
      expect(await Promise.all([early, late])).toMatchObject([{ tier: 'pro' }, { tier: 'pro' }])
    },
  )

  it.each(['fails first', 'is still under way'])(
    'is looked up after a freeze during the probe of an open circuit, which %s',
    async (how) => {
      await meet('a')
      clock.now += 25_000
      table.answers = () => {
        throw failure
      }
      for (let i = 0; i < 5; i++) await clients.find(`new ${i}`)
      await settled()
      table.answers = undefined
      clock.now += 1600
      await clients.find('a') // the probe, in the background
      const probe = table.calls.at(-1)!
      clock.now += HOUR
      if (how === 'fails first') await probe.fail(failure)
      const after = clients.find('a')
      expect(await isSettled(after)).toBe(false)
      await table.calls.at(-1)!.answer({ Item: item('a', 'pro') })
      expect(await after).toMatchObject({ tier: 'pro' })
    },
  )

  it('keeps no request waiting longer than the deadline, also where a later look-up has begun meanwhile', async () => {
    await meet('a')
    clock.now += 30_000
    const early = clients.find('a')
    const answered = inTime(400, () => early)
    await new Promise((resolve) => setTimeout(resolve, 200))
    clock.now += 301
    const late = clients.find('a')
    await table.calls[1]!.fail(Object.assign(new Error('no'), { name: 'AccessDeniedException' }))
    expect(await answered).toMatchObject({ tier: 'free' })
    await late
  })

  it('gets what the table answered about it, though it did not answer about another one of the same look-up', async () => {
    await meet('a', 'b')
    clock.now += 30_000
    const after = clients.find('a')
    await settled()
    const UnprocessedKeys = { config: { Keys: [{ pk: { S: 'client#b' }, sk: { S: 'client' } }] } }
    await table.calls.at(-1)!.answer({ Responses: { config: [item('a', 'pro')] }, UnprocessedKeys })
    await table.calls.at(-1)!.fail(failure)
    await table.calls.at(-1)!.fail(failure)
    expect(await after).toMatchObject({ tier: 'pro' })
  })
})
