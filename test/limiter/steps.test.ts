import type { Step, Verdict } from '../../limiter/algorithms/algorithm'
import { isCharged } from '../../limiter/algorithms/algorithm'
import { set, when } from '../../limiter/algorithms/conditional-write'
import {
  allAllow,
  chargedIn,
  chargeWrites,
  statesAfter,
  statesOf,
  stepAll,
  thatFit,
  verdictsOf,
} from '../../limiter/steps'
import { MIDNIGHT } from './limiters'
import { chargedFields, compiled, viewOf } from './policies'

const T = MIDNIGHT + 250
const fixed = (name: string, limit: number, more: object = {}) => ({
  name,
  algorithm: 'fixed-window' as const,
  limit,
  window: '1m',
  ...more,
})
const both = compiled(fixed('a', 10), fixed('b', 5))
const verdict = (more: Partial<Verdict> = {}): Verdict => ({
  allowed: true,
  remaining: 1,
  resetAfterMs: 0,
  retryAfterMs: 0,
  ...more,
})
const costs = (...units: number[]) => units.map((cost) => ({ cost }))

it('a request is allowed if every policy allows it', () => {
  const [yes, no] = [verdict(), verdict({ allowed: false })]
  expect([[], [yes], [yes, no], [no, yes], [no]].map(allAllow)).toEqual([true, true, false, false, false])
})

describe('the charge of an allowed request', () => {
  it('includes what it took within a limit and its overrun, and not what was allowed without a charge', () => {
    expect(
      [undefined, 'overrun', 'observe', 'deprioritize'].map((exceeded) => isCharged(verdict({ exceeded } as never))),
    ).toEqual([true, true, false, false])
  })

  it('is dated by the earliest charge, and delayed by the longest delay', () => {
    const verdicts = [verdict({ chargedAt: 30, delayMs: 5 }), verdict({ chargedAt: 20 }), verdict({ delayMs: 9 })]
    const charged = (given: Verdict[]) => chargedIn({ key: 'k', policies: [], cost: 1 }, given)?.charged
    expect(charged(verdicts)).toEqual({ at: 20, delayMs: 9 })
    expect(charged([verdict({ chargedAt: 0 })])).toEqual({ at: 0, delayMs: 0 })
    expect(charged([verdict({ delayMs: 9 })])).toBeUndefined()
  })

  it('is of the policies that it was charged to', () => {
    const policies = compiled({ name: 'a', limit: 1, window: '1m' }, { name: 'b', limit: 1, window: '1m' })
    const verdicts = [verdict({ chargedAt: 30, exceeded: 'observe' }), verdict({ chargedAt: 30 })]
    expect(chargedIn({ key: 'k', policies, cost: 1 }, verdicts)?.charge).toEqual({
      key: 'k',
      policies: [policies[1]],
      cost: 1,
    })
  })
})

describe('the verdicts of a request', () => {
  it('show the other policies without the charge if one denies', () => {
    const states = statesOf(viewOf(both, [3, 5], T), both)
    const told = verdictsOf(stepAll(states, both, { cost: 1 }, T), states, both, T)
    expect(told.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 7],
      [false, 0],
    ])
  })

  it('show all policies after the charge if all allow', () => {
    const states = statesOf(viewOf(both, [3, 2], T), both)
    const told = verdictsOf(stepAll(states, both, { cost: 1 }, T), states, both, T)
    expect(told.map(({ remaining }) => remaining)).toEqual([6, 2])
  })
})

it('the fields of a policy are unknown without an item, and empty in an item without them', () => {
  expect(statesOf(undefined, both)).toEqual([undefined, undefined])
  expect(statesOf({ ...viewOf([both[0]!], [1], T) }, both)).toEqual([chargedFields(both[0]!, 1, T), {}])
})

