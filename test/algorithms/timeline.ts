import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { apply, type ConditionalWrite, type Fields, holds } from '../../limiter/algorithms/conditional-write'

/** One request and its expected verdict; `about` says why. */
export type Row = [at: number, cost: number, allowed: boolean, remaining: number, retryAfterMs: number, about: string]

/** Runs a timeline against one subject, each request made from the stored state, and returns that state. */
export function runTimeline<Quota>(
  algorithm: Algorithm<Quota>,
  quota: Quota,
  timeline: readonly Row[],
  start: Fields = {},
): Fields {
  let state = start
  for (const [at, cost, allowed, remaining, retryAfterMs, about] of timeline) {
    const { verdict, write } = algorithm.step(state, quota, cost, at)
    expect({ at, cost, about, ...verdict }).toMatchObject({ at, cost, about, allowed, remaining, retryAfterMs })
    if (write) state = applyWrite(write, state)
  }
  return state
}

/** Takes at each of these times, which must all be allowed, and returns the state. */
export function takeAt<Quota>(
  algorithm: Algorithm<Quota>,
  quota: Quota,
  times: readonly number[],
  start: Fields = {},
): Fields {
  return times.reduce((state, at) => {
    const { verdict, write } = algorithm.step(state, quota, 1, at)
    expect({ at, ...verdict }).toMatchObject({ at, allowed: true })
    return applyWrite(write!, state)
  }, start)
}

/** The remaining units at an instant. */
export const remainingAt = <Quota>(algorithm: Algorithm<Quota>, quota: Quota, state: Fields, at: number): number =>
  algorithm.step(state, quota, 0, at).verdict.remaining

/** Applies a write whose guard must hold. */
export function applyWrite(write: ConditionalWrite, state: Fields): Fields {
  expect({ guard: write.guard, state, holds: holds(write.guard, state) }).toMatchObject({ holds: true })
  return apply(write, state)
}
