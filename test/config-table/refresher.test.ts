import * as fc from 'fast-check'
import { Refresher } from '../../lambda/config-table/refresher'
import { runs } from '../runs'
import { FakeClock, isSettled, settled } from './fake-table'

const REFRESH_MS = 25_000
const MAX_AGE_MS = 30_000
const DEADLINE_MS = 2000

/** A reading that waits for the test to end it. */
interface Pending {
  readonly awaited: boolean
  answer(value: number): Promise<void>
  fail(): Promise<void>
}

class Value {
  readonly clock = new FakeClock()
  readonly readings: Pending[] = []
  readonly errors: unknown[] = []
  /** What is in force. */
  value: number | undefined
  /** Answers each reading at once while it is set. */
  answers: (() => number) | undefined
  isUsable = true

  private readonly refresher = new Refresher<number>({
    clock: this.clock.read,
    refreshMs: REFRESH_MS,
    maxAgeMs: MAX_AGE_MS,
    deadlineMs: DEADLINE_MS,
    read: (awaited) =>
      new Promise((resolve, reject) => {
        const fail = () => settled(() => reject(new Error('no answer')))
        this.readings.push({ awaited, answer: (value) => settled(() => resolve(value)), fail })
        try {
          if (this.answers) resolve(this.answers())
        } catch (error) {
          reject(error)
        }
      }),
    apply: (value) => {
      this.value = value
      return this.isUsable
    },
    onError: (error) => this.errors.push(error),
  })

  /** What a request is decided by. */
  async request(): Promise<number | undefined> {
    await this.refresher.refresh()
    return this.value
  }

  readSoon(): void {
    this.refresher.readSoon()
  }
}

const down = (): never => {
  throw new Error('down')
}

let value: Value

beforeEach(async () => {
  value = new Value()
  value.answers = () => 1
  expect(await value.request()).toBe(1)
  value.answers = undefined
})

afterEach(() => jest.useRealTimers())

describe('a value of the config table', () => {
  it('is read once for all requests of its first 25 seconds', async () => {
    value.clock.now += REFRESH_MS - 1
    expect(await value.request()).toBe(1)
    expect(value.readings).toHaveLength(1)
  })

  it('is read in the background between 25 and 30 seconds, by a reading that is not tried twice', async () => {
    value.clock.now += REFRESH_MS
    expect(await value.request()).toBe(1)
    expect(value.readings[1]).toMatchObject({ awaited: false })
    await value.readings[1]!.answer(2)
    expect(await value.request()).toBe(2)
    expect(value.readings).toHaveLength(2)
  })

  it('keeps a request waiting from 30 seconds on, by a reading that is tried twice', async () => {
    value.clock.now += MAX_AGE_MS
    const request = value.request()
    expect(await isSettled(request)).toBe(false)
    expect(value.readings[1]).toMatchObject({ awaited: true })
    await value.readings[1]!.answer(2)
    expect(await request).toBe(2)
  })

  it('keeps a request waiting after the clock was set back, since its age is not known then', async () => {
    value.clock.now -= 1
    const request = value.request()
    expect(await isSettled(request)).toBe(false)
    await value.readings[1]!.answer(2)
    expect(await request).toBe(2)
  })

  it('is read in the background with the next request after readSoon', async () => {
    value.readSoon()
    expect(await value.request()).toBe(1)
    expect(value.readings).toHaveLength(2)
  })

  it('is not taken from a reading that was frozen with its instance, however late that answers', async () => {
    value.clock.now += REFRESH_MS
    await value.request() // begins a reading; then the instance is frozen
    value.clock.now += 600_000
    const request = value.request()
    await settled()
    expect(value.readings).toHaveLength(3)
    await value.readings[1]!.answer(-1)
    expect(await isSettled(request)).toBe(false)
    await value.readings[2]!.answer(2)
    expect(await request).toBe(2)
    expect(await value.request()).toBe(2)
  })

  it('is not given up when a frozen reading fails: requests wait for the next one', async () => {
    value.clock.now += REFRESH_MS
    await value.request()
    value.clock.now += 600_000
    const request = value.request()
    await value.readings[1]!.fail()
    expect(value.errors).toEqual([])
    await value.readings[2]!.answer(2)
    expect(await request).toBe(2)
  })

  it('stays in force without a request that waits longer than 600 ms, while the table does not answer', async () => {
    jest.useFakeTimers()
    value.clock.now += MAX_AGE_MS
    const request = value.request()
    await jest.advanceTimersByTimeAsync(599)
    expect(await isSettled(request)).toBe(false)
    await jest.advanceTimersByTimeAsync(1)
    expect(await request).toBe(1)
    expect(await isSettled(value.request())).toBe(true)
    expect(jest.getTimerCount()).toBe(0)
  })

  it('is read once a second while the table fails, and keeps ever fewer requests waiting', async () => {
    value.clock.now += MAX_AGE_MS
    value.answers = down
    let awaited = 0
    for (let second = 0; second < 120; second++) {
      const before = value.readings.length
      expect(await value.request()).toBe(1)
      await settled()
      expect(value.readings.length - before).toBe(1)
      value.answers = undefined
      value.clock.now += 1000
      const request = value.request()
      if (!(await isSettled(request))) awaited++
      await value.readings.at(-1)!.fail()
      await request
      value.clock.now += 1000
      value.answers = down
    }
    expect(awaited).toBeGreaterThan(2)
    expect(awaited).toBeLessThan(12)
  })

  it('is up to date with the first request after an outage and half a minute', async () => {
    value.clock.now += MAX_AGE_MS
    value.answers = down
    for (let second = 0; second < 100; second++) {
      await value.request()
      value.clock.now += 1000
    }
    value.clock.now += MAX_AGE_MS
    value.answers = () => 2
    expect(await value.request()).toBe(2)
  })

  it('that cannot be used yet is read again a second later', async () => {
    const fresh = new Value()
    fresh.isUsable = false
    fresh.answers = () => 1
    await fresh.request()
    fresh.clock.now += 999
    await fresh.request()
    expect(fresh.readings).toHaveLength(1)
    fresh.clock.now += 1
    await fresh.request()
    expect(fresh.readings).toHaveLength(2)
    expect(fresh.errors).toEqual([])
  })

  it('is at most 30 seconds old whenever a request is decided, in any traffic and with any freezes, where the table answers', async () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('request' as const), afterMs: fc.nat(40_000) }),
      fc.record({ kind: fc.constant('frozen' as const), afterMs: fc.nat(40_000), forMs: fc.nat(100_000) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 40 }), async (events) => {
        const seen = new Value()
        for (const { afterMs, ...what } of events) {
          seen.clock.now += afterMs
          if (what.kind === 'frozen') {
            seen.answers = undefined
            void seen.request() // whose reading is under way when the instance freezes
            await settled()
            const stale = seen.clock.now
            const underWay = seen.readings.length
            seen.clock.now += what.forMs
            seen.answers = () => seen.clock.now
            const request = seen.request()
            await seen.readings[underWay - 1]!.answer(stale)
            const decidedBy = await request
            expect(seen.clock.now - decidedBy!).toBeLessThanOrEqual(MAX_AGE_MS)
            continue
          }
          seen.answers = () => seen.clock.now
          expect(seen.clock.now - (await seen.request())!).toBeLessThanOrEqual(MAX_AGE_MS)
        }
      }),
      { numRuns: runs(60, 300) },
    )
  })
})
