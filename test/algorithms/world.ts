import fc from 'fast-check'
import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { apply, type ConditionalWrite, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { runs } from '../runs'

// Most mutants are found out in a few runs, and have to be every time alike; people want the smallest counterexample.
const mutated = process.env.STRYKER_MUTATOR_WORKER !== undefined
if (mutated) fc.configureGlobal({ endOnFailure: true, seed: 20_240_229 })

export const NUM_RUNS = mutated ? 60 : runs(50, 200)

/** What the laws need to know about an algorithm besides its interface. */
export interface AlgorithmSpec<Quota> {
  readonly algorithm: Algorithm<Quota>
  readonly quota: fc.Arbitrary<Quota>
  /** The unit in which this quota's time is worth travelling. */
  readonly windowMs: (quota: Quota) => number
  /** The largest cost that can ever pass. */
  readonly largest: (quota: Quota) => number
  /** Whether units pass beyond those that remain; `marked`: some, marked as exceeding. @default false */
  readonly beyond?: boolean | 'marked'
  /** The quota after an operator changed its size. Absent where earlier decisions cannot be judged by a new size. */
  readonly resized?: (quota: Quota, size: number) => Quota
  /** The quota of an instance that has other numbers than the rest. @default resized */
  readonly differing?: (quota: Quota, limit: number, burst: number) => Quota
  /** How far clocks may differ where instances have different limits. @default as far as they like */
  readonly largestSkewMs?: number
  /**
   * Whether a refund lowers what is owed when it comes, instead of undoing the charge then: time may have given it back
   * already. @default false
   */
  readonly refundsLevel?: boolean
  /** The fields without those that no later decision reads, by whatever clock. */
  readonly settled: (fields: Fields, quota: Quota) => Fields
  /** Expectations on every state that can be reached. */
  readonly intact?: (fields: Fields, quota: Quota) => void
  /**
   * The algorithm's definition, told again without state: whether a request passes after everything that was recorded
   * before.
   */
  readonly admits: (past: readonly Charge[], quota: Quota, cost: number, now: number) => boolean
  /** The most units that may be admitted from one instant to another, both included, by the latest clock. */
  readonly most: (quota: Quota, from: number, to: number) => number
  /** Events that leave much to tidy away, where blind requests windows apart do not. */
  readonly expired?: fc.Arbitrary<[Quota, Event[]]>
  /** Whether two courses of events can be compared moment by moment. */
  readonly comparable?: (fields: Fields, others: Fields) => boolean
}

/** Units that were recorded. */
export interface Charge {
  readonly units: number
  /** What the clock of the instance said. */
  readonly clock: number
  /** The latest that any instance's clock had said by then. */
  readonly at: number
}

/** Something that happens to one subject, at the hands of one of several instances. */
export interface Event {
  readonly kind: 'take' | 'refund' | 'tidy' | 'forget'
  readonly elapsed: Elapsed
  readonly skewMs: number
  /** Which instance; each remembers what it last saw. The last of them has always just started. */
  readonly instance: number
  readonly guesses: boolean
  readonly cost: number
  readonly size: number | undefined
}

/** Twelfths of a window, and milliseconds on top. */
export interface Elapsed {
  readonly twelfths: number
  readonly ms: number
}

export const INSTANCES = 4
const MAX_SKEW_MS = 2000
export const START = 1_700_000_000_123

/** The state after something happened. */
export interface Moment<Quota> {
  /** The clock of the instance at whose hands it happened. */
  readonly clock: number
  /** The latest clock at whose hands something was recorded. */
  readonly latest: number
  readonly fields: Fields
  readonly quota: Quota
  /** What came of it, if it was a request. */
  readonly take?: { readonly cost: number; readonly allowed: boolean; readonly recorded: boolean }
  /** The charge that was given back, if one was. */
  readonly refund?: { readonly cost: number; readonly clock: number }
}

/**
 * Lets things happen to a stored state by the take loop: an outdated view first, and what is stored when that turns out
 * wrong.
 *
 * @param quotas one for each instance, where they disagree.
 */
export function live<Quota>(
  { algorithm, windowMs, resized }: AlgorithmSpec<Quota>,
  first: Quota,
  happenings: readonly Event[],
  quotas?: readonly Quota[],
): Moment<Quota>[] {
  let quota = first
  let stored: Fields = Object.freeze({})
  let now = START
  let latest = 0
  let matters = 0 // until when
  const views: ({ fields: Fields; at: number } | undefined)[] = []
  const charges: { units: number; clock: number }[] = []
  const moments: Moment<Quota>[] = []

  const write = (attempt: ConditionalWrite | undefined): boolean => {
    if (!attempt || !holds(attempt.guard, stored)) return false
    stored = Object.freeze(apply(attempt, stored))
    return true
  }

  for (const { kind, elapsed, skewMs, instance, guesses, cost, size } of happenings) {
    if (quotas) quota = quotas[instance]!
    else if (size !== undefined && resized) quota = resized(quota, size)
    now += inMs(elapsed, windowMs(quota))
    const clock = now + skewMs
    const view = instance === INSTANCES - 1 ? undefined : views[instance]
    let take: Moment<Quota>['take']
    let refund: Moment<Quota>['refund']

    if (kind === 'take') {
      const known =
        view && guesses && algorithm.extrapolate
          ? algorithm.extrapolate(view.fields, view.at, quota, clock)
          : view?.fields
      const guess = algorithm.step(known, quota, cost, clock)
      if (guess.verdict.allowed && write(guess.write)) {
        take = { cost, allowed: true, recorded: true }
      } else {
        const truth = algorithm.step(stored, quota, cost, clock)
        take = { cost, allowed: truth.verdict.allowed, recorded: write(truth.write) }
      }
      if (take.allowed && cost > 0) charges.push({ units: cost, clock })
      if (take.recorded) {
        latest = Math.max(latest, clock)
        matters = Math.max(matters, latest + algorithm.retentionMs(quota))
      }
    } else if (kind === 'refund') {
      const charge = charges.pop()
      const refunded = (seen: Fields) =>
        charge && write(algorithm.refund(seen, quota, charge.units, charge.clock, clock))
      if (charge && (refunded(view?.fields ?? stored) || refunded(stored)))
        refund = { cost: charge.units, clock: charge.clock }
    } else if (kind === 'tidy') {
      write(algorithm.purge?.(view?.fields ?? stored, quota, clock))
    } else if (now - MAX_SKEW_MS >= matters) {
      stored = Object.freeze({})
    }
    views[instance] = { fields: stored, at: clock }
    moments.push({ clock, latest, fields: stored, quota, take, refund })
  }
  return moments
}

export const inMs = ({ twelfths, ms }: Elapsed, windowMs: number): number => Math.floor((twelfths * windowMs) / 12) + ms

export const anyElapsed: fc.Arbitrary<Elapsed> = fc.record({
  twelfths: fc.oneof(
    { arbitrary: fc.constant(0), weight: 8 },
    { arbitrary: fc.integer({ min: 1, max: 14 }), weight: 6 },
    { arbitrary: fc.integer({ min: 12, max: 40 }), weight: 2 },
    { arbitrary: fc.integer({ min: 100, max: 2000 }), weight: 1 },
  ),
  ms: fc.oneof({ arbitrary: fc.constant(0), weight: 2 }, { arbitrary: fc.integer({ min: 0, max: 3 }), weight: 1 }),
})

export const anySkew: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.constant(0), weight: 3 },
  { arbitrary: fc.integer({ min: -MAX_SKEW_MS, max: MAX_SKEW_MS }), weight: 1 },
)

