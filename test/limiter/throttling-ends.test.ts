import type { PolicyInput } from '../../limiter'
import { type Faults, NO_FAULTS, PoolWorld } from './pool-world'

const hot: PolicyInput = { name: 'all', algorithm: 'fixed-window', limit: 600_000, window: '1m', consistency: 'strict' }
const other: PolicyInput = { ...hot, name: 'other', limit: 900_000 }

/** What is throttled meanwhile, and what instances are asked for. */
interface Course extends Partial<Faults> {
  readonly policies?: readonly PolicyInput[]
  readonly cost?: number
}

/**
 * Twenty instances with a request each in ten milliseconds, and an item that is throttled for a second.
 *
 * @returns how long each instance waited for its first unit after that, in milliseconds.
 */
async function waitedAfter(seed: number, { policies = [hot], cost = 1, ...faults }: Course): Promise<number[]> {
  const [from, until, end] = [400, 1500, 3500]
  const world = new PoolWorld(seed, 60_000)
  const { time, random } = world
  const uninstall = time.install(seed)
  try {
    const waited = Array.from({ length: 20 }, () => {
      const instance = world.instance(policies)
      const waits = { ms: Infinity }
      for (let at = random() * 10; at < end; at += 10) {
        const take = async () => {
          const isAllowed = await world.take(instance, cost)
          if (isAllowed && time.sinceStart > until) waits.ms = Math.min(waits.ms, time.sinceStart - until)
        }
        time.after(at, () => void take(), instance)
      }
      return waits
    })
    time.after(from, () => {
      world.faults = { ...NO_FAULTS, hot: 1, ...faults }
    })
    time.after(until, () => {
      world.faults = NO_FAULTS
    })
    await time.runUntil(end + 1000)
    expect(world.broken).toEqual([])
    expect(world.tally.denied).toBe(0)
    return waited.map(({ ms }) => ms)
  } finally {
    uninstall()
  }
}

it.each<[string, number, Course]>([
  ['nothing else', 100, {}],
  ['pools', 103, { hotPool: 0.3 }],
  ['pools, of a leased limit', 102, { hotPool: 0.3, policies: [{ ...hot, consistency: 'leased' }] }],
  ['pools, of requests of seven units under two policies', 101, { hotPool: 0.3, cost: 7, policies: [hot, other] }],
  [
    'pools, of a strict and a leased policy',
    104,
    { hotPool: 0.3, policies: [hot, { ...other, consistency: 'leased' }] },
  ],
  ['lost answers', 103, { answerLost: 0.05 }],
])('a second after its item was throttled every instance has units: with %s', async (_, seed, course) => {
  await Promise.all([import('../../limiter/consistency/leased.ts'), import('../../limiter/consistency/fallback.ts')])
  expect(Math.max(...(await waitedAfter(seed, course)))).toBeLessThan(1000)
})
