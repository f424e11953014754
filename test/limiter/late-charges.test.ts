import fc from 'fast-check'
import { apply, type Fields, holds, listOf } from '../../limiter/algorithms/conditional-write'
import { type CompiledPolicy, compile } from '../../limiter/compiled-policy'
import { lateWrite, stillCounting } from '../../limiter/consistency/late-charges'
import type { Mistake } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { MIDNIGHT } from './limiters'

const LIMIT = 40

function policy(input: object): CompiledPolicy {
  const issues: Mistake[] = []
  const [parsed] = parsePolicies([{ name: 'p', limit: LIMIT, window: '1s', ...input }], [], issues)
  expect(issues).toEqual([])
  return compile(parsed!)
}

const CASES: readonly (readonly [string, object])[] = [
  ['fixed-window', { algorithm: 'fixed-window' }],
  ['fixed-window by the day', { algorithm: 'fixed-window', window: 'day' }],
  ['fixed-window with overage', { algorithm: 'fixed-window', overage: 'allow' }],
  ['fixed-window with an overrun', { algorithm: 'fixed-window', overrun: '10%' }],
  ['anchored-window', { algorithm: 'anchored-window' }],
  ['sliding-window', { algorithm: 'sliding-window' }],
  ['sliding-buckets', { algorithm: 'sliding-buckets', buckets: 10 }],
  ['sliding-log', { algorithm: 'sliding-log', limit: 220 }],
  ['gcra', { algorithm: 'gcra' }],
  ['gcra with a small burst', { algorithm: 'gcra', burst: 3 }],
  ['token-bucket', { algorithm: 'token-bucket', burst: 80 }],
  ['leaky-bucket', { algorithm: 'leaky-bucket' }],
  ['leaky-bucket as a queue', { algorithm: 'leaky-bucket', mode: 'queue' }],
  ['token-bucket by interval', { algorithm: 'token-bucket', refill: 'interval', burst: 100 }],
]

const remaining = ({ counter }: CompiledPolicy, fields: Fields, at: number) =>
  counter.step(fields, 0, at).verdict.remaining

/** Charges as without a limit. */
function charged(to: CompiledPolicy, fields: Fields, units: number, at: number): Fields {
  const { write, verdict } = to.unlimited().counter.step(fields, units, at)
  return verdict.allowed && write ? apply(write, fields) : fields
}

interface Other {
  readonly at: number
  readonly units: number
}

/** Charges of other instances from a given time on. */
function others(from: number, steps: readonly { readonly waitMs: number; readonly units: number }[]): Other[] {
  let at = from
  return steps.map(({ waitMs, units }) => {
    at += waitMs
    return { at, units }
  })
}

const afterThose = (of: CompiledPolicy, fields: Fields, those: readonly Other[]): Fields =>
  those.reduce((after, { at, units }) => charged(of, after, units, at), fields)

const histories = fc.record({
  offsetMs: fc.nat(2000),
  before: fc.array(fc.record({ waitMs: fc.nat(600), units: fc.integer({ min: 1, max: 12 }) }), { maxLength: 4 }),
  units: fc.integer({ min: 1, max: 3 * LIMIT }),
  after: fc.array(fc.record({ waitMs: fc.nat(600), units: fc.integer({ min: 1, max: 12 }) }), { maxLength: 4 }),
  lateMs: fc.nat(2500),
  lookMs: fc.nat(2500),
})

