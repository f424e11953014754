import { PolicySets } from '../../lambda/config-table/configuration'
import { beginReadings, type FirstReadings } from '../../lambda/config-table/first-readings'
import { KeyRings } from '../../lambda/config-table/key-rings'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { FakeClock, FakeLog, FakeTable, isSettled, itemsOf, readingOf, settled, tierItem } from './fake-table'

const TTL_MS = 30_000

let table: FakeTable
let clock: FakeClock
let log: FakeLog
let sets: PolicySets
let rings: KeyRings

/** An instance starts, and asks the table. */
function start(): void {
  const first: FirstReadings = beginReadings(sdkCalls(table.client), 'config', clock.read)
  const reading = readingOf(table, clock, log)
  sets = new PolicySets({ ...reading, ttlMs: TTL_MS, first: first.policySet })
  rings = new KeyRings({ ...reading, first: first.keyRings })
}

/** What a request is decided by. */
const request = async () => {
  const [configuration, keys] = await Promise.all([sets.current(), rings.subjectKeys.current()])
  return { limit: configuration?.policies.tiers.get('anonymous')?.policies[0]?.limit, keys: keys?.keys.length }
}
const answersOf = (limit: number) => (call: { readonly name: string }) =>
  call.name === 'QueryCommand' ? { Items: itemsOf([tierItem('anonymous', limit)]) } : { Responses: { config: [] } }
const asked = () => table.calls.map(({ name }) => name)

beforeEach(() => {
  table = new FakeTable()
  clock = new FakeClock()
  log = new FakeLog()
})

describe('what an instance reads at its start', () => {
  it('is what the first request is decided by, whether it is there already or comes later', async () => {
    table.answers = answersOf(10)
    start()
    await settled()
    clock.now += 1000
    expect(await request()).toEqual({ limit: 10, keys: 0 })

    table.answers = undefined
    start()
    const waiting = request()
    expect(await isSettled(waiting)).toBe(false)
    for (const call of table.calls.slice(2)) await call.answer(answersOf(20)(call))
    expect(await waiting).toEqual({ limit: 20, keys: 0 })
    expect(asked()).toEqual(['QueryCommand', 'BatchGetItemCommand', 'QueryCommand', 'BatchGetItemCommand'])
  })

  it('is as old as its beginning', async () => {
    table.answers = answersOf(10)
    start()
    await settled()
    clock.now += 1500
    await request()
    table.answers = answersOf(20)
    clock.now += TTL_MS - 1500
    expect(await request()).toMatchObject({ limit: 20 })
  })

  it('is read again where it has failed, and the first request is decided all the same', async () => {
    table.answers = () => {
      throw Object.assign(new Error('no such table'), { name: 'ResourceNotFoundException' })
    }
    start()
    await settled()
    table.answers = answersOf(10)
    expect(await request()).toEqual({ limit: 10, keys: 0 })
    expect(log.entries).toEqual([])
  })

  it('takes two seconds at most, of which a second try gets what the first has left', async () => {
    const limits = jest.spyOn(AbortSignal, 'timeout')
    const elapsed = jest.spyOn(performance, 'now').mockReturnValue(0)
    start()
    const asking = table.calls.slice()
    elapsed.mockReturnValue(700)
    for (const call of asking) await call.fail(new Error('reset'))
    expect(limits.mock.calls).toEqual([[1200], [1200], [1300], [1300]])
    for (const call of table.calls.slice(2)) await call.fail(new Error('reset'))
    expect(table.calls).toHaveLength(4)
    jest.restoreAllMocks()
  })

  it.each([600_000, -60_000])('is not used where the first request comes %i ms later, answered or not', async (ms) => {
    for (const isAnswered of [true, false]) {
      table.answers = isAnswered ? answersOf(10) : undefined
      start()
      await settled()
      const begun = table.calls.slice(-2)
      clock.now += ms // frozen after its start, as a provisioned instance is
      table.answers = answersOf(20)
      expect(await request()).toEqual({ limit: 20, keys: 0 })
      for (const call of begun) await call.answer(answersOf(10)(call))
      expect(await request()).toEqual({ limit: 20, keys: 0 })
    }
  })
})
