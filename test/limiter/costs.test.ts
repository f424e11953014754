import fc from 'fast-check'
import { type Clock, createLimiter, type PolicyInput } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'

const T = Date.UTC(2026, 0, 1)
const REQUESTS: PolicyInput = { name: 'requests', algorithm: 'fixed-window', limit: 3, window: '1m' }
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1m', cost: 'tokens' }
const DAILY: PolicyInput = { ...TOKENS, name: 'tokens-a-day', limit: 1500, window: 'day' }

function limiterOf(policies: readonly PolicyInput[], store = new MemoryStore(), clock: Clock = () => T) {
  const write = jest.spyOn(store, 'write')
  return { limiter: createLimiter({ store, policies, clock, onStoreError: 'throw' }), store, write }
}

const leftOf = ({ policies }: { policies: Readonly<Record<string, { remaining: number }>> }) =>
  Object.fromEntries(Object.entries(policies).map(([name, { remaining }]) => [name, remaining]))

describe('a request with costs by name', () => {
  it('charges each policy the cost that it counts, in one write', async () => {
    const { limiter, write } = limiterOf([REQUESTS, TOKENS, DAILY])
    const decision = await limiter.take('a', { costs: { tokens: 500 } })
    expect(leftOf(decision)).toEqual({ requests: 2, tokens: 500, 'tokens-a-day': 1000 })
    expect(write).toHaveBeenCalledTimes(1)
  })

  it('is charged nothing where one of its costs does not fit', async () => {
    const { limiter } = limiterOf([REQUESTS, TOKENS])
    await limiter.take('a', { costs: { tokens: 600 } })
    const denied = await limiter.take('a', { costs: { tokens: 401 } })
    expect(denied).toMatchObject({ allowed: false, policy: 'tokens', chargedAt: null })
    expect(leftOf(await limiter.take('a', { costs: { tokens: 400 } }))).toEqual({ requests: 1, tokens: 0 })
  })

  it('takes 1 unit of a cost that it does not name', async () => {
    const { limiter } = limiterOf([REQUESTS, TOKENS])
    expect(leftOf(await limiter.take('a', { cost: 3 }))).toEqual({ requests: 0, tokens: 999 })
  })

  it('does not ask a policy of which it takes nothing', async () => {
    const { limiter } = limiterOf([REQUESTS, TOKENS])
    await limiter.take('a', { costs: { tokens: 1000 } })
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'tokens' })
    const free = await limiter.take('a', { costs: { tokens: 0 } })
    expect([free.allowed, leftOf(free)]).toEqual([true, { requests: 1 }])
    expect(leftOf(await limiter.take('b', { cost: 0, costs: { tokens: 10 } }))).toEqual({ tokens: 990 })
  })

  it('only looks with costs of 0', async () => {
    const { limiter, write } = limiterOf([REQUESTS, TOKENS])
    expect(leftOf(await limiter.take('a', { cost: 0, costs: { tokens: 0 } }))).toEqual({ requests: 3, tokens: 1000 })
    expect(leftOf(await limiter.peek('a', { costs: { tokens: 10 } }))).toEqual({ requests: 3, tokens: 1000 })
    expect(write).not.toHaveBeenCalled()
  })

  it('is refunded to each policy what it took', async () => {
    const { limiter } = limiterOf([REQUESTS, TOKENS])
    const { chargedAt } = await limiter.take('a', { costs: { tokens: 500 } })
    await limiter.refund('a', 0, { chargedAt, costs: { tokens: 499 } })
    expect(leftOf(await limiter.peek('a', { cost: 0 }))).toEqual({ requests: 2, tokens: 999 })
    await limiter.refund('a', 1, { chargedAt, costs: { tokens: 1 } })
    expect(leftOf(await limiter.peek('a', { cost: 0 }))).toEqual({ requests: 3, tokens: 1000 })
  })

  it('gives each policy back what it took where another subject denies', async () => {
    const { limiter } = limiterOf([REQUESTS, TOKENS])
    await limiter.take('b', { costs: { tokens: 990 } })
    const both = ['a', 'b'].map((subject) => ({ subject, costs: { tokens: 11 } }))
    expect(await limiter.takeAll(both)).toMatchObject({ allowed: false })
    expect(leftOf(await limiter.peek('a', { cost: 0 }))).toEqual({ requests: 3, tokens: 1000 })
    expect(leftOf(await limiter.peek('b', { cost: 0 }))).toEqual({ requests: 2, tokens: 10 })
  })

  it('shares a write with others that come meanwhile, and none exceeds its limit', async () => {
    const { limiter, write } = limiterOf([{ ...REQUESTS, limit: 10 }, TOKENS])
    const costs = [300, 400, 1, 500, 200, 99]
    const decisions = await Promise.all(costs.map((tokens) => limiter.take('a', { costs: { tokens } })))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, true, true])
    expect(leftOf(await limiter.peek('a', { cost: 0 }))).toEqual({ requests: 5, tokens: 0 })
    expect(write.mock.calls.length).toBeLessThanOrEqual(3)
  })

  it.each([
    [{ token: 5 }, 'costs must be some of tokens, got "token"'],
    [{ tokens: 1.5 }, 'costs.tokens must be an integer from 0 to 9007199254740991, got 1.5'],
    [{ tokens: -1 }, 'costs.tokens must be an integer from 0 to 9007199254740991, got -1'],
    [{ __proto__: null, toString: 1 }, 'costs must be some of tokens, got "toString"'],
    [[5], 'costs must be some of tokens, got a list'],
  ])('is refused, uncharged, where it says %j', async (costs, message) => {
    const { limiter, write } = limiterOf([REQUESTS, TOKENS])
    await expect(limiter.take('a', { costs: costs as never })).rejects.toThrow(message)
    expect(write).not.toHaveBeenCalled()
  })

  it.each([
    ['take', { tokens: 5 }, 'unknown option "tokens" of take, known are cost, costs, reserve'],
    ['take', { Cost: 5 }, 'unknown option "Cost" of take, did you mean "cost"?'],
    ['take', 5, 'the options of take must be an object, got 5'],
    ['take', null, 'the options of take must be an object, got null'],
    ['peek', { tokens: 5 }, 'unknown option "tokens" of peek'],
    ['acquire', { tokens: 5 }, 'unknown option "tokens" of acquire'],
    ['waitFor', { tokens: 5 }, 'unknown field "tokens"'],
  ] as const)(
    'is not looked for beside the options: %s(…, %j) is refused, uncharged',
    async (call, options, message) => {
      const { limiter, write } = limiterOf([REQUESTS, TOKENS])
      await expect(limiter[call]('a', options as never)).rejects.toThrow(message)
      expect(write).not.toHaveBeenCalled()
    },
  )

  it('is not looked for beside the options of several subjects, or of one of them', async () => {
    const { limiter, write } = limiterOf([REQUESTS, TOKENS])
    const wrong = { tokens: 5 } as never
    await expect(limiter.takeAll([{ subject: 'a' }], wrong)).rejects.toThrow('unknown option "tokens" of takeAll')
    await expect(limiter.takeAll([Object.assign({ subject: 'a' }, wrong)])).rejects.toThrow(
      'unknown option "tokens" of a subject of takeAll',
    )
    expect(write).not.toHaveBeenCalled()
    const undefinedOnes = { cost: 1, costs: undefined, tokens: undefined } as never
    expect(await limiter.take('a', undefinedOnes)).toMatchObject({ allowed: true })
  })

  it('is refused where no policy has a cost of its own', async () => {
    const { limiter } = limiterOf([REQUESTS])
    await expect(limiter.take('a', { costs: { tokens: 1 } })).rejects.toThrow('no policy has a `cost`')
  })
})

