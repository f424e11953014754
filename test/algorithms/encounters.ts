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
  live,
  NUM_RUNS,
} from './world'

/** A request that comes upon a reachable state. */
export interface Encounter<Quota> {
  readonly state: Fields
  readonly quota: Quota
  readonly cost: number
  readonly now: number
}

/** The same request, from an instance whose view of that state may be as old as can be, or guessed. */
export interface OldView<Quota> extends Encounter<Quota> {
  readonly known: Fields | undefined
  /** When an instance charged the units that it may want to give back. */
  readonly chargedAt: number
}

/** A law about every request. */
export function inEveryEncounter<Quota>(spec: AlgorithmSpec<Quota>, law: (encounter: Encounter<Quota>) => void): void {
  const anyEncounter = fc.record({
    quota: spec.quota,
    history: anyHistory,
    elapsed: anyElapsed,
    skewMs: anySkew,
    cost: anyCost,
    size: someSize,
  })
  fc.assert(
    fc.property(anyEncounter, ({ quota: first, history, elapsed, skewMs, cost, size }) => {
      const { fields, clock, quota: last } = live(spec, first, history).at(-1)!
      const quota = resize(spec, last, size)
      law({ state: fields, quota, cost, now: clock + inMs(elapsed, spec.windowMs(quota)) + skewMs })
    }),
    { numRuns: NUM_RUNS },
  )
}

/** A law about what an old view leads to. Says how often it applied, since one that never does says nothing. */
export function fromEveryView<Quota>(
  spec: AlgorithmSpec<Quota>,
  law: (view: OldView<Quota>) => number,
  anyCourse: fc.Arbitrary<[Quota, Event[]]> = fc.tuple(spec.quota, anyHistory),
): number {
  const { algorithm, windowMs } = spec
  const anyGlance = fc.record({
    seen: fc.integer({ min: -3, max: 30 }),
    stored: fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 30 })),
    charged: fc.nat({ max: 5 }),
    guesses: fc.boolean(),
    elapsed: anyElapsed,
    skewMs: anySkew,
    cost: anyCost,
    size: someSize,
  })
  let applied = 0
  fc.assert(
    fc.property(anyCourse, fc.array(anyGlance, { minLength: 5, maxLength: 15 }), ([first, history], glances) => {
      const moments = live(spec, first, history)
      for (const glance of glances) {
        const storedAt = Math.max(0, moments.length - 1 - glance.stored)
        const stored = moments[storedAt]!
        const seen = glance.seen < 0 ? undefined : moments[Math.max(0, storedAt - glance.seen)]!
        const quota = resize(spec, stored.quota, glance.size)
        const now = stored.clock + inMs(glance.elapsed, windowMs(quota)) + glance.skewMs
        const known =
          seen && glance.guesses && algorithm.extrapolate
            ? algorithm.extrapolate(seen.fields, seen.clock, quota, now)
            : seen?.fields
        const chargedAt = moments[Math.max(0, storedAt - glance.charged)]!.clock
        applied += law({ known, state: stored.fields, quota, cost: glance.cost, now, chargedAt })
      }
    }),
    { numRuns: NUM_RUNS },
  )
  return applied
}

/** Expects equality, and shows what led to it when there is none. Far quicker than `expect` where there is. */
export function agree(got: unknown, wanted: unknown, context: object): void {
  if (!isDeepStrictEqual(got, wanted)) expect({ ...context, got }).toEqual({ ...context, got: wanted })
}

export const resize = <Quota>({ resized }: AlgorithmSpec<Quota>, quota: Quota, size: number | undefined): Quota =>
  size === undefined || !resized ? quota : resized(quota, size)

/** Those fields whose name passes, and that count something. */
export const keeping = (fields: Fields, named: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => named(name) && numberOf(fields, name) !== 0))

const someSize = fc.option(anySize, { nil: undefined, freq: 4 })
