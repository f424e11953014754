import type { Counter } from '../../limiter/algorithms/counter'
import type { CompiledPolicy } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { withNumbers } from '../../limiter/policies/variants'
import type { Charge, RateLimiterOptions } from '../../limiter/rate-limiter'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { ItemWrite, WriteOutcome } from '../../limiter/stores/store'
import { ALGORITHMS, CROSSINGS } from './crossings'
import { costsScenarios, holdingScenarios, type LeftOut, looserScenarios } from './generate'
import { judge } from './judge'
import type { Law } from './laws'
import { runScenarios } from './run'
import { type Library, NEW, Simulation, type SimulationOptions } from './simulation'

/** A store that makes a mistake with a write. */
function storeThat(
  write: (right: MemoryStore, key: string, write: ItemWrite) => Promise<WriteOutcome>,
): () => SimulationOptions {
  return () => {
    const right = new MemoryStore()
    return {
      store: {
        write: (key, one) => write(right, key, one),
        read: (key) => right.read(key),
        delete: (key, marks) => right.delete(key, marks),
      },
    }
  }
}

/** A library whose counters have one mistake. */
function libraryThat(change: (policy: CompiledPolicy) => Partial<Counter>): () => SimulationOptions {
  const wrong: Library = {
    ...NEW,
    compileAll: (policies) =>
      NEW.compileAll(policies).map((policy) => ({ ...policy, counter: { ...policy.counter, ...change(policy) } })),
  }
  return () => ({ libraries: { new: wrong } })
}

/** The policy's counter with a limit that is so much larger. */
const withLimit = (policy: CompiledPolicy, more: number): Counter =>
  withNumbers(
    parsePolicies([policy.written], [], [])[0]!,
    { ...policy.written, limit: Math.max(1, policy.limit + more) },
    [],
    [],
  )!.counter

const withoutGuards = (write: ItemWrite): ItemWrite => ({
  ...write,
  parts: write.parts.map((part) => ({ ...part, write: { ...part.write, guard: [] } })),
})

const newId = ({ id }: ItemWrite): ItemWrite['id'] => ({ ...id, value: Math.floor(Math.random() * 2 ** 40) })

/** Mistakes, each a change in one place, and the law that each breaks. */
const MISTAKES: readonly [string, Law, () => SimulationOptions][] = [
  [
    'guards are not checked',
    'never over the limit',
    storeThat((store, key, write) => store.write(key, withoutGuards(write))),
  ],
  [
    'a write is reported as applied and is not',
    'never over the limit',
    storeThat(async (store, key, write) => {
      const item = await store.read(key)
      return Object.keys(item.marks).length > 0 ? { kind: 'applied', item } : store.write(key, write)
    }),
  ],
  [
    'a write that is sent twice is applied twice',
    'charged once',
    storeThat((store, key, write) => store.write(key, { ...write, id: newId(write) })),
  ],
  [
    'a refund is not checked for being already applied',
    'given back once',
    storeThat((store, key, { whileMarks, ...write }) =>
      store.write(key, whileMarks ? { ...write, id: newId(write) } : write),
    ),
  ],
  [
    'a limit is one unit larger',
    'never over the limit',
    libraryThat((policy) => ({ step: withLimit(policy, 1).step })),
  ],
  [
    'a limit is one unit smaller',
    'denied only where there is no room',
    libraryThat((policy) => ({ step: withLimit(policy, -1).step })),
  ],
  [
    'a retry time is a millisecond too long',
    'numbers are true',
    libraryThat(({ counter }) => ({
      step: (known, cost, now) => {
        const { verdict, write } = counter.step(known, cost, now)
        return { verdict: { ...verdict, retryAfterMs: verdict.allowed ? 0 : verdict.retryAfterMs + 1 }, write }
      },
    })),
  ],
  [
    'a refund gives back one unit more',
    'numbers are true',
    libraryThat(({ counter }) => ({
      refund: (known, units, chargedAt, now) => counter.refund(known, units + 1, chargedAt, now),
    })),
  ],
]

/** A library whose limiters have one mistake. */
function limiterThat(
  change: (options: RateLimiterOptions) => ReturnType<Library['makeLimiter']>,
): () => SimulationOptions {
  return () => ({ libraries: { new: { ...NEW, makeLimiter: change } } })
}

