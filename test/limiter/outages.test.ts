import fc from 'fast-check'
import type { PolicyInput } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { Fleet, seeded } from './fleet'

/** `RUNS=50 npx jest test/limiter/outages.test.ts` tries more examples. */
const RUNS = Number(process.env.RUNS ?? 1)

const WINDOW_MS = 10_000

interface Bound {
  readonly more?: Partial<PolicyInput>
  /** The most units admitted in any interval of this length, with a limit or a share of it. */
  readonly most: (limit: number) => number
  /** @default the window's */
  readonly intervalMs?: number
}

const ALGORITHMS: Readonly<Record<string, Bound>> = {
  'fixed-window': { most: (limit) => 2 * limit }, // across an edge
  'sliding-window': { most: (limit) => 2 * limit }, // which weighs the window before
  // its oldest bucket expires as a whole
  'sliding-buckets': { more: { buckets: 10 }, most: (limit) => limit, intervalMs: 0.9 * WINDOW_MS },
  'sliding-log': { most: (limit) => limit },
  'anchored-window': { most: (limit) => 2 * limit },
  gcra: { most: (limit) => 2 * limit }, // a burst and the pace
  'token-bucket': { most: (limit) => 2 * limit },
  'leaky-bucket': { most: (limit) => 2 * limit },
}

/** Whether the store can be reached now. */
type Weather = (now: number, random: () => number) => boolean

const weathers: fc.Arbitrary<Weather> = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }).map((fails) => (_: number, random: () => number) => random() >= fails),
  fc.record({ upMs: fc.integer({ min: 50, max: 5000 }), downMs: fc.integer({ min: 50, max: 5000 }) }).map(
    ({ upMs, downMs }) =>
      (now: number) =>
        now % (upMs + downMs) < upMs,
  ),
)

function admittedIn(times: readonly number[], windowMs: number): number {
  let [most, first] = [0, 0]
  for (const [i, at] of times.entries()) {
    while (times[first]! <= at - windowMs) first++
    most = Math.max(most, i - first + 1)
  }
  return most
}

/** Makes the store fail before or after a write, as the weather says. */
function under(fleet: Fleet, weather: Weather, random: () => number): void {
  const { store } = fleet
  const [write, read] = [store.write.bind(store), store.read.bind(store)]
  const failing = async <T>(call: () => Promise<T>): Promise<T> => {
    const isUp = weather(fleet.now, random)
    const applied = isUp || random() < 0.3 ? call() : undefined
    if (isUp) return applied!
    await applied
    throw new StoreUnavailableError('unreachable', 'away')
  }
  store.write = (...call) => failing(() => write(...call))
  store.read = (...call) => failing(() => read(...call))
}

describe.each(Object.entries(ALGORITHMS))(
  '%s, while the store comes and goes,',
  (algorithm, { more, most, intervalMs = WINDOW_MS }) => {
    it('admits at most the limit and one local share for each instance', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer(),
          weathers,
          fc.integer({ min: 5, max: 60 }),
          fc.integer({ min: 1, max: 6 }),
          fc.constantFrom(0.05, 0.2, 0.5, 1),
          async (seed, weather, limit, size, localShare) => {
            const random = seeded(seed)
            const policies = [{ name: 'p', algorithm: algorithm as 'gcra', limit, window: '10s', ...more }]
            const fleet = new Fleet(policies, size, {
              onStoreError: 'local',
              localShare,
              deadlineMs: 50,
              firstDeadlineMs: 50,
            })
            under(fleet, weather, random)
            const times: number[] = []
            for (let i = 0; i < 400; i++) {
              fleet.now += Math.floor(random() * 200)
              const { limiter } = fleet.instances[Math.floor(random() * size)]!
              if ((await limiter.take('client:a')).allowed) times.push(fleet.now)
            }
            expect(admittedIn(times, intervalMs)).toBeLessThanOrEqual(
              most(limit) + size * most(Math.max(1, Math.floor(limit * localShare))),
            )
          },
        ),
        { numRuns: 5 * RUNS },
      )
    })
  },
)

it('an epoch window, while the store comes and goes, admits at most the limit and one local share for each instance, to the unit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), weathers, fc.integer({ min: 1, max: 5 }), async (seed, weather, size) => {
      const random = seeded(seed)
      const fleet = new Fleet([{ name: 'p', algorithm: 'fixed-window', limit: 30, window: '1h' }], size, {
        onStoreError: 'local',
        localShare: 0.2,
        deadlineMs: 50,
        firstDeadlineMs: 50,
      })
      under(fleet, weather, random)
      let admitted = 0
      for (let i = 0; i < 600; i++) {
        fleet.now += Math.floor(random() * 300)
        if ((await fleet.instances[i % size]!.limiter.take('client:a')).allowed) admitted++
      }
      expect(admitted).toBeLessThanOrEqual(30 + size * 6)
    }),
    { numRuns: 10 * RUNS },
  )
})
