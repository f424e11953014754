import fc from 'fast-check'
import { StoreUnavailableError } from '../../lambda/errors'
import { subjectKey } from '../../lambda/limiter/subject-key'
import { Fleet, seeded } from './fleet'

const eventual = (limit: number, window = '1s', more: object = {}) => [
  { name: 'all', algorithm: 'fixed-window' as const, limit, window, consistency: 'eventual' as const, syncMs: 100, ...more },
]

/** Lets the calls that are under way beside the requests come to their ends. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('counting in memory', () => {
  it('asks the store once in an interval, beside the requests', async () => {
    const fleet = new Fleet(eventual(1_000_000), 1)
    for (let i = 0; i < 1000; i++) {
      fleet.now += 1
      await fleet.instances[0]!.limiter.take('global')
      await settled()
    }
    expect(fleet.store.calls).toBeGreaterThanOrEqual(10)
    expect(fleet.store.calls).toBeLessThanOrEqual(11)
  })

  it('answers before any call has come back', async () => {
    const fleet = new Fleet(eventual(5, '1m'), 1)
    const { limiter } = fleet.instances[0]!
    const write = jest.spyOn(fleet.store, 'write').mockImplementation(() => new Promise(() => {}))
    for (let i = 4; i >= 0; i--) expect(await limiter.take('global')).toMatchObject({ allowed: true, remaining: i })
    expect(await limiter.take('global')).toMatchObject({ allowed: false, policy: 'all' })
    write.mockRestore()
  })

  it('admits at most the limit and, for each instance, its units of an interval', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 50, max: 400 }), fc.integer({ min: 2, max: 6 }), async (seed, limit, size) => {
        const random = seeded(seed)
        const fleet = new Fleet(eventual(limit), size)
        const passed = new Map<number, number>()
        const units: number[] = fleet.instances.map(() => 0)
        let most = 0
        for (let i = 0; i < 2500; i++) {
          fleet.now += random() < 0.7 ? 1 : 0
          const which = Math.floor(random() * size)
          const { allowed } = await fleet.instances[which]!.limiter.take('global')
          await settled()
          if (fleet.now % 100 === 0) units.fill(0)
          if (allowed) units[which]!++
          most = Math.max(most, ...units)
          const window = Math.floor(fleet.now / 1000)
          if (allowed) passed.set(window, (passed.get(window) ?? 0) + 1)
        }
        // An interval of an instance begins when it likes, so two of ours may be in it.
        expect(Math.max(...passed.values())).toBeLessThanOrEqual(limit + size * 2 * most)
      }),
      { numRuns: 10 },
    )
  })

  it('leaves in the store what was admitted, also past the limit', async () => {
    const fleet = new Fleet(eventual(10, '1m'), 3)
    const admitted = { number: 0 }
    for (const { limiter } of fleet.instances) {
      for (let i = 0; i < 10; i++) if ((await limiter.take('global')).allowed) admitted.number++
    }
    expect(admitted.number).toBeGreaterThan(10)
    await Promise.all(fleet.instances.map(({ limiter }) => limiter.close()))
    const { policies } = await fleet.store.read(subjectKey('global'))
    const counts = Object.values(policies).flatMap((fields) => Object.entries(fields).flatMap(([name, n]) => (name.length > 1 ? [n] : [])))
    expect(counts).toEqual([admitted.number])
  })

  it('says that the store is away once it has been for a while, and not before', async () => {
    const fleet = new Fleet(eventual(100_000), 1, { onStoreError: 'local', deadlineMs: 20, firstDeadlineMs: 20 })
    const { limiter } = fleet.instances[0]!
    await limiter.take('global')
    await settled()
    const write = jest.spyOn(fleet.store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
    const degraded: boolean[] = []
    for (let i = 0; i < 30; i++) {
      fleet.now += 101
      degraded.push((await limiter.take('global')).degraded)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(degraded[0]).toBe(false)
    expect(degraded.at(-1)).toBe(true)
    write.mockRestore()
    fleet.now += 60_000
    for (let i = 0; i < 3; i++) {
      await limiter.take('global').catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(await limiter.take('global')).toMatchObject({ allowed: true, degraded: false })
  })

  it.each(['sliding-window', 'anchored-window', 'sliding-buckets', 'gcra', 'token-bucket', 'leaky-bucket'] as const)(
    'works for %s',
    async (algorithm) => {
      const fleet = new Fleet(eventual(50, '1m', { algorithm }), 2)
      let allowed = 0
      for (let i = 0; i < 300; i++) {
        fleet.now += 10
        if ((await fleet.instances[i % 2]!.limiter.take('global')).allowed) allowed++
        await settled()
      }
      expect(allowed).toBeGreaterThanOrEqual(50)
      expect(allowed).toBeLessThanOrEqual(50 + 2 * 11)
    },
  )
})

/** Units that the store has on record of a subject. */
async function recorded(fleet: Fleet, subject: string) {
  const { policies } = await fleet.store.read(subjectKey(subject))
  const fields = Object.values(policies).flatMap((all) => Object.entries(all))
  return fields.reduce((sum, [name, n]) => sum + (name.length > 1 ? Number(n) : 0), 0)
}

it('a sync whose answer is lost counts once, however often it is sent', async () => {
  const fleet = new Fleet(eventual(1000, '1d'), 1, { deadlineMs: 20, firstDeadlineMs: 20, onStoreError: 'allow' })
  const { limiter } = fleet.instances[0]!
  let admitted = 0
  const take = async () => {
    fleet.now += 101
    if (!(await limiter.take('global')).degraded) admitted++
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  await take()
  const write = fleet.store.write.bind(fleet.store)
  const lost = jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
    await write(...call)
    return new Promise(() => {})
  })
  for (let i = 0; i < 6; i++) await take()
  lost.mockRestore()
  fleet.now += 60_000 // the circuit closes again
  for (let i = 0; i < 3; i++) await take()
  await limiter.close()
  expect(await recorded(fleet, 'global')).toBe(admitted)
})

it('a subject that is forgotten for others leaves its units in the store', async () => {
  const fleet = new Fleet(eventual(100, '1d'), 1, { maxSubjects: 2 })
  const { limiter } = fleet.instances[0]!
  await limiter.take('me')
  await settled()
  for (let i = 0; i < 9; i++) await limiter.take('me')
  for (const other of ['one', 'two', 'three']) await limiter.take(other)
  await settled()
  expect(await recorded(fleet, 'me')).toBe(10)
})