describe.each(CASES)('a late charge to %s', (name, input) => {
  const of = policy(input)
  /**
   * The longest delay that is tried: after it an idle bucket is whole and its units are not sent any more, and an
   * anchored window may have opened at another time.
   */
  const mostMs = /gcra|bucket$|queue|burst|anchored/.test(name)
    ? Math.max(of.windowMs, of.counter.retentionMs) - 1
    : 2500

  it('leaves the state no looser than if it had arrived in time, and charges no more than its units', () => {
    fc.assert(
      fc.property(histories, ({ offsetMs, before, units, after, lateMs, lookMs }) => {
        const earlier = others(MIDNIGHT + offsetMs, before)
        const chargedAt = (earlier.at(-1)?.at ?? MIDNIGHT + offsetMs) + 1
        const now = chargedAt + Math.min(lateMs, mostMs)
        const later = others(chargedAt, after).filter(({ at }) => at <= now)
        const seen = afterThose(of, {}, earlier)
        const fields = afterThose(of, seen, later)
        const inTime = afterThose(of, charged(of, seen, units, chargedAt), later)
        const write = lateWrite(fields, { policy: of, units, chargedAt }, now)
        const late = write ? apply(write, fields) : fields
        const most = of.unlimited()
        const charge = remaining(most, fields, now) - remaining(most, late, now)
        expect({
          isHeld: !write || holds(write.guard, fields),
          isMore: charge <= units ? false : charge,
          looserAt: [now, now + lookMs].filter((at) => !(remaining(most, late, at) <= remaining(most, inTime, at))),
        }).toEqual({ isHeld: true, isMore: false, looserAt: [] })
      }),
      { numRuns: 400 },
    )
  })

  it('made from an outdated view is refused or right: its guard holds only where it charges as much', () => {
    fc.assert(
      fc.property(histories, ({ offsetMs, before, units, after, lateMs }) => {
        const earlier = others(MIDNIGHT + offsetMs, before)
        const chargedAt = (earlier.at(-1)?.at ?? MIDNIGHT + offsetMs) + 1
        const later = others(chargedAt, after)
        const now = Math.max(later.at(-1)?.at ?? 0, chargedAt + lateMs)
        const seen = afterThose(of, {}, earlier)
        const fields = afterThose(of, seen, later)
        for (const view of [seen, undefined]) {
          const write = lateWrite(view, { policy: of, units, chargedAt }, now)
          const fresh = lateWrite(fields, { policy: of, units, chargedAt }, now)
          if (!write || !holds(write.guard, fields)) continue
          const expected = fresh ? apply(fresh, fields) : fields
          expect(remaining(of.unlimited(), apply(write, fields), now)).toBeLessThanOrEqual(
            remaining(of.unlimited(), expected, now),
          )
        }
      }),
      { numRuns: 200 },
    )
  })
})

it.each([
  ['fixed-window', 999, 10],
  ['fixed-window', 1000, 0],
  ['anchored-window', 999, 10],
  ['anchored-window', 1000, 0],
  ['sliding-window', 1500, 5],
  ['sliding-window', 2000, 0],
  ['sliding-log', 999, 10],
  ['sliding-log', 1000, 0],
  ['gcra', 999, 10],
  ['gcra', 1000, 0],
] as const)(
  'a late charge of ten units to %s counts for its remaining weight: after %i ms %i',
  (algorithm, lateMs, counting) => {
    expect(stillCounting({ policy: policy({ algorithm }), units: 10, chargedAt: MIDNIGHT }, MIDNIGHT + lateMs)).toBe(
      counting,
    )
  },
)

it('a late charge by a clock that is ahead counts in full', () => {
  expect(
    stillCounting({ policy: policy({ algorithm: 'fixed-window' }), units: 10, chargedAt: MIDNIGHT }, MIDNIGHT - 5000),
  ).toBe(10)
})

it('a late charge of more units than the limit counts in full, since they were admitted', () => {
  const late = { policy: policy({ algorithm: 'fixed-window' }), units: 3 * LIMIT, chargedAt: MIDNIGHT }
  expect(stillCounting(late, MIDNIGHT + 1)).toBe(3 * LIMIT)
  expect(Object.values(apply(lateWrite({}, late, MIDNIGHT + 1)!, {}))).toContain(3 * LIMIT)
})

it('a late charge to a sliding log counts past the limit, too, at the time of the newest, and is never stored as entries', () => {
  const of = policy({ algorithm: 'sliding-log' })
  const late = (fields: Fields, units: number, chargedAt: number, now = chargedAt + 1) =>
    apply(lateWrite(fields, { policy: of, units, chargedAt }, now)!, fields)
  const full = charged(of, {}, LIMIT - 3, MIDNIGHT)
  const owing = late(late(full, 10, MIDNIGHT + 100), 100_000, MIDNIGHT + 200)
  expect(listOf(owing, 'l')).toHaveLength(LIMIT)
  expect(owing).toMatchObject({ x: 100_007, y: MIDNIGHT + 200 })
  const { counter } = of
  expect(counter.step(owing, 1, MIDNIGHT + 300).verdict).toMatchObject({ allowed: false, retryAfterMs: 900 })
  expect(counter.step(owing, 1, MIDNIGHT + 1199).verdict.allowed).toBe(false)
  const { verdict, write } = counter.step(owing, 5, MIDNIGHT + 1200)
  expect(verdict).toMatchObject({ allowed: true, remaining: LIMIT - 5 })
  expect(apply(write!, owing)).toEqual({ l: Array(5).fill(MIDNIGHT + 1200), t: MIDNIGHT + 1200, v: 4 })
})