/** Mistakes beside strict charging, for scenarios with all kinds of steps. */
const MISTAKES_ELSEWHERE: readonly [string, Law, () => SimulationOptions][] = [
  [
    'an instance admits the whole limit without the store',
    'one local share for each instance',
    limiterThat((options) => NEW.makeLimiter({ ...options, localShare: 1 })),
  ],
  [
    'decisions are marked as degraded although the store answered',
    'degraded only where the store failed',
    limiterThat((options) => {
      const right = NEW.makeLimiter(options)
      return wrapped(right, async (...asked) => ({ ...(await right.decide(...asked)), degraded: true }))
    }),
  ],
  [
    'a denied request was charged',
    'a denied request takes nothing',
    limiterThat((options) => {
      const right = NEW.makeLimiter(options)
      return wrapped(right, async (...asked) => ({ ...(await right.decide(...asked)), allowed: false }))
    }),
  ],
  [
    'an allowed request was never charged',
    'an allowed request is charged',
    limiterThat((options) => {
      const right = NEW.makeLimiter(options)
      return wrapped(right, async (...asked) => ({ ...(await right.decide(...asked)), allowed: true }))
    }),
  ],
  [
    'a failure of the store is thrown',
    'nothing throws',
    limiterThat((options) => NEW.makeLimiter({ ...options, onStoreError: 'throw' })),
  ],
  [
    'units of a leased limit are not counted',
    'never past the bound',
    storeThat((store, key, write) => store.write(key, withoutGuards({ ...write, parts: write.parts.map(uncounted) }))),
  ],
]

function wrapped(right: ReturnType<Library['makeLimiter']>, decide: typeof right.decide): typeof right {
  const { peek, refund, reset, close } = right
  return {
    decide,
    peek: peek.bind(right),
    refund: refund.bind(right),
    reset: reset.bind(right),
    close: close.bind(right),
  }
}

const uncounted = (part: ItemWrite['parts'][number]): ItemWrite['parts'][number] => ({
  ...part,
  write: { guard: [], assignments: [] },
})

/** Scenarios of charges and refunds mostly, so that a mistake in either shows soon. */
const LITTLE_ELSE: LeftOut = {
  steps: ['peek', 'reset', 'close', 'crash', 'freeze', 'change', 'outage', 'clock', 'ttl', 'takeAll'],
}

/** A library that counts the cost of requests, or of nothing, where a policy counts another. */
const costsThat = (change: (charge: Charge) => Charge): (() => SimulationOptions) =>
  limiterThat((options) => {
    const right = NEW.makeLimiter(options)
    return wrapped(right, async (charges, ...more) => right.decide(charges.map(change), ...more))
  })

/** Whether a write ends something that a request holds. */
const isEnd = ({ parts }: ItemWrite): boolean =>
  parts.some(({ write: { assignments } }) => assignments.some((one) => 'remove' in one && one.field.length === 25))

/** Whether a write gives units back to a subject that does not hold the reservation. */
const givesBackShared = ({ parts }: ItemWrite): boolean =>
  parts.some(({ prefix, write: { assignments } }) => prefix === RESERVATIONS.prefix && assignments.length === 0)

/** Mistakes with reservations of several subjects. */
const MISTAKES_OF_SHARED: readonly [string, Law, () => SimulationOptions][] = [
  [
    'a debt is not charged',
    'settled as if known at the beginning',
    libraryThat(() => ({ chargeLate: () => undefined })),
  ],
  [
    'units are given back twice to a subject that does not hold the reservation',
    'settled as if known at the beginning',
    storeThat(async (store, key, write) => {
      const outcome = await store.write(key, write)
      if (givesBackShared(write) && outcome.kind === 'applied') {
        const { whileMarks: _, ...again } = withoutGuards(write)
        await store.write(key, { ...again, id: newId(write) })
      }
      return outcome
    }),
  ],
  [
    'a settlement says true, and the reservation stands',
    'a settlement counts once',
    storeThat(async (store, key, write) =>
      isEnd(write) ? { kind: 'already-applied', item: await store.read(key) } : store.write(key, write),
    ),
  ],
]