it('a policy that counts tokens shares no count with one of its name that counts requests', async () => {
  const store = new MemoryStore()
  await limiterOf([{ ...TOKENS, cost: undefined } as PolicyInput], store).limiter.take('a', { cost: 1000 })
  expect(await limiterOf([TOKENS], store).limiter.take('a')).toMatchObject({ allowed: true, remaining: 999 })
})

it('the name of a cost is checked', () => {
  expect(() => limiterOf([{ ...TOKENS, cost: 'tokens a day' }])).toThrow('cost must be the name of a cost')
})

describe.each(['strict', 'leased', 'eventual'] as const)('with consistency %s for tokens', (consistency) => {
  it('each policy admits at most its limit, and what is admitted is counted by each', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ requests: fc.integer({ min: 0, max: 3 }), tokens: fc.integer({ min: 0, max: 40 }) }), {
          maxLength: 30,
        }),
        async (costs) => {
          const tokens = { ...TOKENS, limit: 100, consistency }
          const { limiter } = limiterOf([{ ...REQUESTS, limit: 12 }, tokens])
          const used = { requests: 0, tokens: 0 }
          for (const { requests, tokens } of costs) {
            const { allowed, chargedAt } = await limiter.take('a', { cost: requests, costs: { tokens } })
            if (!allowed || chargedAt === null) continue
            used.requests += requests
            used.tokens += tokens
          }
          expect(used.requests <= 12 && used.tokens <= 100).toBe(true)
          await limiter.close()
          const { policies } = await limiter.peek('a', { cost: 0 })
          expect([policies.requests!.remaining, policies.tokens!.remaining]).toEqual([
            12 - used.requests,
            100 - used.tokens,
          ])
        },
      ),
      { numRuns: runs(40, 1000) },
    )
  })
})

it('what is counted in memory while the store is away is written there by each policy', async () => {
  const store = new MemoryStore()
  let isAway = true
  for (const call of ['write', 'read'] as const) {
    const whole = store[call].bind(store) as (...of: unknown[]) => Promise<never>
    store[call] = async (...of: unknown[]) => {
      if (isAway) throw new StoreUnavailableError('unreachable', 'away')
      return whole(...of)
    }
  }
  let now = T
  const limiter = createLimiter({ store, policies: [REQUESTS, TOKENS], clock: () => now, onStoreError: 'local' })
  expect(await limiter.take('a', { costs: { tokens: 700 } })).toMatchObject({ allowed: true, degraded: true })
  expect(await limiter.take('a', { costs: { tokens: 301 } })).toMatchObject({ allowed: false, policy: 'tokens' })
  isAway = false
  now += 50_000
  await limiter.take('a', { cost: 0 })
  await limiter.close()
  const { limiter: fresh } = limiterOf([REQUESTS, TOKENS], store, () => now)
  expect(leftOf(await fresh.peek('a', { cost: 0 }))).toEqual({ requests: 2, tokens: 300 })
})
