import { setImmediate } from 'node:timers/promises'
import type { PolicyInput } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { Fleet } from './fleet'
import { MIDNIGHT } from './limiters'

/** Waits for calls that run beside the requests. */
const quiet = async () => {
  for (let i = 0; i < 5; i++) await setImmediate()
}

const used = async (fleet: Fleet) => {
  fleet.crash(0)
  const { policies } = await fleet.instances[0]!.limiter.peek('client:a', { cost: 0 })
  return Object.values(policies).map(({ limit, remaining }) => limit - remaining)
}

/** Holds all writes until `go` is called. */
function heldUp(fleet: Fleet) {
  const inner = fleet.store.write.bind(fleet.store)
  let go!: () => void
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  const spy = jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
    await gone
    return inner(...call)
  })
  return { writes: () => spy.mock.calls.length, go }
}

describe('a refund by an instance that has not seen the charge', () => {
  it.each<[string, PolicyInput[]]>([
    ['fixed-window', [{ name: 'a', algorithm: 'fixed-window', limit: 10, window: '1h' }]],
    ['sliding-log', [{ name: 'a', algorithm: 'sliding-log', limit: 10, window: '1h' }]],
    ['gcra', [{ name: 'a', algorithm: 'gcra', limit: 10, window: '1d' }]],
    [
      'one window of two',
      [
        { name: 'a', algorithm: 'fixed-window', limit: 10, window: '1h' },
        { name: 'b', algorithm: 'fixed-window', limit: 10, window: '10s' },
      ],
    ],
  ])('gives the units back: %s', async (_, policies) => {
    const fleet = new Fleet(policies, 2)
    const [first, second] = fleet.instances
    await first!.limiter.peek('client:a')
    fleet.now += 1000
    const { chargedAt } = await second!.limiter.take('client:a', { cost: 5 })
    fleet.now += 1000
    await first!.limiter.refund('client:a', 5, { chargedAt })
    expect(await used(fleet)).toEqual(policies.map(() => 0))
  })

  it('gives the units back to each policy, even if the instance has seen other charges to some of them', async () => {
    const policies: PolicyInput[] = [
      { name: 'a', algorithm: 'fixed-window', limit: 100, window: '1d' },
      { name: 'b', algorithm: 'fixed-window', limit: 10, window: '1m' },
    ]
    const fleet = new Fleet(policies, 2)
    const [first, second] = fleet.instances
    fleet.now = MIDNIGHT + 58_000
    await first!.limiter.take('client:a', { cost: 9 })
    fleet.now = MIDNIGHT + 61_000
    const { chargedAt } = await second!.limiter.take('client:a', { cost: 5 })
    await first!.limiter.refund('client:a', 5, { chargedAt })
    expect(await used(fleet)).toEqual([9, 0])
  })
})

