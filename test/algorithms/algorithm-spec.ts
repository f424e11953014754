import fc from 'fast-check'
import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { apply, type ConditionalWrite, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { runs } from '../runs'

export const NUM_RUNS = runs(50, 200)

/** What the laws need to know about an algorithm besides its interface: quotas to try, and its definition. */
export interface AlgorithmSpec<Quota> {
  readonly algorithm: Algorithm<Quota>
  readonly quota: fc.Arbitrary<Quota>
  /** The time scale of a quota: events are twelfths of this apart. */
  readonly windowMs: (quota: Quota) => number
  /** The largest cost that can ever be allowed. */
  readonly largestCost: (quota: Quota) => number
  /** Whether more units than `remaining` are allowed; `marked`: some are, with `exceeded`. @default false */
  readonly allowsMoreThanRemaining?: boolean | 'marked'
  /**
   * The quota after an operator changed its size. Absent where the definition cannot judge earlier charges by a new
   * size.
   */
  readonly withSize?: (quota: Quota, size: number) => Quota
  /** The quota of an instance that has another limit and burst than the rest. @default withSize */
  readonly withNumbers?: (quota: Quota, limit: number, burst: number) => Quota
  /** How far clocks may differ, in milliseconds, where instances have different limits. @default Infinity */
  readonly largestSkewMs?: number
  /**
   * Whether a refund lowers the level when it arrives, instead of removing the charge from its window: some of the
   * charge may have come back with time already. @default false
   */
  readonly refundsLevel?: boolean
  /** The state without the fields that no later decision reads, by whatever clock. */
  readonly withoutExpired: (fields: Fields, quota: Quota) => Fields
  /** Expectations that every reachable state must meet. */
  readonly checkState?: (fields: Fields, quota: Quota) => void
  /**
   * The algorithm's definition, written a second time over the list of all charges instead of a state: whether a
   * request is allowed after those charges.
   */
  readonly admits: (past: readonly Charge[], quota: Quota, cost: number, now: number) => boolean
  /** The most units that may be admitted from one instant to another, both included, by the latest clock. */
  readonly maxAdmitted: (quota: Quota, from: number, to: number) => number
  /** Events that leave many expired fields. @default requests without a view, windows apart */
  readonly expiredHistory?: fc.Arbitrary<[Quota, Event[]]>
  /** Whether the states of two histories, with and without a refunded charge, can still be compared. */
  readonly comparable?: (fields: Fields, others: Fields) => boolean
}

/** Units that were recorded. */
export interface Charge {
  readonly units: number
  /** The time by the clock of the instance. */
  readonly clock: number
  /** The latest time that any instance's clock had shown by then. */
  readonly at: number
}

/**
 * One event in the history of a subject: a request, a refund, a purge or TTL's deletion, by one of several instances.
 */
export interface Event {
  readonly kind: 'take' | 'refund' | 'purge' | 'forget'
  readonly elapsed: Elapsed
  readonly skewMs: number
  /** The instance; each remembers the state that it last saw. The last one has always just started: it has no view. */
  readonly instance: number
  /** Whether the instance decides from what it extrapolates, instead of from what it last saw. */
  readonly extrapolates: boolean
  readonly cost: number
  /** The new size of the quota, where an operator changes it with this event. */
  readonly size: number | undefined
}

/** Twelfths of a window, plus milliseconds. */
export interface Elapsed {
  readonly twelfths: number
  readonly ms: number
}

export const INSTANCES = 4
const MAX_SKEW_MS = 2000
export const START = 1_700_000_000_123

/** The state after an event. */
export interface Snapshot<Quota> {
  /** The time by the clock of the instance. */
  readonly clock: number
  /** The latest time of an instance's clock at which something was recorded. */
  readonly latest: number
  readonly fields: Fields
  readonly quota: Quota
  /** The outcome, if the event was a request. */
  readonly take?: { readonly cost: number; readonly allowed: boolean; readonly recorded: boolean }
  /** The charge that was refunded, if one was. */
  readonly refund?: { readonly cost: number; readonly clock: number }
}

/**
 * Applies events to a stored state as `decide` does: a write made from the instance's own view first, and one made
 * from the stored state where the store refuses that.
 *
 * @param quotas one for each instance, where instances have different limits.
 */
export function runHistory<Quota>(
  { algorithm, windowMs, withSize }: AlgorithmSpec<Quota>,
  first: Quota,
  events: readonly Event[],
  quotas?: readonly Quota[],
): Snapshot<Quota>[] {
  let quota = first
  let stored: Fields = Object.freeze({})
  let now = START
  let latest = 0
  let relevantUntil = 0 // until when
  const views: ({ fields: Fields; at: number } | undefined)[] = []
  const charges: { units: number; clock: number }[] = []
  const moments: Snapshot<Quota>[] = []

  const write = (attempt: ConditionalWrite | undefined): boolean => {
    if (!attempt || !holds(attempt.guard, stored)) return false
    stored = Object.freeze(apply(attempt, stored))
    return true
  }

  for (const { kind, elapsed, skewMs, instance, extrapolates: guesses, cost, size } of events) {
    if (quotas) quota = quotas[instance]!
    else if (size !== undefined && withSize) quota = withSize(quota, size)
    now += inMs(elapsed, windowMs(quota))
    const clock = now + skewMs
    const view = instance === INSTANCES - 1 ? undefined : views[instance]
    let take: Snapshot<Quota>['take']
    let refund: Snapshot<Quota>['refund']

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
        relevantUntil = Math.max(relevantUntil, latest + algorithm.retentionMs(quota))
      }
    } else if (kind === 'refund') {
      const charge = charges.pop()
      const refunded = (seen: Fields) =>
        charge && write(algorithm.refund(seen, quota, charge.units, charge.clock, clock))
      if (charge && (refunded(view?.fields ?? stored) || refunded(stored)))
        refund = { cost: charge.units, clock: charge.clock }
    } else if (kind === 'purge') {
      write(algorithm.purge?.(view?.fields ?? stored, quota, clock))
    } else if (now - MAX_SKEW_MS >= relevantUntil) {
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

const anyEvent = (kind: fc.Arbitrary<Event['kind']>, skewMs: fc.Arbitrary<number>): fc.Arbitrary<Event> =>
  fc.record({
    kind,
    elapsed: anyElapsed,
    skewMs,
    instance: fc.integer({ min: 0, max: INSTANCES - 1 }),
    extrapolates: fc.boolean(),
    cost: anyCost,
    size: fc.option(anySize, { nil: undefined, freq: 12 }),
  })

/** Histories of all kinds of events. */
export const anyHistory: fc.Arbitrary<Event[]> = fc.array(
  anyEvent(fc.oneof(kinds('take', 8), kinds('refund', 2), kinds('purge', 1), kinds('forget', 1)), anySkew),
  { minLength: 1, maxLength: 30 },
)

/** Histories without refunds, on instances whose clocks differ. */
export const anyRequests: fc.Arbitrary<Event[]> = fc.array(
  anyEvent(fc.oneof(kinds('take', 12), kinds('purge', 1), kinds('forget', 1)), anySkew),
  {
    minLength: 1,
    maxLength: 40,
  },
)

/** Histories of requests only, by one clock. */
export const anyOrderlyRequests: fc.Arbitrary<Event[]> = fc.array(anyEvent(fc.constant('take'), fc.constant(0)), {
  maxLength: 15,
})

/** A request to an instance that has no view of the subject. */
export const takeWithoutView = (elapsed: Elapsed): Event => ({
  kind: 'take',
  elapsed,
  skewMs: 0,
  instance: INSTANCES - 1,
  extrapolates: false,
  cost: 1,
  size: undefined,
})

/** Requests without a view, windows apart: enough of them that their expired fields are worth a purge. */
export const manyTakesWithoutView: fc.Arbitrary<Event[]> = fc
  .array(fc.integer({ min: 48, max: 80 }), { minLength: 36, maxLength: 60 })
  .map((pauses) => pauses.map((twelfths) => takeWithoutView({ twelfths, ms: 0 })))
