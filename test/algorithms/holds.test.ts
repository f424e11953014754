import fc from 'fast-check'
import { apply, type Fields, holds as holdsGuard } from '../../limiter/algorithms/conditional-write'
import { endHolds, type HoldsQuota, holds, purgeHolds, runningIn, withHolds } from '../../limiter/algorithms/holds'
import { runs } from '../runs'

const T = 1_000_000
const QUOTA: HoldsQuota = { limit: 3, timeoutMs: 10_000, keptMs: 0, longestMs: 10_000 }
const hold = (i: number, forMs?: number) => ({ id: `id${i}`, forMs })

const begin = (known: Fields | undefined, now: number, ...ids: number[]) =>
  holds.step(
    known,
    QUOTA,
    ids.length,
    now,
    now,
    ids.map((i) => hold(i)),
  )
/** The state after writes that all succeeded. */
function stateAfter(fields: Fields, ...all: (readonly [now: number, id: number])[]): Fields {
  let state = fields
  for (const [now, id] of all) {
    const { write } = begin(state, now, id)
    expect(holdsGuard(write!.guard, state)).toBe(true)
    state = apply(write!, state)
  }
  return state
}
const FULL = stateAfter({}, [T, 1], [T + 1, 2], [T + 2, 3])

describe('requests that hold', () => {
  it('are as many as the limit at one time, whichever view a writer has', () => {
    expect(FULL).toEqual({ n: 3, id1: T + 10_000, id2: T + 10_001, id3: T + 10_002 })
    expect(begin(FULL, T + 3, 4)).toEqual({
      verdict: { allowed: false, remaining: 0, resetAfterMs: 9999, retryAfterMs: 1000 },
    })
    for (const seen of [undefined, {}, stateAfter({}, [T, 1]), stateAfter({}, [T, 1], [T + 1, 2])]) {
      const { verdict, write } = begin(seen, T + 3, 4)
      expect([verdict.allowed, holdsGuard(write!.guard, FULL)]).toEqual([true, false])
    }
  })

  it('that are more than the limit can never pass together', () => {
    expect(begin({}, T, 1, 2, 3, 4).verdict).toMatchObject({ allowed: false, remaining: 3, retryAfterMs: Infinity })
  })

  it('begin together in one write, which counts all of them', () => {
    const { verdict, write } = begin({}, T, 1, 2)
    expect(verdict).toEqual({ allowed: true, remaining: 1, resetAfterMs: 10_000, retryAfterMs: 0 })
    expect(apply(write!, {})).toEqual({ n: 2, id1: T + 10_000, id2: T + 10_000 })
    expect(begin(stateAfter({}, [T, 9]), T + 1, 1, 2).verdict.remaining).toBe(0)
    expect(begin(stateAfter({}, [T, 8], [T, 9]), T + 1, 1, 2).verdict.allowed).toBe(false)
  })

  it('last as long as the quota says, else as long as each says', () => {
    const free = { ...QUOTA, timeoutMs: undefined } as never as HoldsQuota
    const { verdict, write } = holds.step({}, free, 2, T, T, [hold(1, 500), hold(2, 700)])
    expect([verdict.resetAfterMs, apply(write!, {})]).toEqual([700, { n: 2, id1: T + 500, id2: T + 700 }])
  })

  it('make room when their time is over, a second later for clocks that differ', () => {
    expect(begin(FULL, T + 10_999, 4).verdict.allowed).toBe(false)
    const { verdict, write } = begin(FULL, T + 11_000, 4)
    expect(verdict).toMatchObject({ allowed: true, remaining: 0 })
    expect([holdsGuard(write!.guard, FULL), apply(write!, FULL)]).toEqual([
      true,
      { n: 3, id2: T + 10_001, id3: T + 10_002, id4: T + 21_000 },
    ])
  })

  it('are not removed twice for their time: the second writer has to look again', () => {
    const [one, other] = [begin(FULL, T + 11_000, 4), begin(FULL, T + 11_000, 5)]
    expect(holdsGuard(other.write!.guard, apply(one.write!, FULL))).toBe(false)
  })

  it('stay stored after their time while there is room, and are removed once eight of them are old', () => {
    const wide = { ...QUOTA, limit: 100, keptMs: 5000 }
    const old = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`id${i}`, T + i]))
    const step = (known: Fields, now: number) => holds.step(known, wide, 1, now, now, [hold(99)])
    const removedBy = (known: Fields, now: number) =>
      step(known, now).write!.assignments.filter((one) => 'remove' in one).length
    expect([removedBy({ n: 25, ...old }, T + 6006), removedBy({ n: 25, ...old }, T + 6007)]).toEqual([0, 4])
    expect(removedBy({ n: 25, ...old }, T + 60_000)).toBe(4)
    expect(apply(step({ n: 25, ...old }, T + 60_000).write!, { n: 25, ...old })).toMatchObject({ n: 22, id24: T + 24 })
  })

  it('are only looked at where they have no name, or cost nothing', () => {
    expect(holds.step({}, QUOTA, 1, T).write).toBeUndefined()
    expect(holds.step(FULL, QUOTA, 0, T + 2, T, [])).toEqual({
      verdict: { allowed: true, remaining: 0, resetAfterMs: 10_000, retryAfterMs: 0 },
    })
  })

  it('are the oldest that are removed: four, or as many as the limit lacks, and none while there is room', () => {
    const limit = 30
    const ids = Array.from({ length: limit }, (_, i) => i)
    for (const order of [ids, ids.toReversed()]) {
      const full: Fields = { n: limit, ...Object.fromEntries(order.map((i) => [`id${i}`, T + i])) }
      const leftBy = (cost: number) => {
        const asked = Array.from({ length: cost }, (_, i) => hold(100 + i))
        const { write } = holds.step(full, { ...QUOTA, limit }, cost, T + 60_000, T, asked)
        expect(holdsGuard(write!.guard, full)).toBe(true)
        const after = apply(write!, full)
        expect(after.n).toBe(limit - Object.keys(full).filter((id) => !(id in after)).length + cost)
        return ids.filter((i) => after[`id${i}`] !== undefined)
      }
      expect(leftBy(1)).toEqual(ids.slice(4))
      expect(leftBy(25)).toEqual(ids.slice(25))
    }
    const two = { n: 2, id1: T, id2: T }
    expect(apply(begin(two, T + 60_000, 3).write!, two)).toEqual({ n: 3, id1: T, id2: T, id3: T + 70_000 })
  })

  it('may be as many as the limit once the others have ended; a peek holds nothing', () => {
    expect(begin(stateAfter({}, [T, 1]), T + 1, 4, 5, 6).verdict).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(begin({}, T).verdict).toEqual({ allowed: true, remaining: 3, resetAfterMs: 0, retryAfterMs: 0 })
  })

  it('whose answer was lost are found, and count once', () => {
    const { verdict, write } = begin(FULL, T + 5, 3)
    expect(verdict).toMatchObject({ allowed: true, remaining: 0 })
    expect([holdsGuard(write!.guard, FULL), apply(write!, FULL)]).toEqual([true, FULL])
    const blind = begin(undefined, T + 5, 3)
    expect(holdsGuard(blind.write!.guard, stateAfter({}, [T, 3]))).toBe(false)
  })
})