describe.each(['strict', 'leased', 'eventual'] as const)(
  'tokens beside requests, with consistency %s,',
  (consistency) => {
    const both: PolicyInput[] = [
      { name: 'requests', algorithm: 'fixed-window', limit: 1000, window: '1h' },
      { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens', consistency },
    ]
    const stored = async (fleet: Fleet) => {
      await Promise.all(fleet.instances.map(({ limiter }) => limiter.close()))
      return used(fleet)
    }

    it('are given back by an instance that has not seen the charge, each in its own units', async () => {
      const fleet = new Fleet(both, 2)
      const [first, second] = fleet.instances
      await first!.limiter.peek('client:a')
      const { chargedAt } = await second!.limiter.take('client:a', { cost: 2, costs: { tokens: 50 } })
      await second!.limiter.close()
      fleet.now += 1000
      await first!.limiter.refund('client:a', 2, { chargedAt, costs: { tokens: 30 } })
      expect(await stored(fleet)).toEqual([0, 20])
    })

    it('are whole again after a reset while charges are under way', async () => {
      const fleet = new Fleet(both, 1)
      const { limiter } = fleet.instances[0]!
      await limiter.take('client:a', { costs: { tokens: 700 } })
      const held = heldUp(fleet)
      const late = limiter.take('client:a', { costs: { tokens: 200 } })
      await quiet()
      const reset = limiter.reset('client:a')
      held.go()
      await Promise.all([late, reset])
      const [requests, tokens] = await stored(fleet)
      expect([requests! <= 1, tokens! <= 200]).toEqual([true, true])
    })

    it('are given back whole where another subject denies', async () => {
      const fleet = new Fleet(both, 2)
      const [{ limiter }] = fleet.instances as [Fleet['instances'][number]]
      await limiter.take('client:full', { cost: 0, costs: { tokens: 995 } })
      const subjects = ['client:a', 'client:full'].map((subject) => ({ subject, cost: 3, costs: { tokens: 6 } }))
      expect(await limiter.takeAll(subjects)).toMatchObject({ allowed: false, policy: 'tokens' })
      expect(await stored(fleet)).toEqual([0, 0])
    })

    it('are counted to the unit by requests that come at once and differ in what they take', async () => {
      const fleet = new Fleet(both, 1)
      const { limiter } = fleet.instances[0]!
      const costs = [0, 1, 5, 0, 90, 7, 1]
      const taken = await Promise.all(costs.map((tokens) => limiter.take('client:a', { costs: { tokens } })))
      expect(taken.every(({ allowed }) => allowed)).toBe(true)
      expect(await stored(fleet)).toEqual([costs.length, costs.reduce((sum, tokens) => sum + tokens, 0)])
    })

    it('are told by a peek as they are before the next request', async () => {
      const fleet = new Fleet(both, 1)
      const { limiter } = fleet.instances[0]!
      await limiter.take('client:a', { costs: { tokens: 400 } })
      await quiet()
      const standings = async (decision: ReturnType<typeof limiter.take>) => {
        const { policies } = await decision
        return [policies.requests!.remaining, policies.tokens!.remaining]
      }
      const peeked = await standings(limiter.peek('client:a', { costs: { tokens: 50 } }))
      expect(peeked).toEqual([999, 600])
      expect(await standings(limiter.take('client:a', { costs: { tokens: 50 } }))).toEqual([998, 550])
    })
  },
)

describe('eventual counts in memory', () => {
  const eventual = (window: string): PolicyInput[] => [
    { name: 'a', algorithm: 'fixed-window', limit: 10, window, consistency: 'eventual', syncMs: 1000 },
  ]

  it('are not reduced by a refund for a window that is over', async () => {
    const fleet = new Fleet(eventual('10s'), 1)
    const { limiter } = fleet.instances[0]!
    const { chargedAt } = await limiter.take('client:a', { cost: 10 })
    await quiet()
    fleet.now = MIDNIGHT + 10_000
    await limiter.take('client:a') // syncs, and so sees the store's count
    await quiet()
    expect((await limiter.take('client:a', { cost: 9 })).allowed).toBe(true)
    await limiter.refund('client:a', 9, { chargedAt })
    fleet.now += 1000
    await limiter.take('client:a')
    await quiet()
    expect((await limiter.take('client:a')).allowed).toBe(false)
    expect(await used(fleet)).toEqual([10])
  })

  it('that are being synced do not arrive after a reset', async () => {
    const fleet = new Fleet(eventual('1h'), 1)
    const { limiter } = fleet.instances[0]!
    const held = heldUp(fleet)
    await limiter.take('client:a', { cost: 5 })
    await quiet()
    expect(held.writes()).toBe(1)
    const reset = limiter.reset('client:a')
    await quiet()
    held.go()
    await reset
    expect(await used(fleet)).toEqual([0])
  })
})

describe('leased units', () => {
  const leased: PolicyInput[] = [
    { name: 'a', algorithm: 'fixed-window', limit: 1000, window: '1h', consistency: 'leased' },
  ]

  it('are not lost if some are refunded while the next lease is on its way', async () => {
    const fleet = new Fleet(leased, 1)
    const { limiter } = fleet.instances[0]!
    const decisions = []
    for (let i = 0; i < 100; i++) {
      fleet.now += 10
      decisions.push(await limiter.take('client:a'))
    }
    const held = heldUp(fleet)
    const more = Array.from({ length: 50 }, () => limiter.take('client:a'))
    await quiet()
    expect(held.writes()).toBe(1)
    const refunds = decisions.slice(-5).map(({ chargedAt }) => limiter.refund('client:a', 1, { chargedAt }))
    held.go()
    await Promise.all([...more, ...refunds])
    await limiter.close()
    expect(await used(fleet)).toEqual([145])
  })

  it('that are on their way for the first time keep no reset from its end', async () => {
    const fleet = new Fleet(leased, 1)
    const { limiter } = fleet.instances[0]!
    const held = heldUp(fleet)
    const first = limiter.take('client:a')
    await quiet()
    await limiter.reset('client:a')
    held.go()
    expect((await first).allowed).toBe(true)
  })

  it.each(['sliding-log', 'sliding-buckets'] as const)(
    'are held as long as possible: %s denies little of an even load below its limit',
    async (algorithm) => {
      const fleet = new Fleet([{ name: 'a', algorithm, limit: 600, window: '1m', consistency: 'leased' }], 1)
      let denied = 0
      for (let i = 0; i < 1080; i++) {
        fleet.now = MIDNIGHT + Math.floor((i * 120_000) / 1080)
        if (!(await fleet.instances[0]!.limiter.take('client:a')).allowed) denied++
      }
      expect(denied).toBeLessThanOrEqual(30)
    },
  )

  it('of a hot subject are included in a peek', async () => {
    const fleet = new Fleet([{ ...leased[0]!, limit: 1000, consistency: 'strict' }], 2)
    const [hot, other] = fleet.instances
    jest.spyOn(fleet.store, 'write').mockRejectedValueOnce(new StoreUnavailableError('hot-key', 'too many writes'))
    for (let i = 0; i < 50; i++) {
      fleet.now += 5
      await hot!.limiter.take('client:a')
    }
    while ((await other!.limiter.take('client:a')).allowed) fleet.now++
    const seen = await hot!.limiter.peek('client:a')
    expect(seen.allowed).toBe(true)
    expect((await hot!.limiter.take('client:a')).allowed).toBe(true)
  })
})