export const anyCost: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.constant(1), weight: 5 },
  { arbitrary: fc.integer({ min: 0, max: 5 }), weight: 3 },
  { arbitrary: fc.integer({ min: 1, max: 45 }), weight: 1 },
)

export const anySize: fc.Arbitrary<number> = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 40 }))

export const anyWindowMs: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 5000 }),
  fc.constantFrom(1, 7, 1000, 60_000, 86_400_000),
)

const kinds = (kind: Event['kind'], weight: number) => ({ arbitrary: fc.constant(kind), weight })

const happening = (kind: fc.Arbitrary<Event['kind']>, skewMs: fc.Arbitrary<number>): fc.Arbitrary<Event> =>
  fc.record({
    kind,
    elapsed: anyElapsed,
    skewMs,
    instance: fc.integer({ min: 0, max: INSTANCES - 1 }),
    guesses: fc.boolean(),
    cost: anyCost,
    size: fc.option(anySize, { nil: undefined, freq: 12 }),
  })

/** Everything that can happen. */
export const anyHistory: fc.Arbitrary<Event[]> = fc.array(
  happening(fc.oneof(kinds('take', 8), kinds('refund', 2), kinds('tidy', 1), kinds('forget', 1)), anySkew),
  { minLength: 1, maxLength: 30 },
)

/** Requests only, from instances whose clocks disagree. */
export const anyRequests: fc.Arbitrary<Event[]> = fc.array(
  happening(fc.oneof(kinds('take', 12), kinds('tidy', 1), kinds('forget', 1)), anySkew),
  {
    minLength: 1,
    maxLength: 40,
  },
)

/** Requests only, by one clock. */
export const anyOrderlyRequests: fc.Arbitrary<Event[]> = fc.array(happening(fc.constant('take'), fc.constant(0)), {
  maxLength: 15,
})

/** A request of an instance that knows nothing. */
export const blindTake = (elapsed: Elapsed): Event => ({
  kind: 'take',
  elapsed,
  skewMs: 0,
  instance: INSTANCES - 1,
  guesses: false,
  cost: 1,
  size: undefined,
})

/** Blind requests, windows apart, so many that what they leave behind is worth tidying. */
export const manyBlindTakes: fc.Arbitrary<Event[]> = fc
  .array(fc.integer({ min: 48, max: 80 }), { minLength: 36, maxLength: 60 })
  .map((pauses) => pauses.map((twelfths) => blindTake({ twelfths, ms: 0 })))
