import fc from 'fast-check'
import { apply, type Clause, type ConditionalWrite, holds } from '../../limiter/algorithms/conditional-write'
import { needsOf } from '../../limiter/stores/expression-budget'
import { type AlgorithmSpec, anyCost, anyHistory, manyTakesWithoutView, NUM_RUNS } from './algorithm-spec'
import { expectEqual, fromAnyView, inAnySituation } from './situations'

/** The laws that make it safe to write without reading first. */
export function guardLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  const { algorithm, withoutExpired, largestCost } = spec
  const checkState = spec.checkState ?? (() => {})

  it('a write whose guard holds never over-admits, however old its view and whichever alternatives of its guard the store kept', () => {
    const held = fromAnyView(spec, ({ known, state, quota, cost, now }) => {
      const { verdict, write } = algorithm.step(known, quota, cost, now)
      const guards = write ? eachAlternative(write.guard).filter((guard) => holds(guard, state)) : []
      if (!write || guards.length === 0) return 0
      const truth = algorithm.step(state, quota, cost, now)
      const context = { guards, known, state, quota, cost, now }
      const after = apply(write, state)
      expectEqual(truth.verdict.allowed, verdict.allowed, context)
      expectEqual(
        withoutExpired(after, quota),
        truth.write && withoutExpired(apply(truth.write, state), quota),
        context,
      )
      checkState(after, quota)
      return 1
    })
    expect(held).toBeGreaterThan(NUM_RUNS)
  })

  it('a write made from the stored state succeeds at the first try', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { write } = algorithm.step(state, quota, cost, now)
      if (write) expectEqual(holds(firstAlternatives(write.guard), state), true, { state, write, quota, cost, now })
    }))

  it('a write made without a view succeeds on a subject without state', () =>
    fc.assert(
      fc.property(spec.quota, anyCost, fc.nat({ max: 2 ** 40 }), (quota, cost, now) => {
        const { verdict, write } = algorithm.step(undefined, quota, cost, now)
        expectEqual(verdict.allowed, cost <= largestCost(quota), { quota, cost, now })
        if (write) expectEqual(holds(firstAlternatives(write.guard), {}), true, { write })
        else expectEqual(cost === 0 || cost > largestCost(quota), true, { quota, cost, now })
      }),
      { numRuns: NUM_RUNS },
    ))

  it('a write contains whole numbers only, and assigns each field once', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const writes = [
        algorithm.step(state, quota, cost, now).write,
        algorithm.step(undefined, quota, cost, now).write,
        algorithm.refund(state, quota, cost, now, now),
        algorithm.purge?.(state, quota, now),
      ]
      for (const write of writes) {
        if (write)
          expectEqual(
            { fractions: numbersIn(write).filter((one) => !Number.isSafeInteger(one)), twice: assignedTwice(write) },
            { fractions: [], twice: [] },
            { write },
          )
      }
    }))

  it('an allowed request with a cost is written; a denied one is written only where denials are recorded', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { verdict, write } = algorithm.step(state, quota, cost, now)
      const recorded = cost > 0 && (verdict.allowed || algorithm.recordsDenials?.(quota) === true)
      expectEqual(write !== undefined, recorded, { state, quota, cost, now, verdict })
    }))

  it('the required part of a write takes at most a thirtieth of an expression, so that thirty policies of any kind fit', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const at = now + 2 ** 42 // when the names of windows are as long as they get
      for (const { write } of [algorithm.step(state, quota, cost, now), algorithm.step(undefined, quota, cost, at)]) {
        if (!write) continue
        const { condition, update } = needsOf({ prefix: 'a1bc', write })
        const most = { operators: 9, bytes: 130 }
        const fits =
          condition.operators <= most.operators && condition.bytes <= most.bytes && update.bytes <= most.bytes
        expectEqual(fits, true, { condition, update, write })
      }
    }))

  it('no decision reads an expired field, by whatever clock', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { verdict } = algorithm.step(state, quota, cost, now)
      expectEqual(algorithm.step(withoutExpired(state, quota), quota, cost, now).verdict, verdict, {
        state,
        quota,
        cost,
        now,
      })
    }))

  if (!algorithm.purge) return

  it('a purge removes only fields that no decision reads, also when it arrives late', () => {
    const anyHistoryOf = fc.tuple(spec.expiredHistory ?? fc.tuple(spec.quota, manyTakesWithoutView), anyHistory)
    const purged = fromAnyView(
      spec,
      ({ known, state, quota, now }) => {
        const write = algorithm.purge!(known ?? {}, quota, now)
        if (!write || !holds(write.guard, state)) return 0
        const after = apply(write, state)
        expectEqual(withoutExpired(after, quota), withoutExpired(state, quota), { known, state, quota, now })
        checkState(after, quota)
        return 1
      },
      anyHistoryOf.map(([[quota, expired], history]) => [quota, [...expired, ...history.slice(0, 2)]]),
    )
    expect(purged).toBeGreaterThan(NUM_RUNS / 20)
  })
}

/** The guards that a store may be left with if it drops alternatives: each choice reduced to one of them. */
function eachAlternative(guard: readonly Clause[]): Clause[][] {
  return guard.reduce<Clause[][]>(
    (guards, clause) =>
      'anyOf' in clause
        ? clause.anyOf.flatMap((all) => guards.map((before) => [...before, ...all]))
        : guards.map((before) => [...before, clause]),
    [[]],
  )
}

const firstAlternatives = (guard: readonly Clause[]): Clause[] =>
  guard.flatMap((clause) => ('anyOf' in clause ? clause.anyOf[0]! : [clause]))

function assignedTwice({ assignments }: ConditionalWrite): string[] {
  const names = assignments.map((one) => ('list' in one ? one.list : one.field))
  return names.filter((name, index) => names.indexOf(name) !== index)
}

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}
