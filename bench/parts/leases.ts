import type { PolicyInput } from '../../limiter'
import { type Figure, type Goal, toFigure, type Unit } from '../figure'
import type { Part } from '../part'
import { burst, burstsOnFrozenInstances, evenLoad, type LoadOutcome } from '../scale/lease-loads'

const leased = (limit: number, window: string, form: Partial<PolicyInput> = {}): PolicyInput[] => [
  { name: 'all', algorithm: 'fixed-window', limit, window, consistency: 'leased', ...form },
]

/** What one item takes. */
const WRITES: Measure = [
  'writes of the busiest second',
  'writes',
  { atMost: 1000 },
  ({ mostWritesPerSecond }) => mostWritesPerSecond,
]
const perDecision = (goal?: Goal): Measure => [
  'calls per decision',
  'calls',
  goal,
  ({ calls, requests }) => calls / requests,
]
const denied = (goal: Goal): Measure => [
  'denied',
  '%',
  goal,
  ({ denied, degraded, requests }) => (100 * (denied + degraded)) / requests,
]
const usedOf = (units: number, goal: Goal): Measure => [
  'of the limit used',
  '%',
  goal,
  ({ allowed }) => (100 * allowed) / units,
]

type Measure = readonly [what: string, unit: Unit, goal: Goal | undefined, measure: (outcome: LoadOutcome) => number]

interface Load {
  readonly name: string
  readonly run: () => Promise<LoadOutcome>
  readonly promises: readonly Measure[]
}

const SECONDS = 4
/** All start at once: until then pools are made and given up again. */
const WARM_UP_MS = 8000

const evenLoads = [1.05, 2, 4].map(
  (share): Load => ({
    name: `10,000/s on 50 instances, ${share * 100} % of it`,
    run: () =>
      evenLoad({
        policies: leased(10_000, '1s'),
        perSecond: 10_000 * share,
        instances: 50,
        warmUpMs: WARM_UP_MS,
        measuredMs: SECONDS * 1000,
      }),
    promises: [
      usedOf(10_000 * SECONDS, { atLeast: 98 }),
      ['calls a second of an instance', 'calls', { atMost: 6.5 }, ({ calls }) => calls / 50 / SECONDS],
      WRITES,
    ],
  }),
)

const gcra: Partial<PolicyInput> = { algorithm: 'gcra' }
const sliding: Partial<PolicyInput> = { algorithm: 'sliding-window' }
const buckets: Partial<PolicyInput> = { algorithm: 'sliding-buckets', buckets: 10 }

/** So many instances that one item cannot take their writes: its units lie in pools. */
const pooled = (
  [
    [50, '1,000 instances', 1000, 0, {}, 105, usedOf(100_000, { atLeast: 98 }), 15],
    [50, '300 instances with clocks ±500 ms', 300, 500, {}, 105, usedOf(30_000, { atLeast: 96 }), 15],
    [50, '300 instances, gcra', 300, 0, gcra, 105, usedOf(30_000, { atLeast: 98 }), 15],
    [50, '300 instances, gcra', 300, 0, gcra, 200, usedOf(30_000, { atLeast: 97 }), 30],
    [50, '300 instances, a sliding window', 300, 0, sliding, 40, denied({ atMost: 0.5 }), 15],
    [50, '300 instances, a sliding window', 300, 0, sliding, 95, denied({ atMost: 1 }), 25],
    [20, '50 instances, sliding buckets', 50, 0, buckets, 90, denied({ atMost: 6 }), 15],
    [20, '300 instances, sliding buckets', 300, 0, buckets, 90, denied({ atMost: 2 }), 15],
    [20, '300 instances, sliding buckets', 300, 0, buckets, 105, usedOf(12_000, { atLeast: 96 }), 15],
    [50, '1,000 instances, a sliding window', 1000, 0, sliding, 70, denied({ atMost: 0.5 }), 25],
    [50, '1,000 instances, a sliding window', 1000, 0, sliding, 105, usedOf(100_000, { atLeast: 97 }), 25],
    [20, '6,000 instances', 6000, 0, {}, 95, denied({ atMost: 0.5 }), 15],
    [20, '6,000 instances', 6000, 0, {}, 105, usedOf(240_000, { atLeast: 97 }), 15],
    [20, '6,000 instances, a sliding window', 6000, 0, sliding, 90, denied({ atMost: 0.5 }), 15],
    [20, '6,000 instances, a sliding window', 6000, 0, sliding, 95, denied({ atMost: 2 }), 15],
    [20, '6,000 instances, a sliding window', 6000, 0, sliding, 105, usedOf(240_000, { atLeast: 96 }), 15],
    [20, '6,000 instances, a sliding window', 6000, 0, sliding, 200, usedOf(240_000, { atLeast: 97 }), 15],
    [20, '6,000 instances, sliding buckets', 6000, 0, buckets, 105, usedOf(240_000, { atLeast: 92 }), 15],
  ] as const
).map(
  ([units, name, instances, skewMs, form, offered, promise, mostCalls]): Load => ({
    name: `${units}/s for each of ${name}, ${offered} % of it`,
    run: () =>
      evenLoad({
        policies: leased(units * instances, '1s', form),
        perSecond: ((units * offered) / 100) * instances,
        instances,
        skewMs,
        warmUpMs: WARM_UP_MS,
        measuredMs: 2000,
      }),
    promises: [
      promise,
      ['degraded', '%', { atMost: 0.1 }, ({ degraded, requests }) => (100 * degraded) / requests],
      ['calls a second of an instance', 'calls', { atMost: mostCalls }, ({ calls }) => calls / instances / 2],
    ],
  }),
)