/** Mistakes with what requests hold. */
const MISTAKES_OF_HOLDS: readonly [string, Law, () => SimulationOptions][] = [
  [
    'a settlement does not ask whether the reservation stands',
    'a settlement counts once',
    storeThat((store, key, write) => store.write(key, isEnd(write) ? withoutGuards(write) : write)),
  ],
  [
    'a settlement ends the reservation, and changes no units',
    'settled as if known at the beginning',
    storeThat((store, key, write) =>
      store.write(key, isEnd(write) ? { ...write, parts: write.parts.slice(0, 1) } : write),
    ),
  ],
  [
    'a settlement gives back one unit more',
    'settled as if known at the beginning',
    libraryThat(({ counter }) => ({
      refund: (known, units, chargedAt, now) => counter.refund(known, units + 1, chargedAt, now),
    })),
  ],
  [
    'a slot is taken whatever the count of slots',
    'never more slots than the limit',
    libraryThat(({ counter }) =>
      counter.isEndedByOthers
        ? {
            step: (known, ...asked) => {
              const { verdict, write } = counter.step(known, ...asked)
              const guard = write?.guard.filter((clause) => !JSON.stringify(clause).includes('"n"')) ?? []
              return { verdict, write: write && { ...write, guard } }
            },
          }
        : {},
    ),
  ],
  [
    'a slot that nobody has counts',
    'a slot is denied only where none is free',
    libraryThat(({ counter }) =>
      counter.isEndedByOthers
        ? { step: (known, cost, now, ...more) => counter.step({ ...known, ghost: now + 5000 }, cost, now, ...more) }
        : {},
    ),
  ],
]

describe('the judge reports the broken law if', () => {
  it.each(MISTAKES_OF_SHARED)('%s', async (_, law, simulation) => {
    const broken = new Set<Law>()
    for (const { scenario } of CROSSINGS.filter(({ name }) => name.includes('two subjects'))) {
      const chronicle = await new Simulation(scenario(ALGORITHMS.window!), simulation()).run()
      for (const breach of judge(chronicle)) broken.add(breach.law)
    }
    expect([...broken]).toContain(law)
  })

  it.each(MISTAKES_OF_HOLDS)('%s', async (_, law, simulation) => {
    const arbitrary = holdingScenarios(LITTLE_ELSE)
    const running = runScenarios(300, { seed: 6, simulation, only: law, endOnFailure: true, arbitrary })
    await expect(running).rejects.toMatchObject({ cause: { message: expect.stringContaining(law.toUpperCase()) } })
  })

  it.each<[string, Law, (charge: Charge) => Charge]>([
    ['costs by name are ignored', 'numbers are true', ({ costs: _, ...charge }) => charge],
    [
      'a policy is asked of which a request takes nothing',
      'denied only where there is no room',
      ({ costs, ...charge }) => ({
        ...charge,
        costs: costs && Object.fromEntries(Object.entries(costs).map(([name, units]) => [name, Math.max(1, units)])),
      }),
    ],
  ])('%s', async (_, law, change) => {
    const arbitrary = costsScenarios(LITTLE_ELSE)
    const running = runScenarios(300, {
      seed: 2,
      simulation: costsThat(change),
      only: law,
      endOnFailure: true,
      arbitrary,
    })
    await expect(running).rejects.toMatchObject({ cause: { message: expect.stringContaining(law.toUpperCase()) } })
  })

  for (const [mistake, law, simulation] of MISTAKES) {
    it(mistake, async () => {
      const running = runScenarios(300, { seed: 2, simulation, only: law, endOnFailure: true, leftOut: LITTLE_ELSE })
      await expect(running).rejects.toMatchObject({ cause: { message: expect.stringContaining(law.toUpperCase()) } })
    })
  }

  for (const [mistake, law, simulation] of MISTAKES_ELSEWHERE) {
    it(mistake, async () => {
      const arbitrary = law === 'never past the bound' ? looserScenarios() : undefined
      const running = runScenarios(300, {
        seed: 2,
        simulation,
        only: law,
        endOnFailure: true,
        ...(arbitrary && { arbitrary }),
      })
      await expect(running).rejects.toMatchObject({ cause: { message: expect.stringContaining(law.toUpperCase()) } })
    })
  }
})
