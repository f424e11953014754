import fc from 'fast-check'
import { ConfigError, type PolicyInput } from '../../limiter'
import { CALL_FAULTS, type CallFault, type Scenario, type Step } from './scenario'
import { NEW } from './simulation'

/** Faults and steps that can be left out while a mistake that they find is being repaired. */
export interface LeftOut {
  readonly fates?: readonly CallFault[]
  readonly steps?: readonly Step['do'][]
}

const few = fc.constantFrom(1, 2, 3, 5, 10)
const burst = fc.option(fc.constantFrom(1, 2, 4, 10), { nil: undefined })
const window = fc.constantFrom('1s', '3s', '10s', '1m')

const named = (name: string, shape: fc.Arbitrary<Omit<PolicyInput, 'name'>>): fc.Arbitrary<PolicyInput> =>
  shape.map((one) => ({ name, ...clean(one) }))

const clean = <T extends object>(one: T): T =>
  Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as T

/** One policy for each way of counting, with limits small enough to be reached. */
export const SHAPES: Readonly<Record<string, fc.Arbitrary<PolicyInput>>> = {
  window: named('window', fc.record({ limit: few, window })),
  fixed: named('fixed', fc.record({ algorithm: fc.constant('fixed-window' as const), limit: few, window })),
  calendar: named(
    'calendar',
    fc.record({
      algorithm: fc.constant('fixed-window' as const),
      limit: few,
      window: fc.constantFrom('day', 'week', 'month'),
      timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata'),
    }),
  ),
  metered: named(
    'metered',
    fc.record({
      algorithm: fc.constant('fixed-window' as const),
      limit: few,
      window,
      overage: fc.constant('allow' as const),
    }),
  ),
  anchored: named('anchored', fc.record({ algorithm: fc.constant('anchored-window' as const), limit: few, window })),
  buckets: named(
    'buckets',
    fc.record({
      algorithm: fc.constant('sliding-buckets' as const),
      limit: few,
      window,
      buckets: fc.constantFrom(2, 4, 10),
    }),
  ),
  log: named('log', fc.record({ algorithm: fc.constant('sliding-log' as const), limit: few, window })),
  deniedToo: named(
    'denied-too',
    fc.record({ algorithm: fc.constant('sliding-log' as const), limit: few, window, countDenied: fc.constant(true) }),
  ),
  gcra: named('pace', fc.record({ algorithm: fc.constant('gcra' as const), limit: few, window, burst })),
  token: named('token', fc.record({ algorithm: fc.constant('token-bucket' as const), limit: few, window, burst })),
  interval: named(
    'interval',
    fc.record({
      algorithm: fc.constant('token-bucket' as const),
      refill: fc.constant('interval' as const),
      limit: few,
      window,
      burst,
    }),
  ),
  leaky: named('leaky', fc.record({ algorithm: fc.constant('leaky-bucket' as const), limit: few, window, burst })),
  queue: named(
    'queue',
    fc.record({
      algorithm: fc.constant('leaky-bucket' as const),
      mode: fc.constant('queue' as const),
      limit: few,
      window,
      burst,
      maxDelay: fc.option(fc.constantFrom('500ms', '2s'), { nil: undefined }),
    }),
  ),
}

const policySets: fc.Arbitrary<PolicyInput[]> = fc.uniqueArray(fc.oneof(...Object.values(SHAPES)), {
  minLength: 1,
  maxLength: 3,
  selector: ({ name }) => name,
})

const pause = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 3, 7), weight: 4 },
  { arbitrary: fc.integer({ min: 0, max: 1200 }), weight: 3 },
  { arbitrary: fc.constantFrom(999, 1000, 2999, 3000, 10_000, 60_000), weight: 1 },
)

const subject = fc.constantFrom(0, 0, 0, 1)
const cost = fc.constantFrom(1, 1, 2, 3)

/** What steps take of policies that count another cost than that of requests. @default nothing is said of it */
type Costs = fc.Arbitrary<Readonly<Record<string, number>> | undefined>