describe('the end of a hold', () => {
  it('counts once, and frees no other', () => {
    const end = endHolds(FULL, [hold(2)])!
    expect(holdsGuard(end.guard, FULL)).toBe(true)
    const left = apply(end, FULL)
    expect(left).toEqual({ n: 2, id1: T + 10_000, id3: T + 10_002 })
    expect(holdsGuard(end.guard, left)).toBe(false)
    expect(endHolds(left, [hold(2)])).toBeUndefined()
  })

  it('is what a refund with its name does; one without leaves holds alone', () => {
    expect(holds.refund(FULL, QUOTA, 1, T, T, [hold(1), hold(2)])).toEqual(endHolds(FULL, [hold(1), hold(2)]))
    expect(holds.refund(FULL, QUOTA, 3, T, T)).toBeUndefined()
  })

  it('takes no count for a hold', () => {
    expect(endHolds(FULL, [{ id: 'n' }])).toBeUndefined()
    expect(endHolds({ n: 1, l: [1], id1: [5] }, [{ id: 'l' }, hold(1)])).toBeUndefined()
  })
})

it('holds take 37 bytes each and a number, and are kept for as long as they last and a second', () => {
  expect(holds.storedBytes({ ...QUOTA, limit: 5 }) - holds.storedBytes({ ...QUOTA, limit: 4 })).toBe(37)
  expect(holds.retentionMs({ ...QUOTA, keptMs: 50 })).toBe(11_050)
})

