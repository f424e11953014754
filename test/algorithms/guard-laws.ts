import fc from 'fast-check'
import { apply, type Clause, type ConditionalWrite, holds } from '../../limiter/algorithms/conditional-write'
import { needsOf } from '../../limiter/stores/expression-budget'
import { agree, fromEveryView, inEveryEncounter } from './encounters'
import { type AlgorithmSpec, anyCost, anyHistory, manyBlindTakes, NUM_RUNS } from './world'

/** What makes it safe to write without reading. */
export function guardLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  const { algorithm, settled, largest } = spec
  const intact = spec.intact ?? (() => {})

  it('a guard that holds never over-admits, however old the view, whichever of its alternatives a store kept', () => {
    const held = fromEveryView(spec, ({ known, state, quota, cost, now }) => {
      const { verdict, write } = algorithm.step(known, quota, cost, now)
      const guards = write ? eachAlternative(write.guard).filter((guard) => holds(guard, state)) : []
      if (!write || guards.length === 0) return 0
      const truth = algorithm.step(state, quota, cost, now)
      const context = { guards, known, state, quota, cost, now }
      const after = apply(write, state)
      agree(truth.verdict.allowed, verdict.allowed, context)
      agree(settled(after, quota), truth.write && settled(apply(truth.write, state), quota), context)
      intact(after, quota)
      return 1
    })
    expect(held).toBeGreaterThan(NUM_RUNS)
  })

  it('the write made from what is stored succeeds at the first try', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { write } = algorithm.step(state, quota, cost, now)
      if (write) agree(holds(firstAlternatives(write.guard), state), true, { state, write, quota, cost, now })
    }))

  it('the write made from nothing known succeeds on a subject without state', () =>
    fc.assert(
      fc.property(spec.quota, anyCost, fc.nat({ max: 2 ** 40 }), (quota, cost, now) => {
        const { verdict, write } = algorithm.step(undefined, quota, cost, now)
        agree(verdict.allowed, cost <= largest(quota), { quota, cost, now })
        if (write) agree(holds(firstAlternatives(write.guard), {}), true, { write })
        else agree(cost === 0 || cost > largest(quota), true, { quota, cost, now })
      }),
      { numRuns: NUM_RUNS },
    ))

  it('a write is whole numbers, and assigns each field once', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const writes = [
        algorithm.step(state, quota, cost, now).write,
        algorithm.step(undefined, quota, cost, now).write,
        algorithm.refund(state, quota, cost, now, now),
        algorithm.purge?.(state, quota, now),
      ]
      for (const write of writes) {
        if (write)
          agree(
            { fractions: numbersIn(write).filter((one) => !Number.isSafeInteger(one)), twice: assignedTwice(write) },
            { fractions: [], twice: [] },
            { write },
          )
      }
    }))

  it('an allowed request that costs is written down, a denied one only where denials are recorded', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { verdict, write } = algorithm.step(state, quota, cost, now)
      const recorded = cost > 0 && (verdict.allowed || algorithm.recordsDenials?.(quota) === true)
      agree(write !== undefined, recorded, { state, quota, cost, now, verdict })
    }))

  it('takes no more than a thirtieth of an expression for what cannot be left out of a write, so that thirty of any policies fit into one', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const at = now + 2 ** 42 // when the names of windows are as long as they get
      for (const { write } of [algorithm.step(state, quota, cost, now), algorithm.step(undefined, quota, cost, at)]) {
        if (!write) continue
        const { condition, update } = needsOf({ prefix: 'a1bc', write })
        const most = { operators: 9, bytes: 130 }
        const fits =
          condition.operators <= most.operators && condition.bytes <= most.bytes && update.bytes <= most.bytes
        agree(fits, true, { condition, update, write })
      }
    }))

  it('no decision reads what counts as litter, by whatever clock', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { verdict } = algorithm.step(state, quota, cost, now)
      agree(algorithm.step(settled(state, quota), quota, cost, now).verdict, verdict, { state, quota, cost, now })
    }))

  if (!algorithm.purge) return

  it('tidying removes only what no decision reads, also when it comes late', () => {
    const anyCourse = fc.tuple(spec.expired ?? fc.tuple(spec.quota, manyBlindTakes), anyHistory)
    const tidied = fromEveryView(
      spec,
      ({ known, state, quota, now }) => {
        const write = algorithm.purge!(known ?? {}, quota, now)
        if (!write || !holds(write.guard, state)) return 0
        const after = apply(write, state)
        agree(settled(after, quota), settled(state, quota), { known, state, quota, now })
        intact(after, quota)
        return 1
      },
      anyCourse.map(([[quota, litter], history]) => [quota, [...litter, ...history.slice(0, 2)]]),
    )
    expect(tidied).toBeGreaterThan(NUM_RUNS / 20)
  })
}

/** Guards as a store may trim them: every choice reduced to any one of its alternatives. */
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