/** From the first request on: instances find out how many pools they need. */
const started = ([1000, 3000] as const).map(
  (instances): Load => ({
    name: `20/s for each of ${instances.toLocaleString('en')} instances that begin at once, half of it`,
    run: () =>
      evenLoad({
        policies: leased(20 * instances, '1s'),
        perSecond: 10 * instances,
        instances,
        warmUpMs: 0,
        measuredMs: 4000,
      }),
    promises: [['degraded', '%', { atMost: 40 }, ({ degraded, requests }) => (100 * degraded) / requests]],
  }),
)

const alone = [1100, 1_000_000].map(
  (limit): Load => ({
    name: `one instance, 1,000 requests/s of ${limit.toLocaleString('en')}/s`,
    run: () =>
      evenLoad({ policies: leased(limit, '1s'), perSecond: 1000, instances: 1, warmUpMs: 4000, measuredMs: 8000 }),
    promises: [perDecision({ atMost: 0.004 })],
  }),
)

const bursts = (
  [
    [2000, 40, 80, 1500, 0],
    [10_000, 50, 80, 2000, 0],
    [10_000, 50, 80, 1000, 0],
    [1000, 20, 80, 1000, 0],
    [10_000, 50, 95, 2000, 2],
    [1000, 20, 95, 1000, 2],
  ] as const
).map(
  ([limit, instances, share, withinMs, atMost]): Load => ({
    name: `${limit.toLocaleString('en')} a minute on ${instances} instances, ${share} % of it within ${withinMs / 1000} s`,
    run: () => burst({ policies: leased(limit, '1m'), requests: (limit * share) / 100, withinMs, instances }),
    promises: [denied({ atMost }), perDecision({ atMost: 0.47 }), WRITES],
  }),
)

const past: Load = {
  name: '10,000 a minute on 50 instances, 120 % of it within 2 s',
  run: () => burst({ policies: leased(10_000, '1m'), requests: 12_000, withinMs: 2000, instances: 50 }),
  promises: [
    usedOf(10_000, { atLeast: 99 }),
    [
      'of the limit used at the first denial',
      '%',
      { atLeast: 98.8 },
      ({ firstDenied = Number.POSITIVE_INFINITY }) => firstDenied / 100,
    ],
    WRITES,
  ],
}

const frozen = (
  [
    [20, 100],
    [100, 100],
    [100, 1000],
    [500, 500],
  ] as const
).map(
  ([size, withinMs]): Load => ({
    name: `10,000 a day in bursts of ${size} within ${withinMs} ms on instances that never come back`,
    run: () => burstsOnFrozenInstances({ policies: leased(10_000, '1d'), bursts: 10_000 / size, size, withinMs }),
    promises: [usedOf(10_000, { atLeast: 90 }), perDecision()],
  }),
)

const thawed: Load = {
  name: 'the same, bursts of 100 in 95 % of the day’s units, each instance asked once more a minute later',
  run: () =>
    burstsOnFrozenInstances({ policies: leased(10_000, '1d'), bursts: 95, size: 100, withinMs: 1000, thawed: 1 }),
  promises: [denied({ atMost: 0 }), perDecision()],
}

export const LOADS: readonly Load[] = [
  ...evenLoads,
  ...pooled,
  ...started,
  ...alone,
  ...bursts,
  past,
  ...frozen,
  thawed,
]

export async function figuresOf({ name, run, promises }: Load): Promise<Figure[]> {
  const outcome = await run()
  return promises.map(([what, unit, goal, measure]) =>
    toFigure(`${name}: ${what}`, { measured: measure(outcome), unit, goal }),
  )
}

/** How well a leased limit is used, and what an instance may lose. */
export const leases: Part = {
  title: 'Leased limits: how much of them is used, and by how many calls',

  async run({ quick }) {
    const figures: Figure[] = []
    for (const load of quick ? [evenLoads[0]!, bursts[0]!, frozen[1]!] : LOADS) figures.push(...(await figuresOf(load)))
    return {
      figures,
      details: [
        'Simulated in virtual time: each instance a limiter of its own, calls of 5 ms, one item that takes 1,000 writes a second.',
        'Even loads: requests at random moments (Poisson) to any of the instances, measured once they have learnt their pace. Bursts: all instances are new.',
      ],
    }
  },
}