it('the fields after a request are those that it wrote, or the same if it wrote nothing', () => {
  const steps: Step[] = [
    { verdict: verdict(), write: when([], set('w', 2)) },
    { verdict: verdict() },
    { verdict: verdict(), write: when([], set('w', 3)) },
  ]
  expect(statesAfter([{ w: 1, x: 1 }, { w: 1 }, undefined], steps)).toEqual([{ w: 2, x: 1 }, { w: 1 }, { w: 3 }])
})

describe('coalesced requests', () => {
  const fitting = (policies: typeof both, view: Parameters<typeof statesOf>[0], ...units: number[]) =>
    thatFit(statesOf(view, policies), policies, costs(...units), T).map(({ cost }) => cost)

  it('fit one after another into every policy', () => {
    expect(fitting(both, undefined, 2, 2, 2, 1, 1)).toEqual([2, 2, 1])
    expect(fitting(both, viewOf(both, [9, 0], T), 2, 1, 1)).toEqual([1])
    expect(fitting(both, viewOf(both, [0, 5], T), 1, 1)).toEqual([])
  })

  it('have the same queue slot', () => {
    const waiting = compiled(fixed('a', 2, { window: '1s', action: 'delay', maxDelay: '5s' }))
    expect(fitting(waiting, undefined, 1, 1, 1)).toEqual([1, 1])
    expect(fitting(waiting, viewOf(waiting, [2], T), 1, 1, 1)).toEqual([1, 1])
  })

  it('are either all charged, or all allowed without a charge', () => {
    const watched = compiled(fixed('a', 2, { action: 'observe' }), fixed('b', 100))
    expect(fitting(watched, undefined, 2, 1, 1)).toEqual([2])
    expect(fitting(watched, viewOf(watched, [2, 0], T), 2, 1)).toEqual([2, 1])
  })
})

describe('the writes of a charge', () => {
  const writesOf = (
    policies: typeof both,
    view: ReturnType<typeof viewOf> | undefined,
    cost: number,
    now: number,
    guessing: boolean,
  ) =>
    chargeWrites(
      stepAll(statesOf(view, policies), policies, { cost }, now),
      policies,
      { cost },
      now,
      guessing ? view : undefined,
    )
  const gcra = compiled({ name: 'g', algorithm: 'gcra', limit: 100, window: '10s' })

  it('are one for each charged policy, under its attribute prefix', () => {
    const watched = compiled(fixed('a', 2, { action: 'observe' }), fixed('b', 5))
    expect(writesOf(both, undefined, 1, T, false).map(({ prefix }) => prefix)).toEqual(both.map(({ prefix }) => prefix))
    expect(writesOf(watched, viewOf(watched, [2, 0], T), 1, T, false).map(({ prefix }) => prefix)).toEqual([
      watched[1]!.prefix,
    ])
    expect(writesOf(both, undefined, 0, T, true)).toEqual([])
  })

  it('extrapolate the present state if other instances write too, in the first try only', () => {
    const view = viewOf(gcra, [50], T)
    const later = T + 6000 // the fifty units have come back, unless others are as busy as before
    const [{ counter, prefix }] = gcra as [(typeof gcra)[0]]
    const seen = view.item.policies[prefix]!
    const guess = counter.extrapolate(seen, T, later)
    const [known, guessed] = [seen, guess].map((state) => [{ prefix, write: counter.step(state, 1, later).write }])
    expect(guessed).not.toEqual(known)
    expect(writesOf(gcra, { ...view, shared: true }, 1, later, true)).toEqual(guessed)
    expect(writesOf(gcra, { ...view, shared: true }, 1, later, false)).toEqual(known)
    expect(writesOf(gcra, view, 1, later, true)).toEqual(known)
    expect(writesOf(gcra, undefined, 1, later, true)).toHaveLength(1)
  })

  it('use the view if the extrapolated state would deny the request', () => {
    const view = { ...viewOf(gcra, [100], T), shared: true }
    const [{ counter, prefix }] = gcra as [(typeof gcra)[0]]
    const known = [{ prefix, write: counter.step(view.item.policies[prefix], 1, T + 6000).write }]
    expect(writesOf(gcra, view, 1, T + 6000, true)).toEqual(known)
  })
})
