import { createLimiter, type Limiter, type LimiterOptions, type PolicyInput } from '../../limiter'
import type { StateStore } from '../../limiter/stores/store'
import { FaultyStore, STORE_FAULTS, type StoreFault } from './faulty-store'

const LIMIT = 10
/** Not in the past: DynamoDB Local deletes what has expired by the system's clock. */
const NOW = Date.UTC(2090, 0, 1, 0, 20)

/** Each way of counting, with the consistencies that it has. */
export const EVERY_COUNT: Readonly<Record<string, Partial<PolicyInput>>> = {
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

/** What is done while something meets a fault. */
export const OPERATIONS = ['refund', 'refund of all', 'give-back', 'close', 'reset', 'take'] as const
/** What happens between the call that meets it and what its caller does next. */
const MEANWHILE = ['nothing', 'own request', 'request of another', 'refund of another', 'reset by another'] as const

export interface Course {
  readonly count: Partial<PolicyInput>
  readonly operation: (typeof OPERATIONS)[number]
  readonly fates: readonly (StoreFault | undefined)[]
  readonly meanwhile: (typeof MEANWHILE)[number]
  /** Whether all instances happen to write under the same mark. */
  readonly sameMark: boolean
}

/** What was admitted in the end, less what was asked back, and the most that may be. */
export interface Outcome {
  readonly net: number
  readonly most: number
  /** Calls of the operation to the store, the last tries included. */
  readonly calls: number
  /** Why the operation failed, if it did. */
  readonly failure: string | undefined
}

/** Lets one course of events happen to a subject of its own, and then takes all that there is left. */
export async function happen(inner: StateStore, subject: string, course: Course): Promise<Outcome> {
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
  const made = (on: StateStore, more: Partial<LimiterOptions> = {}): Limiter => {
    const mark = course.sameMark ? jest.spyOn(Math, 'random').mockReturnValue(0.3) : undefined
    const limiter = createLimiter({
      store: on,
      policies,
      clock: () => now,
      onStoreError: 'throw',
      deadlineMs: 5000,
      ...more,
    })
    mark?.mockRestore()
    return limiter
  }
  const [mine, yours] = [made(store), made(inner)]
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
      own = take(mine) // it may wait for the very call that meets the fault
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

  store.plan(course.fates, meanwhile)
  const failure: string | undefined = await operation().then(
    () => undefined,
    (error) => String(error.reason ?? error),
  )
  const { calls } = store
  store.plan([])
  await own.catch(() => {})
  await take(mine)
  await store.arrive()
  const last = made(inner)
  for (const limiter of [mine, yours, last]) while (all < 1000 && (await take(limiter)));
  return { net, most: limit * (1 + resets), calls, failure }
}

const FAULTS = [undefined, ...STORE_FAULTS]

/** Every fault at each of the first three calls, alone and with another in the call after it. */
const FATES = [[], [undefined], [undefined, undefined]].flatMap((before) =>
  STORE_FAULTS.flatMap((fault) => FAULTS.map((next) => [...before, fault, next])),
)

/** Every course of events: for each way of counting each operation, fault, and what happens meanwhile. */
export const COURSES: readonly Course[] = Object.values(EVERY_COUNT).flatMap((count) =>
  OPERATIONS.flatMap((operation) =>
    FATES.flatMap((fates) =>
      MEANWHILE.flatMap((meanwhile) =>
        [false, true].map((sameMark) => ({ count, operation, fates, meanwhile, sameMark })),
      ),
    ),
  ),
)

/** So many of them, spread over all: multiples of the golden ratio meet no period that the list has. */
export const someOf = (courses: readonly Course[], many: number): Course[] =>
  Array.from({ length: many }, (_, i) => courses[Math.floor(((i * 0.618_033_988_749_895) % 1) * courses.length)]!)

/** Those of the courses in which too much was admitted. */
export async function overAdmitting(store: () => StateStore, courses: readonly Course[]): Promise<object[]> {
  const over: object[] = []
  for (const [i, course] of courses.entries()) {
    const outcome = await happen(store(), `client:${i}`, course)
    if (outcome.net > outcome.most) over.push({ ...course, ...outcome })
  }
  return over
}