it('units past the limit of a sliding log are given back first, and make room as they do', () => {
  const of = policy({ algorithm: 'sliding-log' })
  const full = charged(of, {}, LIMIT, MIDNIGHT)
  const owing = apply(of.counter.chargeLate(full, 5, MIDNIGHT + 10, MIDNIGHT + 20)!, full)
  const refunded = apply(of.counter.refund(owing, 8, MIDNIGHT + 10, MIDNIGHT + 30)!, owing)
  expect(refunded).toMatchObject({ l: Array(LIMIT - 3).fill(MIDNIGHT) })
  expect(remaining(of, refunded, MIDNIGHT + 30)).toBe(3)
  expect(of.counter.refund(owing, 8, MIDNIGHT - 1, MIDNIGHT + 30)).toBeUndefined()
})

it.each(['observe', 'deprioritize'])(
  'a late charge to a policy with action %s fills it up to its limit, as it would have in time',
  (action) => {
    const of = policy({ algorithm: 'fixed-window', action })
    const after = apply(lateWrite({}, { policy: of, units: LIMIT + 25, chargedAt: MIDNIGHT }, MIDNIGHT + 1)!, {})
    expect(Object.values(after)).toContain(LIMIT)
    expect(lateWrite(after, { policy: of, units: 10, chargedAt: MIDNIGHT }, MIDNIGHT + 1)).toBeUndefined()
  },
)

it('a late charge of overage is recorded as overage', () => {
  const of = policy({ algorithm: 'fixed-window', overage: 'allow' })
  const after = apply(lateWrite({}, { policy: of, units: LIMIT + 25, chargedAt: MIDNIGHT }, MIDNIGHT + 1)!, {})
  expect(of.counter.step(after, 0, MIDNIGHT + 1).verdict.overage).toBe(25)
})

it('a late charge of an hour ago charges nothing to the present window', () => {
  for (const [, input] of CASES.filter(([name]) => name !== 'fixed-window by the day')) {
    const of = policy(input)
    const now = MIDNIGHT + 3_600_000
    const busy = charged(of, {}, 5, now)
    expect(lateWrite(busy, { policy: of, units: 30, chargedAt: MIDNIGHT }, now)).toBeUndefined()
  }
})

describe('the time of a late charge', () => {
  const sliding = policy({ algorithm: 'sliding-window' })
  const buckets = policy({ algorithm: 'sliding-buckets', buckets: 4 })
  const late = (of: CompiledPolicy, known: Fields, lateMs: number) =>
    apply(lateWrite(known, { policy: of, units: 10, chargedAt: MIDNIGHT }, MIDNIGHT + lateMs)!, known)

  it('is its own while no later charge was made, so that it fades as if made in time', () => {
    const inTime = charged(sliding, {}, 10, MIDNIGHT)
    expect(late(sliding, {}, 1500)).toEqual(inTime)
    const others = charged(sliding, {}, 3, MIDNIGHT)
    expect(late(sliding, others, 1500)).toEqual(charged(sliding, others, 10, MIDNIGHT))
  })

  it('is its own once later charges were made, as far as its window is still known', () => {
    const others = charged(sliding, {}, 3, MIDNIGHT + 1200)
    const { w: _, ...inTime } = charged(sliding, {}, 10, MIDNIGHT)
    expect(late(sliding, others, 1500)).toEqual({ ...others, ...inTime })
    const further = charged(buckets, {}, 3, MIDNIGHT + 250)
    expect(late(buckets, further, 750)).toEqual({ ...charged(buckets, further, 10, MIDNIGHT + 250), v: 1 })
  })

  it('is its own if its clock is ahead of ours', () => {
    const of = policy({ algorithm: 'fixed-window' })
    const write = lateWrite({}, { policy: of, units: 10, chargedAt: MIDNIGHT + 1000 }, MIDNIGHT)
    expect(apply(write!, {})).toEqual(charged(of, {}, 10, MIDNIGHT + 1000))
  })
})

it('a late charge of no units writes nothing', () => {
  for (const [, input] of CASES) {
    const none = { policy: policy(input), units: 0, chargedAt: MIDNIGHT }
    expect([stillCounting(none, MIDNIGHT + 10), lateWrite({}, none, MIDNIGHT + 10)]).toEqual([0, undefined])
  }
})
