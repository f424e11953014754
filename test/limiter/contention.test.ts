import { compile } from '../../limiter/compiled-policy'
import { afterSuccess, isHeldBack, noteDenial, noteThrottled, type Seen } from '../../limiter/consistency/contention'
import { parsePolicies } from '../../limiter/policies/parse-policies'

const T = 1_763_683_200_000

/** What an instance knows after others took so often what became free of a limit a second. */
function afterLosses(times: number, limit: number, burst: number, cost = 1, denialMs = 50): Seen {
  const policies = parsePolicies([{ name: 'own', algorithm: 'gcra', limit, window: '1s', burst }], [], []).map((one) =>
    compile(one),
  )
  const view: Seen = { item: { policies: {}, marks: {}, expiresAtSeconds: 0 }, seenAt: T }
  const denial = { allowed: false, remaining: 0, resetAfterMs: denialMs, retryAfterMs: denialMs }
  for (let i = 0; i < times; i++) noteDenial(view, { policies, cost }, [denial], 1, 5000)
  return view
}

describe('how hard others compete', () => {
  it.each([
    [20, 20, 1, 50, 15, 7.5],
    [20, 20, 1, 2000, 15, 3.75],
    [20, 20, 1, 60_000, 15, 3],
    [20, 20, 2, 50, 30, 15],
    [1000, 1, 1, 50, 98, 36],
    [1000, 2, 1, 50, 8, 4],
    [1000, 4, 2, 50, 8, 4],
    [1000, 1000, 1, 50, 0.3, 3],
  ])('depends on the speed and the burst of the limit: %i/s, %i at once, by %i, denied for %i ms', (...given) => {
    const [limit, burst, cost, denialMs, relief, from] = given
    const { contention } = afterLosses(1, limit, burst, cost, denialMs)
    expect(contention!.level).toBe(1)
    expect(contention!.relief).toBeCloseTo(relief, 5)
    expect(contention!.from).toBeCloseTo(from, 5)
  })

  it('holds an instance back from a level on, and longer by a third each time', () => {
    const waits = [1, 2, 3, 4, 5].map((times) => afterLosses(times, 1000, 1000).contention!.waitMs)
    expect(waits.slice(0, 2)).toEqual([0, 0])
    for (const [i, waitMs] of waits.slice(2).entries()) {
      expect(waitMs).toBeGreaterThanOrEqual(0.8 * 20 * 1.35 ** i)
      expect(waitMs).toBeLessThanOrEqual(Math.ceil(20 * 1.35 ** i))
    }
  })

  it.each([
    ['is less by the relief', { level: 20, from: 3 }, 12.5],
    ['is less, where the instance was just held back', { level: 8, from: 8 }, 0.5],
    ['is forgotten, where the relief is all of it', { level: 7.5, from: 3 }, undefined],
    ['is forgotten, where the relief is more', { level: 7, from: 3 }, undefined],
    ['is forgotten, where it was not held back yet', { level: 8, from: 8.5 }, undefined],
  ])('after a success %s', (_, before, level) => {
    const { contention: lost } = afterLosses(1, 20, 20)
    const contention = { ...lost!, ...before, relief: 7.5, waitMs: 100 }
    expect(afterSuccess(contention)).toEqual(level && { ...contention, level })
  })

  it('is raised by a throttled call by eight losses beyond those from which an instance waits, which it does at once', () => {
    const view = afterLosses(1, 1000, 1000)
    const { policy } = view.contention!
    const request = { policies: [policy], cost: 1 }
    expect(noteThrottled(view, request, T + 500, 5000)).toBe(true)
    expect(view.contention!.level).toBe(3 + 8)
    const waitMs = view.heldBackUntil! - (T + 500)
    expect(waitMs).toBeGreaterThanOrEqual(0.8 * 20 * 1.35 ** 8)
    expect(waitMs).toBeLessThanOrEqual(Math.ceil(20 * 1.35 ** 8))
    expect(isHeldBack(view, request, T + 500)).toBe(true)
    expect(isHeldBack(view, request, view.heldBackUntil!)).toBe(false)
  })

  it('is raised by throttled calls to the longest wait, and holds nobody back for longer after a denial than any does', () => {
    const view = afterLosses(1, 1000, 1000)
    const request = { policies: [view.contention!.policy], cost: 1 }
    let now = T
    while (noteThrottled(view, request, now, 60_000)) now = view.heldBackUntil!
    expect(view.contention!.level).toBeLessThan(22)
    expect(view.contention!.waitMs).toBeGreaterThan(3900)
    expect(now).toBe(T + 5000)
    const short = afterLosses(1, 1000, 1000)
    const own = { policies: [short.contention!.policy], cost: 1 }
    expect(noteThrottled(short, own, T + 900, 1000) && short.heldBackUntil).toBe(T + 1000)
  })

  it('is nothing to a throttled instance that has lost to nobody', () => {
    const view = afterLosses(0, 1000, 1000)
    const { policy } = afterLosses(1, 1000, 1000).contention!
    expect(noteThrottled(view, { policies: [policy], cost: 1 }, T, 5000)).toBe(false)
    expect([view.contention, view.heldBackUntil]).toEqual([undefined, undefined])
  })
})