function steps(
  instances: number,
  { fates: fatesLeft = [], steps: stepsLeft = [] }: LeftOut,
  costs: Costs = fc.constant(undefined),
  holding = false,
): fc.Arbitrary<Step> {
  const on = fc.integer({ min: 0, max: instances - 1 })
  const fates = CALL_FAULTS.filter((fate) => !fatesLeft.includes(fate))
  const faults = fc.oneof(
    { arbitrary: fc.constant(undefined), weight: 5 },
    { arbitrary: fc.array(fc.constantFrom(...fates), { minLength: 1, maxLength: 3 }), weight: 2 },
  )
  const base = { after: pause, on }
  const reserve = holding ? fc.constantFrom(undefined, 1000, 10_000, 60_000) : fc.constant(undefined)
  const back = fc.constantFrom(0, 0, 1, 2)
  const ends: { [Kind in 'settle' | 'release' | 'debit']: [number, fc.Arbitrary<unknown>] } = {
    settle: [
      7,
      fc.record({
        ...base,
        do: fc.constant('settle'),
        of: subject,
        back,
        used: fc.constantFrom(0, 1, 2, 3, 7),
        faults,
      }),
    ],
    debit: [
      4,
      fc.record({ ...base, do: fc.constant('debit'), of: subject, back, used: fc.constantFrom(1, 2, 3), faults }),
    ],
    release: [5, fc.record({ ...base, do: fc.constant('release'), of: subject, back, faults })],
  }
  const kinds: { [Kind in Exclude<Step['do'], keyof typeof ends>]: [number, fc.Arbitrary<unknown>] } = {
    take: [24, fc.record({ ...base, do: fc.constant('take'), of: subject, cost, costs, reserve, faults })],
    takeAll: [
      holding ? 9 : 3,
      fc.record({
        ...base,
        do: fc.constant('takeAll'),
        of: fc.constantFrom([0, 1], [1, 0]),
        cost,
        costs,
        reserve,
        caller: holding ? fc.constantFrom(undefined, undefined, 0, 1, 2) : fc.constant(undefined),
        faults,
      }),
    ],
    peek: [
      2,
      fc.record({ ...base, do: fc.constant('peek'), of: subject, cost: fc.constantFrom(0, 1, 2), costs, faults }),
    ],
    refund: [
      3,
      fc.record({
        ...base,
        do: fc.constant('refund'),
        of: subject,
        back,
        withTime: fc.boolean(),
        faults,
      }),
    ],
    reset: [holding ? 4 : 1, fc.record({ ...base, do: fc.constant('reset'), of: subject, faults })],
    close: [1, fc.record({ ...base, do: fc.constant('close'), faults })],
    crash: [1, fc.record({ ...base, do: fc.constant('crash') })],
    freeze: [1, fc.record({ ...base, do: fc.constant('freeze'), ms: fc.constantFrom(1, 300, 1000, 5000, 60_000) })],
    change: [1, fc.record({ ...base, do: fc.constant('change'), percent: fc.constantFrom(50, 200, 100) })],
    outage: [1, fc.record({ ...base, do: fc.constant('outage'), ms: fc.constantFrom(100, 2000, 20_000) })],
    clock: [1, fc.record({ ...base, do: fc.constant('clock'), skewMs: fc.constantFrom(0, -1000, 1000, 5000) })],
    ttl: [1, fc.record({ ...base, do: fc.constant('ttl') })],
  }
  const burst = fc.record({
    ...base,
    do: fc.constant('take'),
    of: subject,
    cost: fc.constant(1),
    costs,
    reserve,
    times: fc.integer({ min: 2, max: 6 }),
  })
  const kept = Object.entries(holding ? { ...kinds, ...ends } : kinds).flatMap(([kind, [weight, arbitrary]]) =>
    stepsLeft.includes(kind as Step['do']) ? [] : [{ weight, arbitrary }],
  )
  return fc.oneof(...kept, { weight: 2, arbitrary: burst }).map((step) => clean(step as object) as Step)
}

/** What requests hold: units, and slots where there is a policy on running requests. */
type Holding = fc.Arbitrary<Scenario['running']>

/** Scenarios with all kinds of steps and faults. */
export const scenarios = (
  leaving: LeftOut = {},
  policies: fc.Arbitrary<PolicyInput[]> = policySets,
  costs?: Costs,
  holding?: Holding,
): fc.Arbitrary<Scenario> =>
  fc.integer({ min: 1, max: 3 }).chain((count) =>
    fc.record({
      seed: fc.integer({ min: 1, max: 1_000_000 }),
      policies,
      instances: fc.array(fc.record({ skewMs: fc.constantFrom(0, 0, 0, 1, -500, 1500) }), {
        minLength: count,
        maxLength: count,
      }),
      steps: fc.array(steps(count, leaving, costs, holding !== undefined), {
        minLength: 1,
        maxLength: 25,
        size: 'max',
      }),
      denialTtlMs: fc.constantFrom(5000, 0, 1000),
      ...(holding && { running: holding }),
    }),
  )

