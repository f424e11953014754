import { PolicySets } from '../../lambda/config-table/configuration'
import { LastValid } from '../../lambda/config-table/last-valid'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { FakeClock, FakeLog, FakeTable, isSettled, itemsOf, readingOf, settled, tierItem } from './fake-table'

const TTL_MS = 30_000

let table: FakeTable
let clock: FakeClock
let log: FakeLog
let sets: PolicySets

beforeEach(() => {
  table = new FakeTable()
  clock = new FakeClock()
  log = new FakeLog()
  const reading = readingOf(table, clock, log)
  sets = new PolicySets({ ...reading, ttlMs: TTL_MS, lastValid: new LastValid(reading) })
})

const page = (...items: Record<string, unknown>[]) => ({ Items: itemsOf(items) })
const limitOf = async (tier: string) => (await sets.current())?.policies.tiers.get(tier)?.policies[0]?.limit
const BROKEN = tierItem('broken', 'many')

describe('a policy set with an invalid item', () => {
  it('comes into force though the set and the copies each take most of their deadline, with requests all the time', async () => {
    table.answers = () => page(tierItem('free', 1))
    await sets.current()
    await settled()
    table.answers = undefined
    clock.now += 25_000
    const due: { at: number; answer: () => Promise<void> }[] = []
    let seen = table.calls.length
    let limit: unknown
    for (let ms = 0; ms < 20_000 && limit !== 2; ms += 100) {
      void sets.current().then((now) => {
        limit = now?.policies.tiers.get('free')?.policies[0]?.limit
      })
      await settled()
      for (const call of table.calls.slice(seen)) {
        const isSet = JSON.stringify(call.input).includes('policy-set')
        const answer = () => call.answer(isSet ? page(tierItem('free', 2), BROKEN) : page())
        due.push({ at: clock.now + 1500, answer })
      }
      seen = table.calls.length
      clock.now += 100
      for (const one of due.filter(({ at }) => at === clock.now)) await one.answer()
    }
    expect(limit).toBe(2)
  })

  it('is not replaced by an older one whose copies come later', async () => {
    const first = sets.current()
    await table.calls[0]!.answer(page(tierItem('free', 1), BROKEN)) // now it reads the copies, and is frozen
    clock.now += 600_000
    const second = sets.current()
    await settled()
    const later = table.calls.at(-1)!
    await later.answer(page(tierItem('free', 2)))
    await second
    await table.calls[1]!.answer(page())
    await first
    expect(await limitOf('free')).toBe(2)
  })

  it('has all its tiers where the first reading was frozen while it read the copies', async () => {
    const tiers = (limit: number, from: number) => Array.from({ length: 60 }, (_, i) => tierItem(`t${from + i}`, limit))
    const first = sets.current()
    await table.calls[0]!.answer(page(...tiers(1, 0), { ...BROKEN, sk: 'route#bad' }))
    clock.now += 600_000
    const second = sets.current()
    await settled()
    const later = table.calls.at(-1)!
    await table.calls[1]!.answer(page())
    await later.answer(page(...tiers(2, 30)))
    await Promise.all([first, second])
    table.answers = () => page()
    for (let i = 30; i < 90; i++) expect(await limitOf(`t${i}`)).toBe(2)
    expect(await limitOf('t0')).toBeUndefined()
  })
})

describe('a set with too many items', () => {
  it('does not keep an instance that was frozen in the middle from reading again', async () => {
    void sets.current()
    const many = Array.from({ length: 20_001 }, (_, i) => ({ sk: { S: `tier#${i}` } }))
    await table.calls[0]!.answer({ Items: many })
    clock.now += 600_000
    await table.calls[1]!.fail(new Error('frozen'))
    const after = sets.current()
    expect(await isSettled(after)).toBe(false)
    await table.calls.at(-1)!.answer(page(tierItem('free', 2)))
    expect((await after)?.policies.tiers.get('free')?.policies[0]?.limit).toBe(2)
  })
})

describe('a table that does not answer', () => {
  it.each([1000, TTL_MS])('keeps few requests waiting where the time to live is %d ms', async (ttlMs) => {
    const reading = readingOf(table, clock, log)
    sets = new PolicySets({ ...reading, ttlMs })
    table.answers = () => page(tierItem('free', 1))
    await sets.current()
    table.answers = undefined
    clock.now += ttlMs
    let waited = 0
    for (let i = 0; i < 600; i++) {
      const request = sets.current()
      if (!(await isSettled(request))) waited++
      for (const call of table.calls.slice(1))
        await call.fail(Object.assign(new Error('no'), { name: 'AccessDeniedException' }))
      table.calls.length = 1
      await request
      clock.now += 100
    }
    expect(waited).toBeLessThan(8)
  })

  it('is asked a second time, on another connection, before the waiting request is decided', async () => {
    let hangs = false
    let limit = 1
    const send = (_: unknown, { abortSignal }: { abortSignal: AbortSignal }) => {
      if (!hangs) return Promise.resolve(page(tierItem('free', limit)))
      hangs = false
      return new Promise((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => reject(new Error('aborted')))
      })
    }
    const reading = { calls: sdkCalls({ send } as never), tableName: 'config', clock: clock.read, deadlineMs: 2000 }
    sets = new PolicySets({ ...reading, log: log.write, ttlMs: TTL_MS })
    expect(await limitOf('free')).toBe(1)
    clock.now += 3_600_000
    hangs = true
    limit = 2
    expect(await limitOf('free')).toBe(2)
  })
})
