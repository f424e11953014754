import { marshall } from '@aws-sdk/util-dynamodb'
import { ringKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem, RING_KEY_LEAD_MS, type RingKind } from '../../lambda/config-table/items/key-ring'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { KeyRings } from '../../lambda/config-table/key-rings'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { FakeClock, FakeLog, FakeTable, isSettled, readingOf, settled } from './fake-table'

const SECRET = Buffer.alloc(32, 7)
const MINUTE = 60_000

const nothing = () => ({})
const keyOf = (name: string) => ({ pk: { S: name }, sk: { S: name } })
const broken = () => {
  throw Object.assign(new Error('no way'), { name: 'InternalServerError' })
}

describe.each<RingKind>([HMAC_RING, SIGNING_RING])('the secrets of the ring $name', (kind) => {
  let table: FakeTable
  let clock: FakeClock
  let log: FakeLog
  let reader: KeyRings['subjectKeys'] | KeyRings['signingKeys']

  const newReader = () => {
    const rings = new KeyRings(readingOf(table, clock, log))
    return kind === HMAC_RING ? rings.subjectKeys : rings.signingKeys
  }
  beforeEach(() => {
    table = new FakeTable()
    clock = new FakeClock()
    log = new FakeLog()
    reader = newReader()
  })
  const found = (item: object) => () => ({ Responses: { config: [marshall(item)] } })
  const secret = (activeFrom: number) => found(keyRingItem(kind, [{ secret: SECRET, activeFrom }]))
  const active = async () => (await reader.current())?.activeAt(clock.now)?.secret

  it('are read together with those of the other ring by one consistent call, of partitions of their own', async () => {
    table.answers = nothing
    await reader.current()
    expect(table.calls.map(({ name, input }) => [name, input])).toEqual([
      [
        'BatchGetItemCommand',
        { RequestItems: { config: { Keys: [keyOf('hmac-key'), keyOf('signing-key')], ConsistentRead: true } } },
      ],
    ])
  })

  it('are asked for again where DynamoDB has left them out of an answer', async () => {
    const left = { UnprocessedKeys: { config: { Keys: [keyOf(kind.name)] } } }
    table.answers = () => (table.calls.length === 1 ? left : secret(0)())
    expect(await active()).toEqual(SECRET)
    expect(table.calls[1]!.input).toEqual({
      RequestItems: { config: { Keys: [keyOf(kind.name)], ConsistentRead: true } },
    })
  })

  it('are read again each minute, beside the requests, and are the same object while nothing changes', async () => {
    table.answers = secret(0)
    const first = await reader.current()
    clock.now += MINUTE - 1
    expect(await reader.current()).toBe(first)
    expect(table.calls).toHaveLength(1)
    clock.now++
    table.answers = undefined
    expect(await reader.current()).toBe(first)
    expect(table.calls).toHaveLength(2)
    await table.calls[1]!.answer(secret(0)())
    expect(await reader.current()).toBe(first)
  })

  it('are unknown to an instance that could never read them, which is not the same as none', async () => {
    table.answers = broken
    expect(await reader.current()).toBeUndefined()
    clock.now += 999
    expect(await reader.current()).toBeUndefined()
    const tries = table.calls.length
    clock.now += 1
    table.answers = secret(0)
    expect(await active()).toEqual(SECRET)
    expect(table.calls).toHaveLength(tries + 1)
    expect(log.entries.map(({ event }) => event)).toEqual(['hmac_key_unreadable'])
  })

  it('are unknown to an instance that has only read an invalid item; one that knew them keeps them, and counts the mistake', async () => {
    const wrong = found({ ...ringKey(kind), keys: 'none' })
    table.answers = wrong
    expect(await reader.current()).toBeUndefined()
    clock.now += 1000
    table.answers = secret(0)
    await reader.current()
    const isAwaited = kind === HMAC_RING // without signing keys, requests are decided all the same
    expect(await active()).toEqual(isAwaited ? SECRET : undefined)
    clock.now += isAwaited ? 0 : MINUTE
    await reader.current()
    await settled()
    expect(await active()).toEqual(SECRET)
    clock.now += MINUTE
    table.answers = wrong
    await reader.current()
    await settled()
    expect(await active()).toEqual(SECRET)
    expect(log.metrics).toEqual(['ConfigErrors', 'ConfigErrors'])
    expect(JSON.stringify(log.entries)).not.toContain(SECRET.toString('base64').slice(0, 8))
  })

  it('are dropped when the item is deleted, as on new instances; this is logged once, and counted', async () => {
    table.answers = secret(0)
    await reader.current()
    table.answers = nothing
    for (let i = 0; i < 3; i++) {
      clock.now += MINUTE
      await reader.current()
      await settled()
    }
    expect(await active()).toBeUndefined()
    expect(log.entries.map(({ event }) => event)).toEqual([kind.missing])
  })

  it('change over at the same moment on every instance that has read them within the nine minutes before it', async () => {
    for (let lookedBefore = 0; lookedBefore < 9 * MINUTE; lookedBefore += 30_000) {
      reader = newReader()
      table.answers = nothing
      await reader.current()
      const writtenAt = clock.now + 1 // right after it looked
      table.answers = secret(writtenAt + RING_KEY_LEAD_MS)
      clock.now += lookedBefore
      await reader.current()
      await settled()
      clock.now = writtenAt + RING_KEY_LEAD_MS - 1
      expect(await active()).toBeUndefined()
      clock.now++
      expect(await active()).toEqual(SECRET)
    }
  })

  it('are read before the first request of an instance that was frozen for longer, which may have missed a change', async () => {
    table.answers = nothing
    await reader.current()
    table.answers = undefined
    clock.now += 9 * MINUTE - 1
    expect(await isSettled(reader.current())).toBe(true) // certain still
    clock.now++
    const waiting = reader.current()
    expect(await isSettled(waiting)).toBe(false)
    await table.calls[1]!.answer(secret(clock.now)())
    expect((await waiting)?.activeAt(clock.now)?.secret).toEqual(SECRET)
  })

  it('stay in force where that reading fails, and are read again a second later', async () => {
    table.answers = secret(0)
    await reader.current()
    clock.now += 9 * MINUTE
    table.answers = broken
    expect(await active()).toEqual(SECRET)
    const tries = table.calls.length
    expect(await active()).toEqual(SECRET)
    expect(table.calls).toHaveLength(tries)
    clock.now += 1000
    table.answers = nothing
    expect(await active()).toBeUndefined()
  })

  it('are read again after a clock was set back', async () => {
    table.answers = nothing
    await reader.current()
    clock.now -= 3600_000
    table.answers = secret(0)
    expect(await active()).toEqual(SECRET)
  })
})

test('a mistake in the item of one ring leaves the other as it is', async () => {
  const key = { secret: SECRET, activeFrom: 0 }
  for (const [right, wrong] of [
    [HMAC_RING, SIGNING_RING],
    [SIGNING_RING, HMAC_RING],
  ] as const) {
    const table = new FakeTable()
    const items = [keyRingItem(right, [key]), { ...ringKey(wrong), keys: 'none' }]
    table.answers = () => ({ Responses: { config: items.map((item) => marshall(item)) } })
    const { read: clock } = new FakeClock()
    const log = new FakeLog()
    const rings = new KeyRings({
      calls: sdkCalls(table.client),
      tableName: 'config',
      clock,
      deadlineMs: 2000,
      log: log.write,
    })
    const known = [await rings.subjectKeys.current(), await rings.signingKeys.current()]
    expect(known.map((ring) => ring?.keys.length)).toEqual(right === HMAC_RING ? [1, undefined] : [undefined, 1])
  }
})
