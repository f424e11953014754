import { createLimiter, type LimiterOptions, MemoryStore, StoreUnavailableError } from '../../limiter'

const T = Date.UTC(2026, 0, 15)

describe('a fair policy', () => {
  const all = {
    name: 'all',
    algorithm: 'fixed-window',
    limit: 10,
    window: '1s',
    consistency: 'leased',
    fair: true,
  } as const
  const own = { name: 'own', algorithm: 'fixed-window', limit: 8, window: '1s' } as const
  const made = (more: Partial<LimiterOptions> = {}) => {
    const state = { now: T }
    const limiter = createLimiter({ store: new MemoryStore(), policies: [all, own], clock: () => state.now, ...more })
    const take = (caller: string, times = 1) =>
      Promise.all(
        Array.from({ length: times }, () =>
          limiter.takeAll([
            { subject: 'everybody', policies: ['all'], caller },
            { subject: caller, policies: ['own'] },
          ]),
        ),
      )
    return Object.assign(state, { limiter, take })
  }
  const allowed = (decisions: readonly { readonly allowed: boolean }[]) => decisions.filter((one) => one.allowed).length

  /** Two windows in which `greedy` asks for all, so that a share of five holds in the third. */
  async function contended(more: Partial<LimiterOptions> = {}) {
    const one = made(more)
    for (let window = 0; window < 3; window++) {
      one.now = T + 1000 * window + 500
      await one.take('greedy', 8)
      await one.take('modest', 4)
      await one.take('modest', 1)
    }
    one.now = T + 3000 + 500
    await one.take('looks', 1) // at what the board says
    return one
  }

  it('names the share by which it denies, and its numbers', async () => {
    const one = await contended()
    const decisions = await one.take('greedy', 8)
    const denial = decisions.find((decision) => !decision.allowed)!
    expect(denial).toMatchObject({
      allowed: false,
      policy: 'all.share',
      windowMs: 1000,
      remaining: 0,
      retryAfterMs: 500,
    })
    expect(denial.limit).toBe(allowed(decisions))
    expect(denial.limit).toBeLessThan(8)
    expect((await one.limiter.peek('greedy')).allowed).toBe(true) // by its own limit
  })

  it('leaves the others what they ask for in the same window', async () => {
    const one = await contended()
    await one.take('greedy', 8)
    expect(allowed(await one.take('modest', 3))).toBe(3)
  })

  it('begins anew for a caller that is reset', async () => {
    const one = await contended()
    const before = allowed(await one.take('greedy', 8))
    await one.limiter.reset('greedy')
    expect(allowed(await one.take('greedy', 1))).toBe(1)
    expect(before).toBeGreaterThan(0)
  })

  it('has no shares once nobody has asked for more than there is, for some windows', async () => {
    const one = await contended()
    for (let window = 4; window < 12; window++) {
      one.now = T + 1000 * window + 500
      await one.take('modest', 1)
    }
    expect(allowed(await one.take('greedy', 8))).toBe(8)
  })

  it('follows the failure mode during an outage, and goes on after it', async () => {
    const store = new MemoryStore()
    let isOut = false
    const failing = new Proxy(store, {
      get: (target, name) => {
        const method = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...given: unknown[]) =>
          isOut ? Promise.reject(new StoreUnavailableError('unreachable', 'out')) : method.apply(target, given)
      },
    })
    const one = await contended({ store: failing })
    isOut = true
    one.now += 1000
    const decisions = await one.take('greedy', 20)
    expect(decisions.every(({ degraded, policy }) => degraded || policy === 'all.share' || policy === 'own')).toBe(true)
    expect(decisions.some(({ degraded }) => degraded)).toBe(true)
    isOut = false
    one.now += 60_000
    expect(allowed(await one.take('greedy', 8))).toBe(8)
  })

  it('counts what a caller takes by a cost of its own', async () => {
    const tokens = { ...all, limit: 1000, cost: 'tokens' } as const
    const state = { now: T }
    const limiter = createLimiter({ store: new MemoryStore(), policies: [tokens], clock: () => state.now })
    const take = (caller: string, count: number) =>
      limiter.takeAll([{ subject: 'everybody', caller }], { costs: { tokens: count } })
    for (let window = 0; window < 2; window++) {
      state.now = T + 1000 * window + 500
      await take('greedy', 900)
      await take('modest', 90)
      await take('modest', 90)
    }
    state.now = T + 2500
    await take('modest', 1)
    expect(await take('greedy', 900)).toMatchObject({
      allowed: false,
      policy: 'all.share',
      limit: 496,
      retryAfterMs: 500, // the next share may be large enough
    })
    expect(await take('modest', 90)).toMatchObject({ allowed: true })
  })

  it('counts each subject that callers share apart, in one request too', async () => {
    const state = { now: T }
    const limiter = createLimiter({ store: new MemoryStore(), policies: [all, own], clock: () => state.now })
    const take = async (caller: string, subjects: readonly string[], times: number) => {
      const shared = subjects.map((subject) => ({ subject, policies: ['all'] as const, caller }))
      const request = () => limiter.takeAll([...shared, { subject: caller, policies: ['own'] }])
      return allowed(await Promise.all(Array.from({ length: times }, request)))
    }
    let got: Record<string, number> = {}
    for (let window = 0; window < 5; window++) {
      state.now = T + 1000 * window + 500
      const both = await take('greedy', ['east', 'west'], 8)
      got = { both, modest: await take('modest', ['west'], 3), again: await take('modest', ['east'], 3) }
      await take('modest', ['west'], 1) // looks, or is short of it
      await take('greedy', ['east', 'west'], 1)
    }
    expect(got.both).toBeLessThanOrEqual(7)
    expect(got.both).toBeGreaterThanOrEqual(5)
    expect(got).toMatchObject({ modest: 3, again: 3 })
  })

  it('protects who comes late from a caller that takes all at the beginning of each window', async () => {
    const one = made({ policies: [all, { ...own, limit: 100 }] })
    let got = 0
    for (let window = 0; window < 5; window++) {
      one.now = T + 1000 * window
      await one.take('greedy', 20)
      one.now += 900
      got = allowed(await one.take('modest', 4))
    }
    expect(got).toBe(4)
  })

  it('gives no more than was left to a caller that comes back, and takes none of it from those who stayed', async () => {
    const one = made({
      policies: [
        { ...all, limit: 100 },
        { ...own, limit: 1000 },
      ],
    })
    let got: Record<string, number> = {}
    for (let window = 0; window < 12; window++) {
      one.now = T + 1000 * window
      const greedy = window === 0 || window % 4 === 3 ? allowed(await one.take('greedy', 200)) : 0
      one.now += 500
      const modest = allowed(await one.take('modest', 30)) + allowed(await one.take('other', 30))
      got = { greedy, modest }
      one.now += 400
      await one.take('other', 1)
    }
    expect(got.modest).toBe(60)
    expect(got.greedy).toBeGreaterThan(30)
    expect(got.greedy).toBeLessThanOrEqual(40)
  })

  it('shares nothing out to requests that cost nothing, nor for one that is tried again and again', async () => {
    const one = await contended()
    const free = () => one.limiter.takeAll([{ subject: 'everybody', policies: ['all'], caller: 'free' }], { cost: 0 })
    for (let window = 4; window < 7; window++) {
      one.now = T + 1000 * window + 500
      for (let i = 0; i < 100; i++) await free()
      await one.take('modest', 3)
      expect(allowed(await one.take('greedy', 8))).toBeGreaterThanOrEqual(5)
      await one.take('modest', 200)
    }
  })

  it('is refused without a caller, and with a weight that is none', async () => {
    const { limiter } = made()
    const fair = 'policy "all" is fair: call takeAll with the caller of each request'
    await expect(limiter.take('everybody')).rejects.toThrow(fair)
    await expect(limiter.waitFor('everybody')).rejects.toThrow(fair)
    const running = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '60s' } as const
    await expect(made({ policies: [all, running] }).limiter.acquire('everybody' as never)).rejects.toThrow(fair)
    await expect(limiter.takeAll([{ subject: 'everybody' }])).rejects.toThrow(fair)
    await expect(limiter.takeAll([{ subject: 'everybody', caller: 'a', weight: 0 }])).rejects.toThrow(
      'weight must be an integer from 1 to 1000, got 0',
    )
  })

  test.each([
    [{ consistency: 'strict' }, 'fair needs consistency "leased", got "strict"'],
    [{ action: 'observe' }, 'fair needs action "deny", got "observe"'],
    [
      { window: '60001ms' },
      'fair needs a window of 1m at most, or units that come back one by one, in 10 s at least one, got "fixed-window" with window "60001ms"',
    ],
    [
      { window: '1h', algorithm: 'gcra', limit: 100 },
      'fair needs a window of 1m at most, or units that come back one by one, in 10 s at least one, got "gcra" with window "1h"',
    ],
  ] as const)('%j is a mistake', (more, sentence) => {
    expect(() => createLimiter({ store: new MemoryStore(), policies: [{ ...all, ...more }] as never })).toThrow(
      sentence,
    )
  })

  it('may have a window of a minute, and a longer one where units come back one by one', () => {
    expect(() => made({ policies: [{ ...all, window: '1m' }] })).not.toThrow()
    expect(() => made({ policies: [{ ...all, algorithm: 'gcra', limit: 3600, window: '1h' }] })).not.toThrow()
  })
})
