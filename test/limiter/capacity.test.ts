import { estimateCapacity, remainingOf } from '../../limiter/consistency/capacity'
import { MIDNIGHT } from './limiters'
import { compiled, viewOf } from './policies'

const T = MIDNIGHT + 250
const fixed = (limit: number, window = '1m', name = `${limit}-${window}`) => ({
  name,
  algorithm: 'fixed-window' as const,
  limit,
  window,
})
const gcra = (limit: number, window: string, more: object = {}) => ({
  name: 'gcra',
  algorithm: 'gcra' as const,
  limit,
  window,
  ...more,
})

describe('the capacity for a lease', () => {
  const policies = compiled(fixed(100), fixed(1000))

  it('is the fewest remaining units of any policy, and the limit of the policy with the smallest share left', () => {
    const view = viewOf(policies, [50, 940], T)
    expect(remainingOf(view, policies, T)).toEqual([50, 60])
    expect(estimateCapacity(view, policies, T, 50)).toMatchObject({ left: 50, capacity: 1000 })
    expect(estimateCapacity(viewOf(policies, [50, 400], T), policies, T, 50)).toMatchObject({ left: 50, capacity: 100 })
  })

  it('is 0 remaining units of a subject without a view, which counts as new', () => {
    expect(estimateCapacity(undefined, policies, T, 50)).toEqual({
      left: 0,
      capacity: 100,
      ageMs: 0,
      endsInMs: 59_750,
      refill: 0,
      refillMs: 0,
    })
  })

  it('is as old as its view, and never from the future', () => {
    const view = viewOf(policies, [1, 1], T)
    expect(estimateCapacity(view, policies, T + 400, 50).ageMs).toBe(400)
    expect(estimateCapacity(view, policies, T - 400, 50).ageMs).toBe(0)
  })

  it('lasts until the first of the windows ends', () => {
    const both = compiled(fixed(100, '1m'), fixed(10, '1s'))
    expect(estimateCapacity(viewOf(both, [1, 1], T), both, T, 50).endsInMs).toBe(750)
    expect(estimateCapacity(viewOf(both, [1, 1], T), both, T + 749, 50).endsInMs).toBe(1)
  })

  it('lasts for a whole window when the anchored window in the view is over', () => {
    const anchored = compiled({ name: 'a', algorithm: 'anchored-window', limit: 10, window: '10s' })
    const view = viewOf(anchored, [4], T)
    expect(estimateCapacity(view, anchored, T + 9999, 50)).toMatchObject({ endsInMs: 1, left: 6 })
    expect(estimateCapacity(view, anchored, T + 10_000, 50)).toMatchObject({ endsInMs: 10_000, left: 10 })
    expect(estimateCapacity(view, anchored, T + 12_000, 50)).toMatchObject({ endsInMs: 10_000, left: 10 })
  })
})

describe('the refill of a limit', () => {
  it('is the units that come back during the pause of an instance', () => {
    const policies = compiled(gcra(1000, '10s'))
    const view = viewOf(policies, [1000], T)
    expect(estimateCapacity(view, policies, T, 50)).toMatchObject({ left: 0, refill: 5, refillMs: 50 })
    expect(estimateCapacity(view, policies, T, 49.2)).toMatchObject({ refill: 5, refillMs: 50 })
    expect(estimateCapacity(view, policies, T + 200, 50)).toMatchObject({ left: 20, refill: 5, refillMs: 50 })
  })

  it('is one unit where that takes longer than the pause', () => {
    const policies = compiled(gcra(10, '4s'))
    expect(estimateCapacity(viewOf(policies, [10], T), policies, T, 50)).toMatchObject({
      left: 0,
      refill: 1,
      refillMs: 400,
    })
  })

  it.each([
    [60, '1m', { refill: 1, refillMs: 1000 }],
    [59, '1m', { refill: 0, refillMs: 0 }],
  ])('is waited for if it comes within a second: %i in %s', (limit, window, wanted) => {
    const policies = compiled(gcra(limit, window))
    expect(estimateCapacity(viewOf(policies, [limit], T), policies, T, 50)).toMatchObject(wanted)
  })

  it('is nothing if the window ends before it comes', () => {
    const policies = compiled(fixed(10, '1s'))
    expect(estimateCapacity(viewOf(policies, [10], T), policies, T, 50)).toMatchObject({
      left: 0,
      endsInMs: 750,
      refill: 0,
      refillMs: 0,
    })
  })

  it('is that of the slowest of all exhausted policies', () => {
    const policies = compiled(gcra(1000, '10s'), { ...gcra(10, '4s'), name: 'slow' })
    expect(estimateCapacity(viewOf(policies, [1000, 10], T), policies, T, 50)).toMatchObject({
      refill: 1,
      refillMs: 400,
    })
    expect(estimateCapacity(viewOf(policies, [1000, 2], T), policies, T, 50)).toMatchObject({
      left: 0,
      refill: 5,
      refillMs: 50,
    })
  })

  it('is nothing where a policy is non-blocking, or without a view', () => {
    const watched = compiled(gcra(1000, '10s', { action: 'observe' }), { ...gcra(1000, '10s'), name: 'strict' })
    expect(estimateCapacity(viewOf(watched, [1000, 1000], T), watched, T, 50)).toMatchObject({ refill: 0, refillMs: 0 })
    const policies = compiled(gcra(1000, '10s'))
    expect(estimateCapacity(undefined, policies, T, 50)).toMatchObject({ left: 0, refill: 0, refillMs: 0 })
  })

  it('is nothing while all units are there', () => {
    const policies = compiled(gcra(1000, '10s'))
    expect(estimateCapacity(viewOf(policies, [0], T), policies, T, 50)).toMatchObject({ left: 1000, refill: 0 })
  })
})
