import { createLimiter, type Limiter, type LimiterOptions, type PolicyInput } from '../../limiter'
import type { StateStore } from '../../limiter/stores/store'
import { FaultyStore, STORE_FAULTS, type StoreFault } from './faulty-store'

const LIMIT = 10
/** In the future, since DynamoDB Local deletes what has expired by the system's clock. */
const NOW = Date.UTC(2090, 0, 1, 0, 20)

/** One policy for each way of counting. */
export const COUNTINGS: Readonly<Record<string, Partial<PolicyInput>>> = {
  'fixed-window': { algorithm: 'fixed-window' },
  'sliding-window': { algorithm: 'sliding-window' },
  'anchored-window': { algorithm: 'anchored-window' },
  gcra: { algorithm: 'gcra' },
  'token-bucket': { algorithm: 'token-bucket' },
  'token-bucket by intervals': { algorithm: 'token-bucket', refill: 'interval' },
  'leaky-bucket': { algorithm: 'leaky-bucket' },
  'leaky-bucket as a queue': { algorithm: 'leaky-bucket', mode: 'queue' },
  'sliding-log': { algorithm: 'sliding-log' },
  'sliding-buckets': { algorithm: 'sliding-buckets', buckets: 12 },
}

/** The operation whose calls have faults. */
export const OPERATIONS = ['refund', 'refund of all', 'give-back', 'close', 'reset', 'take'] as const
/** What happens between the call that fails and the next call of its caller. */
const MEANWHILE = ['nothing', 'own request', 'request of another', 'refund of another', 'reset by another'] as const

export interface Scenario {
  readonly count: Partial<PolicyInput>
  readonly operation: (typeof OPERATIONS)[number]
  readonly faults: readonly (StoreFault | undefined)[]
  readonly meanwhile: (typeof MEANWHILE)[number]
  /** Whether all instances happen to write under the same mark. */
  readonly sameMark: boolean
}

/** Admitted minus refunded units, and the most that they may be. */
export interface Outcome {
  readonly net: number
  readonly most: number
  /** Calls of the operation to the store, including retries. */
  readonly calls: number
  /** Why the operation failed, if it did. */
  readonly failure: string | undefined
}

/** Runs a scenario for a subject of its own, and then takes all units that are left. */
export async function runScenario(inner: StateStore, subject: string, course: Scenario): Promise<Outcome> {
  const store = new FaultyStore(inner)
  const leased = course.operation === 'close'
  const count =
    leased && course.count.mode !== 'queue' ? { ...course.count, consistency: 'leased' as const } : course.count
  const limit = leased ? 20 * LIMIT : LIMIT
  const policies = [
    { name: 'p', limit, window: '1h', ...count },
    { name: 'ip', algorithm: 'fixed-window', limit: 1, window: '1h' },
  ] satisfies PolicyInput[]
  let resets = 0
  let net = 0
  let all = 0
  let now = NOW
  const made = async (on: StateStore, more: Partial<LimiterOptions> = {}): Promise<Limiter> => {
    const mark = course.sameMark ? jest.spyOn(Math, 'random').mockReturnValue(0.3) : undefined
    const limiter = createLimiter({
      store: on,
      policies,
      clock: () => now,
      onStoreError: 'throw',
      deadlineMs: 5000,
      ...more,
    })
    if (mark) await new Promise(setImmediate) // it is loaded, and has its mark
    mark?.mockRestore()
    return limiter
  }
  const [mine, yours] = [await made(store), await made(inner)]
  const one = { subject, policies: ['p'] }
  const address = { subject: `${subject} address`, policies: ['ip'] }
  const charges: number[] = []
  const take = async (limiter: Limiter): Promise<boolean> => {
    const { allowed, chargedAt } = await limiter.takeAll([one])
    if (allowed) {
      net++
      all++
      charges.push(chargedAt!)
    }
    return allowed
  }
  const refund = async (limiter: Limiter, units: number): Promise<void> => {
    net -= units
    await limiter.refund(subject, units, { chargedAt: Math.max(...charges) })
  }
  const reset = async (limiter: Limiter): Promise<void> => {
    resets++
    await limiter.reset(subject)
  }

  await yours.takeAll([address])
  for (let i = 0; i < (leased ? 40 : 3); i++) {
    if (leased) now++
    await take(mine)
  }
  await take(yours)
  await take(yours)
  let own: Promise<unknown> = Promise.resolve()
  const meanwhile = {
    nothing: async () => {},
    'own request': async () => {
      own = take(mine) // it may wait for the call that fails
      for (let tick = 0; tick < 100; tick++) await undefined
    },
    'request of another': () => take(yours),
    'refund of another': () => refund(yours, 1),
    'reset by another': () => reset(yours),
  }[course.meanwhile]
  const operation = {
    refund: () => refund(mine, 2),
    'refund of all': () => refund(mine, 3),
    'give-back': async () => void (await mine.takeAll([one, address])),
    close: () => mine.close(),
    reset: () => reset(mine),
    take: () => take(mine),
  }[course.operation]

  store.plan(course.faults, meanwhile)
  const failure: string | undefined = await operation().then(
    () => undefined,
    (error) => String(error.reason ?? error),
  )
  const { calls } = store
  store.plan([])
  await own.catch(() => {})
  await take(mine)
  await store.deliverDelayed()
  const last = await made(inner)
  for (const limiter of [mine, yours, last]) while (all < 1000 && (await take(limiter)));
  return { net, most: limit * (1 + resets), calls, failure }
}

const FAULTS = [undefined, ...STORE_FAULTS]

/** Each fault at each of the first three calls, alone and with another fault at the next call. */
const FAULT_SEQUENCES = [[], [undefined], [undefined, undefined]].flatMap((before) =>
  STORE_FAULTS.flatMap((fault) => FAULTS.map((next) => [...before, fault, next])),
)

/** All combinations of countings, operations, faults and what happens meanwhile. */
export const SCENARIOS: readonly Scenario[] = Object.values(COUNTINGS).flatMap((count) =>
  OPERATIONS.flatMap((operation) =>
    FAULT_SEQUENCES.flatMap((faults) =>
      MEANWHILE.flatMap((meanwhile) =>
        [false, true].map((sameMark) => ({ count, operation, faults, meanwhile, sameMark })),
      ),
    ),
  ),
)

/** So many scenarios, spread over all: multiples of the golden ratio share no period with the list. */
export const sampleOf = (courses: readonly Scenario[], many: number): Scenario[] =>
  Array.from({ length: many }, (_, i) => courses[Math.floor(((i * 0.618_033_988_749_895) % 1) * courses.length)]!)

/** The scenarios that admitted too much. */
export async function overAdmitting(store: () => StateStore, courses: readonly Scenario[]): Promise<object[]> {
  const over: object[] = []
  for (const [i, course] of courses.entries()) {
    const outcome = await runScenario(store(), `client:${i}`, course)
    if (outcome.net > outcome.most) over.push({ ...course, ...outcome })
  }
  return over
}