it('however writers’ views are out of date, no more hold than the limit, and `n` is how many are stored', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          kind: fc.constantFrom('begin', 'begin', 'begin', 'end'),
          staleness: fc.nat({ max: 3 }),
          afterMs: fc.constantFrom(0, 1, 500, 4000, 11_000),
          clockMs: fc.integer({ min: -500, max: 500 }),
          many: fc.integer({ min: 1, max: 2 }),
          of: fc.nat(),
        }),
        { maxLength: 60 },
      ),
      (events) => {
        const states: Fields[] = [{}]
        const running = new Map<string, number>()
        let [now, next] = [T, 0]
        for (const { kind, staleness, afterMs, clockMs, many, of } of events) {
          now += afterMs
          const state = states.at(-1)!
          const seen = states.at(-1 - Math.min(staleness, states.length - 1))!
          const ids = Array.from({ length: many }, () => hold(next++))
          const ended = [...running.keys()][of % Math.max(1, running.size)] ?? 'id0'
          const write =
            kind === 'begin'
              ? holds.step(seen, QUOTA, many, now + clockMs, now, ids).write
              : endHolds(seen, [{ id: ended }])
          if (!write || !holdsGuard(write.guard, state)) continue
          states.push(apply(write, state))
          if (kind === 'begin') for (const { id } of ids) running.set(id, now + clockMs + QUOTA.timeoutMs!)
          else running.delete(ended)
          for (const [id, until] of running) if (until + 500 <= now) running.delete(id)
          expect(running.size).toBeLessThanOrEqual(QUOTA.limit)
          const { n, ...stored } = states.at(-1)!
          expect(n).toBe(Object.keys(stored).length)
        }
      },
    ),
    { numRuns: runs(100, 5000) },
  )
})

describe('holds of a limit that was lowered', () => {
  const old = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`id${i}`, T - 60_000 + i]))
  const stored: Fields = { n: 80, ...old }

  it('are removed by denials, fifty at a time, until a request can do it', () => {
    const { verdict, write } = begin(stored, T, 100)
    expect(verdict).toEqual({ allowed: false, remaining: 3, resetAfterMs: 10_000, retryAfterMs: 1000 })
    expect(holdsGuard(write!.guard, stored)).toBe(true)
    const after = apply(write!, stored)
    expect([after.n, Object.keys(after).length]).toEqual([30, 31])
    const next = begin(after, T + 1, 100)
    expect(next.verdict).toMatchObject({ allowed: true, remaining: 2 })
    expect(apply(next.write!, after)).toMatchObject({ n: 3, id100: T + 10_001 })
  })
})

it('holds are purged an hour after their time, fifty at a time, if there are more than eight, and are holds', () => {
  const named = (count: number) => ({
    n: count,
    ...Object.fromEntries(Array.from({ length: count }, (_, i) => [String(i).padStart(25, '0'), T])),
  })
  const after = T + 3_601_000
  expect([purgeHolds(named(9), after - 1), purgeHolds(named(8), after)]).toEqual([undefined, undefined])
  expect(apply(purgeHolds(named(9), after)!, named(9))).toEqual({ n: 0 })
  expect(apply(purgeHolds(named(80), after)!, named(80)).n).toBe(30)
  const others = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [i.toString(36), T]))
  expect(purgeHolds(others, after)).toBeUndefined()
})

it('running requests are told the oldest first, without those that are over', () => {
  expect(runningIn({ n: 3, id1: T + 5000, id2: T + 2000, id3: T }, 10_000, T)).toEqual([
    { sinceMs: T - 8000, leftMs: 2000 },
    { sinceMs: T - 5000, leftMs: 5000 },
  ])
})

it('holds that others were seen to have are added, those that last longest first', () => {
  const seen = { n: 3, id1: T + 1, id2: T + 3, id3: T + 2 }
  expect(withHolds({ id2: T + 3 }, seen, 1, T + 9)).toEqual({ id2: T + 3, id3: T + 2 })
  expect(withHolds({}, undefined, 2, T + 9)).toEqual({ seen0: T + 9, seen1: T + 9 })
  expect(withHolds({ id9: T }, seen, 0, T + 9)).toEqual({ id9: T })
})
