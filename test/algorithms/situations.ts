import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { type Fields, numberOf } from '../../limiter/algorithms/conditional-write'
import {
  type AlgorithmSpec,
  anyCost,
  anyElapsed,
  anyHistory,
  anySize,
  anySkew,
  type Event,
  inMs,
  NUM_RUNS,
  runHistory,
} from './algorithm-spec'

/** A request, and a reachable state that it meets. */
export interface Situation<Quota> {
  readonly state: Fields
  readonly quota: Quota
  readonly cost: number
  readonly now: number
}

/** The same on an instance whose view of that state is of any age, missing or extrapolated. */
export interface ViewedSituation<Quota> extends Situation<Quota> {
  readonly known: Fields | undefined
  /** When the instance charged the units that it may refund. */
  readonly chargedAt: number
}

/** Checks a law for random requests on reachable states. */
export function inAnySituation<Quota>(spec: AlgorithmSpec<Quota>, law: (encounter: Situation<Quota>) => void): void {
  const anySituation = fc.record({
    quota: spec.quota,
    history: anyHistory,
    elapsed: anyElapsed,
    skewMs: anySkew,
    cost: anyCost,
    size: someSize,
  })
  fc.assert(
    fc.property(anySituation, ({ quota: first, history, elapsed, skewMs, cost, size }) => {
      const { fields, clock, quota: last } = runHistory(spec, first, history).at(-1)!
      const quota = resize(spec, last, size)
      law({ state: fields, quota, cost, now: clock + inMs(elapsed, spec.windowMs(quota)) + skewMs })
    }),
    { numRuns: NUM_RUNS },
  )
}

/**
 * Checks a law for random requests made from views of any age. Returns how often the law applied, so that the caller
 * can expect that it did at all.
 */
export function fromAnyView<Quota>(
  spec: AlgorithmSpec<Quota>,
  law: (view: ViewedSituation<Quota>) => number,
  anyHistoryOf: fc.Arbitrary<[Quota, Event[]]> = fc.tuple(spec.quota, anyHistory),
): number {
  const { algorithm, windowMs } = spec
  const anyView = fc.record({
    seen: fc.integer({ min: -3, max: 30 }),
    stored: fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 30 })),
    charged: fc.nat({ max: 5 }),
    extrapolates: fc.boolean(),
    elapsed: anyElapsed,
    skewMs: anySkew,
    cost: anyCost,
    size: someSize,
  })
  let applied = 0
  fc.assert(
    fc.property(anyHistoryOf, fc.array(anyView, { minLength: 5, maxLength: 15 }), ([first, history], views) => {
      const moments = runHistory(spec, first, history)
      for (const view of views) {
        const storedAt = Math.max(0, moments.length - 1 - view.stored)
        const stored = moments[storedAt]!
        const seen = view.seen < 0 ? undefined : moments[Math.max(0, storedAt - view.seen)]!
        const quota = resize(spec, stored.quota, view.size)
        const now = stored.clock + inMs(view.elapsed, windowMs(quota)) + view.skewMs
        const known =
          seen && view.extrapolates && algorithm.extrapolate
            ? algorithm.extrapolate(seen.fields, seen.clock, quota, now)
            : seen?.fields
        const chargedAt = moments[Math.max(0, storedAt - view.charged)]!.clock
        applied += law({ known, state: stored.fields, quota, cost: view.cost, now, chargedAt })
      }
    }),
    { numRuns: NUM_RUNS },
  )
  return applied
}

/** Expects equality, and shows the context of a failure. Far quicker than `expect` if the two are equal. */
export function expectEqual(got: unknown, wanted: unknown, context: object): void {
  if (!isDeepStrictEqual(got, wanted)) expect({ ...context, got }).toEqual({ ...context, got: wanted })
}

export const resize = <Quota>({ withSize }: AlgorithmSpec<Quota>, quota: Quota, size: number | undefined): Quota =>
  size === undefined || !withSize ? quota : withSize(quota, size)

/** The fields whose names match, without those that are 0. */
export const onlyFields = (fields: Fields, named: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => named(name) && numberOf(fields, name) !== 0))

const someSize = fc.option(anySize, { nil: undefined, freq: 4 })
