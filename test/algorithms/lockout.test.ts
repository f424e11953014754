import fc from 'fast-check'
import { apply, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { bind, type Counter } from '../../limiter/algorithms/counter'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { gcra } from '../../limiter/algorithms/gcra'
import { type Lockout, lockedOutMs, lockingOut } from '../../limiter/algorithms/lockout'
import { queued } from '../../limiter/algorithms/queued'
import { epochGrid } from '../../limiter/algorithms/window-grid'
import { NUM_RUNS, START } from './algorithm-spec'
import { anyQuotaOf, NAMES } from './any-algorithm'
import { applyWrite } from './timeline'

const window = (limit: number) => bind(fixedWindow, { limit, grid: epochGrid(1000) })
const locking = (more: Partial<Lockout> = {}, counter = window(2)) =>
  lockingOut(counter, { forMs: 5000, after: 1, windowMs: 1000, extend: false, ...more })

/** Time, cost, and the answer: allowed, denied until a retry in so many ms, or locked out for so long. */
type Row = [at: number, cost: number, answer: 'allowed' | number | { lockedOut: number }, about: string]

function follow(counter: Counter, rows: readonly Row[], start: Fields = {}): Fields {
  let state = start
  for (const [at, cost, answer, about] of rows) {
    const { verdict, write } = counter.step(state, cost, at)
    const { allowed, lockedOut, retryAfterMs } = verdict
    const got = allowed ? 'allowed' : lockedOut ? { lockedOut: retryAfterMs } : retryAfterMs
    expect({ at, about, answer: got }).toEqual({ at, about, answer })
    if (write) state = applyWrite(write, state)
  }
  return state
}

describe('a lock-out', () => {
  it('refuses who goes on past the limit for so long, whatever becomes free meanwhile', () => {
    const state = follow(locking(), [
      [1000, 2, 'allowed', 'all of the window'],
      [1100, 1, { lockedOut: 5000 }, 'one more'],
      [2000, 1, { lockedOut: 4100 }, 'a new window has begun'],
      [6099, 0, { lockedOut: 1 }, 'a peek, too'],
      [6099, 1, { lockedOut: 1 }, 'a millisecond too early'],
      [6100, 1, 'allowed', 'just in time'],
      [6100, 1, 'allowed', 'the window was not touched'],
      [6100, 1, { lockedOut: 5000 }, 'again'],
    ])
    expect(state).toEqual({ w: 6, '06': 2, b: 11_100 })
  })

  it('tells when the request passes: after the lock-out and when there is room, or never', () => {
    follow(locking({ forMs: 100 }), [
      [1000, 2, 'allowed', ''],
      [1100, 1, { lockedOut: 900 }, 'the window ends after the lock-out'],
      [1200, 1, { lockedOut: 800 }, 'the lock-out is over, the window is not: this starts another one'],
      [1250, 3, { lockedOut: Infinity }, 'costs more than the limit'],
    ])
  })

  it('starts with as many denials as it says, in a window that begins with the first of them', () => {
    const state = follow(locking({ after: 3 }), [
      [1900, 2, 'allowed', ''],
      [1910, 1, 90, 'the first'],
      [1920, 0, 'allowed', 'a peek is no denial'],
      [1930, 1, 70, 'the second'],
      [2000, 2, 'allowed', 'a window of the policy has begun, the denials count on'],
      [2909, 1, { lockedOut: 5000 }, 'the third within a second'],
      [7909, 2, 'allowed', 'over'],
      [7910, 1, 90, 'denials count anew'],
      [7911, 1, 89, ''],
      [8000, 2, 'allowed', ''],
      [8910, 1, 90, 'a second after the first of them: this is the first again'],
    ])
    expect(state).toEqual({ w: 8, '08': 2, b: 7909, a: 8910, d: 1 })
  })

  it('is not prolonged by denials, unless they extend it', () => {
    const asked: Row[] = [
      [1000, 2, 'allowed', ''],
      [1000, 1, { lockedOut: 5000 }, ''],
    ]
    follow(locking(), [...asked, [2000, 1, { lockedOut: 4000 }, ''], [6000, 1, 'allowed', '']])
    follow(locking({ extend: true }), [
      ...asked,
      [2000, 1, { lockedOut: 5500 }, 'a tenth more than it must'],
      [2500, 1, { lockedOut: 5000 }, 'so that this needs no write'],
      [2501, 0, { lockedOut: 4999 }, 'a peek prolongs nothing'],
      [2501, 1, { lockedOut: 5500 }, ''],
      [8001, 1, 'allowed', ''],
    ])
    expect(locking({ extend: true }).step({ b: 7500 }, 1, 2500).write).toBeUndefined()
    const long = locking({ extend: true, forMs: 60_000 })
    expect(long.step({ b: 61_000 }, 1, 1001).verdict.retryAfterMs).toBe(61_000)
  })

  it('lets nobody wait for its end', () => {
    follow(locking({ forMs: 500 }, queued(bind(gcra, { limit: 10, windowMs: 1000, burst: 1 }), 100)), [
      [1000, 1, 'allowed', ''],
      [1000, 1, 'allowed', 'waits'],
      [1000, 1, { lockedOut: 500 }, 'would wait for too long'],
      [1450, 1, { lockedOut: 50 }, 'could wait that long'],
      [1500, 1, 'allowed', ''],
    ])
  })

  it('outlasts a refund', () => {
    const counter = locking()
    const state = follow(counter, [
      [1000, 2, 'allowed', ''],
      [1000, 1, { lockedOut: 5000 }, ''],
    ])
    const back = applyWrite(counter.refund(state, 2, 1000, 1100)!, state)
    expect(back).toEqual({ w: 1, b: 6000 })
    expect(counter.step(back, 1, 1100).verdict).toMatchObject({ allowed: false, lockedOut: true, remaining: 0 })
  })

  it('is told by its remaining time', () => {
    const states: Fields[] = [{}, { b: 1000 }, { b: 1001 }]
    expect(states.map((fields) => lockedOutMs(fields, 1000))).toEqual([0, 0, 1])
  })

  it('is kept as long as it matters, and so are the denials that start one', () => {
    expect(locking().retentionMs).toBe(5000)
    expect(locking({ extend: true }).retentionMs).toBe(5500)
    expect(locking({ forMs: 10, after: 2, windowMs: 3000 }).retentionMs).toBe(3000)
    expect(locking({ forMs: 10 }).retentionMs).toBe(1000)
    expect(locking().storedBytes - window(2).storedBytes).toBeGreaterThanOrEqual(3 * 20)
  })

  it('makes a policy record its denials, and keeps it from being leased', () => {
    expect([locking().recordsDenials, locking().leaseExpiresAt({}, 0)]).toEqual([true, undefined])
  })

  it('is not started by a write that was made from a guess at the state', () => {
    const counter = locking()
    const [charged, denied] = [counter.step({}, 1, 1000), counter.step({ w: 1, '01': 2 }, 1, 1000)]
    expect(denied.write).toBeDefined()
    expect([counter.canMerge(charged, charged), counter.canMerge(charged, denied)]).toEqual([true, false])
  })

  it('that is stored stays as it is when its length is changed', () => {
    const [shorter, longer] = [locking({ forMs: 10 }), locking({ forMs: 100_000 })]
    for (const counter of [shorter, longer, locking({ forMs: 10, extend: true })])
      expect(counter.step({ b: 6000 }, 1, 1000)).toMatchObject({ verdict: { retryAfterMs: 5000 } })
    expect(window(2).step({ b: 6000 }, 1, 1000).verdict.allowed).toBe(true)
  })

  it('begins at once where fewer denials start one than have been counted', () => {
    const counted = { w: 1, '01': 2, a: 1100, d: 5 }
    expect(follow(locking({ after: 3 }), [[1200, 1, { lockedOut: 5000 }, '']], counted)).toEqual({
      ...{ w: 1, '01': 2, b: 6200 },
    })
    expect(follow(locking(), [[1200, 1, { lockedOut: 5000 }, '']], counted)).toEqual({ w: 1, '01': 2, b: 6200 })
  })

  describe.each(NAMES)('of a %s', (name) => {
    interface Event {
      readonly elapsedMs: number
      readonly cost: number
      /** How many states ago the instance last saw the item; more than there are: never. */
      readonly behind: number
    }
    const anyEvents = (scaleMs: number): fc.Arbitrary<Event[]> =>
      fc.array(
        fc.record({
          elapsedMs: fc.oneof(
            { arbitrary: fc.constant(0), weight: 3 },
            { arbitrary: fc.nat({ max: Math.ceil(scaleMs / 4) }), weight: 3 },
            { arbitrary: fc.nat({ max: 3 * scaleMs }), weight: 1 },
          ),
          cost: fc.oneof({ arbitrary: fc.constant(1), weight: 4 }, { arbitrary: fc.nat({ max: 4 }), weight: 1 }),
          behind: fc.oneof({ arbitrary: fc.constant(0), weight: 2 }, { arbitrary: fc.nat({ max: 6 }), weight: 1 }),
        }),
        { minLength: 1, maxLength: 50 },
      )
    const anyHistory = anyQuotaOf(name).chain(({ algorithm, quota }) => {
      const counter = bind(algorithm, quota)
      const windowMs = counter.retentionMs
      return fc.record({
        counter: fc.constant(counter),
        lockout: fc.record({
          forMs: fc.integer({ min: 1, max: 2 * windowMs }),
          after: fc.constantFrom(1, 1, 2, 3),
          windowMs: fc.constant(windowMs),
          extend: fc.boolean(),
        }),
        events: anyEvents(windowMs),
      })
    })

    it('locks out for exactly that long, by whichever instance, as the count and a note of it say', () => {
      let lockedOuts = 0
      fc.assert(
        fc.property(anyHistory, ({ counter, lockout, events }) => {
          const decorated = lockingOut(counter, lockout)
          const states: Fields[] = [{}]
          let now = START
          let count: Fields = {} // as if there were no lock-outs
          let until = Number.NEGATIVE_INFINITY
          let denials: number[] = []
          for (const { elapsedMs, cost, behind } of events) {
            now += elapsedMs
            const stored = states.at(-1)!
            const guess = decorated.step(states[states.length - 1 - behind], cost, now)
            const isWritten = guess.verdict.allowed && guess.write && holds(guess.write.guard, stored)
            const { verdict, write } = isWritten ? guess : decorated.step(stored, cost, now)
            if (!isWritten && write) expect(holds(write.guard, stored)).toBe(true)
            states.push(write ? apply(write, stored) : stored)

            const isLocked = now < until
            const step = counter.step(count, cost, now)
            expect(verdict.allowed).toBe(!isLocked && step.verdict.allowed)
            if (isLocked) {
              lockedOuts++
              expect(verdict.lockedOut).toBe(true)
              if (lockout.extend && cost > 0) {
                const end = numberIn(states.at(-1)!.b)
                expect(end).toBeGreaterThanOrEqual(Math.max(until, now + lockout.forMs))
                expect(end).toBeLessThanOrEqual(
                  Math.max(until, now + lockout.forMs + Math.min(1000, lockout.forMs / 10)),
                )
                until = end
              } else expect(states.at(-1)).toBe(stored)
            } else if (step.verdict.allowed) count = step.write ? apply(step.write, count) : count
            else if (cost > 0) {
              if (denials.length === 0 || now - denials[0]! >= lockout.windowMs) denials = []
              denials.push(now)
              expect(verdict.lockedOut).toBe(denials.length >= lockout.after || undefined)
              if (denials.length >= lockout.after) {
                until = now + lockout.forMs
                denials = []
                expect(states.at(-1)!.b).toBe(until)
              }
            }
          }
        }),
        { numRuns: NUM_RUNS },
      )
      expect(lockedOuts).toBeGreaterThan(NUM_RUNS / 4)
    })

    it('keeps its word: a retry after retryAfterMs passes, one a millisecond sooner does not', () => {
      fc.assert(
        fc.property(anyHistory, ({ counter, lockout, events }) => {
          const decorated = lockingOut(counter, lockout)
          let state: Fields = {}
          let now = START
          for (const { elapsedMs, cost } of events) {
            now += elapsedMs
            const { verdict, write } = decorated.step(state, cost, now)
            if (write) state = apply(write, state)
            if (verdict.allowed || cost === 0 || verdict.retryAfterMs === Infinity) continue
            const { retryAfterMs } = verdict
            const retries = [-1, 0].map(
              (late) => decorated.step(state, cost, now + retryAfterMs + late).verdict.allowed,
            )
            expect({ state, now, retryAfterMs, retries }).toMatchObject({ retries: [false, true] })
          }
        }),
        { numRuns: NUM_RUNS },
      )
    })

    it('is written down once, however many instances deny at the same time', () => {
      fc.assert(
        fc.property(anyHistory, fc.integer({ min: 2, max: 6 }), ({ counter, lockout, events }, instances) => {
          const decorated = lockingOut(counter, { ...lockout, extend: false })
          let state: Fields = {}
          let now = START
          for (const { elapsedMs, cost } of events) {
            now += elapsedMs
            const { verdict, write } = decorated.step(state, Math.max(1, cost), now)
            if (verdict.lockedOut && write) {
              const later = Array.from({ length: instances }, (_, i) =>
                decorated.step(state, Math.max(1, cost), now + i),
              )
              const after = apply(write, state)
              const isOver = (i: number) => i >= lockout.forMs
              for (const [i, one] of later.entries()) if (!isOver(i)) expect(holds(one.write!.guard, after)).toBe(false)
            }
            if (write) state = apply(write, state)
          }
        }),
        { numRuns: NUM_RUNS },
      )
    })
  })
})

const numberIn = (value: Fields[string] | undefined): number => value as number