/** Policies that lock out, beside others. */
const lockingSets: fc.Arbitrary<PolicyInput[]> = fc
  .tuple(
    policySets,
    fc.array(
      fc.record({
        blockFor: fc.constantFrom(undefined, '300ms', '2s', '2s', '30s', '5m'),
        after: fc.constantFrom(undefined, 1, 2, 3),
        extend: fc.constantFrom(undefined, undefined, true),
      }),
      { minLength: 3, maxLength: 3 },
    ),
  )
  .map(([policies, lockouts]) =>
    policies.map((policy, i) => {
      const { blockFor, after, extend } = lockouts[i]!
      if (blockFor === undefined || policy.overage === 'allow' || policy.countDenied) return policy
      return clean({ ...policy, blockFor, after: policy.timezone ? undefined : after, extend })
    }),
  )

export const lockingScenarios = (leaving: LeftOut = {}): fc.Arbitrary<Scenario> => scenarios(leaving, lockingSets)

/** Shapes that can be leased or eventual. */
const LOOSER = ['window', 'fixed', 'anchored', 'buckets', 'log', 'gcra', 'token', 'interval', 'leaky'] as const

const looserSets: fc.Arbitrary<PolicyInput[]> = fc.uniqueArray(
  fc.oneof(...LOOSER.map((shape) => SHAPES[shape]!)).chain((policy) => {
    const kinds: PolicyInput['consistency'][] =
      policy.algorithm === 'sliding-log' ? ['leased', 'strict'] : ['leased', 'eventual', 'strict']
    const scale = fc.constantFrom(1, 10)
    return fc
      .record({ consistency: fc.constantFrom(...kinds), by: scale, syncMs: fc.constantFrom(50, 1000) })
      .map(({ consistency, by, syncMs }) =>
        clean({
          ...policy,
          limit: policy.limit * by,
          burst: policy.burst && policy.burst * by,
          consistency,
          syncMs: consistency === 'eventual' ? syncMs : undefined,
        }),
      )
  }),
  { minLength: 1, maxLength: 2, selector: ({ name }) => name },
)

/** Scenarios of leased and eventual policies, some of them beside strict ones. */
export const looserScenarios = (leaving: LeftOut = {}): fc.Arbitrary<Scenario> => scenarios(leaving, looserSets)

/** Whether no two policies have the same attribute prefix by chance, as in one set of thousands, which is rejected. */
function isAccepted(policies: readonly PolicyInput[]): boolean {
  try {
    return NEW.compileAll(policies).length === policies.length
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

/** As many policies on each subject as are allowed. */
const crowdedSets: fc.Arbitrary<PolicyInput[]> = fc
  .array(fc.oneof(...Object.values(SHAPES)), { minLength: 12, maxLength: 30, size: 'max' })
  .map((policies) => policies.map((policy, i) => ({ ...policy, name: `${policy.name}-${i}` })))
  .filter(isAccepted)

export const crowdedScenarios = (leaving: LeftOut = {}): fc.Arbitrary<Scenario> => scenarios(leaving, crowdedSets)

/** Policies some of which count another cost than that of requests. */
const counting = (sets: fc.Arbitrary<PolicyInput[]>): fc.Arbitrary<PolicyInput[]> =>
  sets.chain((policies) =>
    fc.tuple(
      ...policies.map((policy) =>
        fc.constantFrom(undefined, 'tokens', 'images').map((cost) => clean({ ...policy, cost })),
      ),
    ),
  )

const someCosts: Costs = fc.option(
  fc.record({ tokens: fc.constantFrom(0, 1, 2, 5), images: fc.constantFrom(0, 1, 3) }, { requiredKeys: [] }),
  { nil: undefined },
)

/** Scenarios of costs by name: strict policies, and leased and eventual ones. */
export const costsScenarios = (leaving: LeftOut = {}): fc.Arbitrary<Scenario> =>
  fc.oneof(scenarios(leaving, counting(policySets), someCosts), scenarios(leaving, counting(looserSets), someCosts))

const running: Holding = fc.option(
  fc.record({
    name: fc.constant('running'),
    algorithm: fc.constant('concurrency' as const),
    limit: fc.constantFrom(1, 2, 3),
    timeout: fc.constantFrom('1s', '10s', '1m'),
  }),
  { nil: undefined },
)

/** Scenarios of units that are reserved and settled, and of slots that requests hold while they run. */
export const holdingScenarios = (leaving: LeftOut = {}): fc.Arbitrary<Scenario> =>
  fc.oneof(
    { weight: 3, arbitrary: scenarios(leaving, policySets, undefined, running) },
    { weight: 1, arbitrary: scenarios(leaving, counting(looserSets), someCosts, running) },
  )
