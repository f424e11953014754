import type { PolicyInput } from '../../limiter'
import type { Scenario, Step } from './scenario'

/** One policy of each way of counting, with room for two units. */
export const ALGORITHMS: Readonly<Record<string, PolicyInput>> = Object.fromEntries(
  (
    [
      { name: 'window' },
      { name: 'fixed', algorithm: 'fixed-window' },
      { name: 'metered', algorithm: 'fixed-window', overage: 'allow' },
      { name: 'anchored', algorithm: 'anchored-window' },
      { name: 'buckets', algorithm: 'sliding-buckets' },
      { name: 'log', algorithm: 'sliding-log' },
      { name: 'denied-too', algorithm: 'sliding-log', countDenied: true },
      { name: 'pace', algorithm: 'gcra' },
      { name: 'interval', algorithm: 'token-bucket', refill: 'interval' },
      { name: 'queue', algorithm: 'leaky-bucket', mode: 'queue' },
      { name: 'locking', algorithm: 'fixed-window', blockFor: '61s' },
      { name: 'locking-late', algorithm: 'gcra', blockFor: '5m', after: 2, extend: true },
    ] as const
  ).map((one): [string, PolicyInput] => [one.name, { ...one, limit: 2, window: '1m' }]),
)

/**
 * Two features in one scenario, small enough for every order of its calls: two instances, two subjects, three or four
 * requests.
 */
interface Crossing {
  readonly name: string
  readonly scenario: (policy: PolicyInput) => Scenario
  /** The ways of counting that it applies to. @default all */
  readonly algorithms?: readonly string[]
  /** Whether it has thousands of orders, or is near enough to another one, and is left to `.ci/run`. */
  readonly large?: boolean
}

type More = Partial<Scenario> & Pick<Crossing, 'algorithms' | 'large'>

const pairOf = (name: string, steps: readonly Step[], more: More = {}): Crossing => {
  const { algorithms, large, ...others } = more
  const scenario = (policy: PolicyInput): Scenario => ({
    seed: 1,
    policies: [policy],
    instances: [{ skewMs: 0 }, { skewMs: 0 }],
    steps,
    denialTtlMs: 1000,
    ...others,
  })
  return { name, scenario, algorithms, large }
}

const take = (on: number, more: Partial<Extract<Step, { do: 'take' }>> = {}): Step => ({
  after: 0,
  on,
  do: 'take',
  of: 0,
  cost: 1,
  ...more,
})
const takeAll = (
  on: number,
  of: readonly number[],
  after = 0,
  more: Partial<Extract<Step, { do: 'takeAll' }>> = {},
): Step => ({ after, on, do: 'takeAll', of, cost: 1, ...more })
const refund = (on: number, after = 0, withTime = true): Step => ({
  after,
  on,
  do: 'refund',
  of: 0,
  back: 0,
  withTime,
})
const reset = (on: number, after = 0, of = 0): Step => ({ after, on, do: 'reset', of })
const change = (on: number, percent: number, after = 0): Step => ({ after, on, do: 'change', percent })
const crash = (on: number, after = 0): Step => ({ after, on, do: 'crash' })
const freeze = (on: number, ms: number, after = 0): Step => ({ after, on, do: 'freeze', ms })
const settle = (on: number, used: number, after = 0, back = 0): Step => ({ after, on, do: 'settle', of: 0, back, used })
const debit = (on: number, used: number, after = 0): Step => ({ after, on, do: 'debit', of: 0, back: 0, used })
const release = (on: number, after = 0, back = 0): Step => ({ after, on, do: 'release', of: 0, back })
const outage = (on: number, ms: number, after = 0): Step => ({ after, on, do: 'outage', ms })

/** By then earlier charges have been answered. */
const LATER = 30
const ONE_WINDOW = 60_000

const leased = (units: number): More => ({
  policies: [{ name: 'leased', algorithm: 'fixed-window', limit: units, window: '1m', consistency: 'leased' }],
  algorithms: ['fixed'],
})
const eventual: More = {
  policies: [
    { name: 'eventual', algorithm: 'fixed-window', limit: 2, window: '1m', consistency: 'eventual', syncMs: 50 },
  ],
  algorithms: ['fixed'],
}

/** Requests beside tokens, of which there are four. */
const withTokens = (
  name: string,
  steps: readonly Step[],
  more: More & Pick<PolicyInput, 'consistency'> = {},
): Crossing => {
  const { consistency, ...others } = more
  const { scenario, ...crossing } = pairOf(name, steps, others)
  const tokensOf = (policy: PolicyInput): PolicyInput => ({
    ...{ ...policy, name: 'tokens', cost: 'tokens', limit: 4 },
    ...(consistency && { consistency }),
  })
  return { ...crossing, scenario: (policy) => ({ ...scenario(policy), policies: [policy, tokensOf(policy)] }) }
}
const tokens = (units: number, cost = 1) => ({ cost, costs: { tokens: units } })

/** Units that are reserved for longer than the scenario takes. */
const reserved = (on: number, more: Parameters<typeof take>[1] = {}): Step =>
  take(on, { reserve: 10 * ONE_WINDOW, ...more })

/** The same of two subjects: the first is the caller, and the second knows units only. */
const reservedAll = (on: number, more: Parameters<typeof takeAll>[3] = {}): Step =>
  takeAll(on, [0, 1], 0, { cost: 2, reserve: 10 * ONE_WINDOW, ...more })
const takeShared = (on: number, more: Parameters<typeof take>[1] = {}): Step => take(on, { of: 1, ...more })

/** Slots beside units; without a policy of another kind units would say nothing. */
const slots = (name: string, steps: readonly Step[], more: More = {}): Crossing =>
  pairOf(name, steps, {
    running: { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '10s' },
    algorithms: ['fixed', 'pace'],
    ...more,
  })

/** Ways of counting whose units are settled each in another way. */
const SETTLED = ['window', 'anchored', 'buckets', 'log', 'pace', 'interval']
const settling = (name: string, steps: readonly Step[], more: More = {}): Crossing =>
  pairOf(name, steps, { algorithms: SETTLED, ...more })

const shared = (name: string, steps: readonly Step[], more: More = {}): Crossing =>
  settling(name, steps, { large: true, ...more })

const TWO_SUBJECTS: readonly Crossing[] = [
  shared('units of two subjects given back', [reservedAll(0), settle(1, 1, LATER), takeShared(1)], { large: false }),
  shared('units of two subjects given back, once more after that', [
    reservedAll(0),
    settle(1, 0, LATER),
    settle(0, 0, 20),
    takeShared(1, { cost: 2, after: 20 }),
  ]),
  shared('a debt of two subjects', [reservedAll(0, { cost: 1 }), settle(1, 2, LATER), takeShared(0), takeShared(1)]),
  shared('a debt of two subjects, known to the process', [
    reservedAll(0, { cost: 1 }),
    settle(0, 2, LATER),
    takeShared(0, { after: 20 }),
    takeShared(1),
  ]),
  shared('two settlements of two subjects', [
    reservedAll(0),
    settle(0, 1, LATER),
    settle(1, 3),
    takeShared(0, { after: 40 }),
  ]),
  shared('a settlement of two subjects and a reset of the caller', [
    reservedAll(0),
    reset(1, LATER),
    settle(0, 3),
    takeShared(1, { after: 40 }),
  ]),
  shared('a settlement of two subjects and a reset of the shared one', [
    reservedAll(0),
    reset(1, LATER, 1),
    takeShared(1, { reserve: ONE_WINDOW }),
    settle(0, 0),
    takeShared(1, { after: 40 }),
  ]),
  shared('a debt of two subjects and a reset of the shared one', [
    reservedAll(0),
    settle(0, 3, LATER),
    reset(1, 0, 1),
    takeShared(1, { after: 40 }),
  ]),
  shared('a settlement of two subjects and a crash', [
    reservedAll(0),
    settle(0, 0, LATER),
    crash(0, 3),
    settle(0, 0, 500),
    takeShared(1, { cost: 2 }),
  ]),
  shared('a debt of two subjects and a crash', [
    reservedAll(0, { cost: 1 }),
    settle(0, 2, LATER),
    crash(0, 3),
    settle(0, 2, 500),
    takeShared(1),
  ]),
  shared('a settlement of two subjects and a frozen instance', [
    reservedAll(0),
    settle(0, 1, LATER),
    freeze(0, 1000, 3),
    settle(1, 1),
    takeShared(1, { after: 1500 }),
  ]),
  shared('an outage between the writes of a settlement', [
    reservedAll(0, { cost: 1 }),
    settle(0, 2, LATER),
    outage(0, 400, 3),
    settle(0, 2, 2000),
    takeShared(1),
  ]),
  shared('an outage before what is given back', [
    reservedAll(0),
    settle(0, 1, LATER),
    outage(0, 400, 3),
    settle(0, 1, 2000),
    takeShared(1),
  ]),
  shared('a settlement of two subjects beside a refund of the shared one', [
    takeShared(1),
    { ...reservedAll(0, { cost: 1 }), after: LATER },
    settle(0, 0, LATER),
    { after: 0, on: 1, do: 'refund', of: 1, back: 0, withTime: true },
    takeShared(1, { after: 40 }),
  ]),
  shared('a refund of what is settled', [reserved(0, { cost: 2 }), refund(1, LATER), settle(0, 1), refund(0), take(1)]),
  shared('a settlement of two subjects and a limit that changes', [
    reservedAll(0),
    change(1, 200, LATER),
    settle(1, 3),
    takeShared(1, { after: 40 }),
  ]),
  shared('a settlement of two subjects with a caller of their own', [
    reservedAll(0, { caller: 2 }),
    settle(1, 1, LATER),
    takeShared(0),
    takeShared(1),
  ]),
  shared('a settlement of two subjects, stored with the second', [
    reservedAll(0, { caller: 1 }),
    settle(1, 1, LATER),
    take(0),
    takeShared(1),
  ]),
  shared('a settlement of two subjects after its time', [
    reservedAll(0, { reserve: 1000 }),
    settle(0, 0, 2000),
    settle(1, 3),
    takeShared(1, { after: 40 }),
  ]),
]

const METERED: readonly Crossing[] = [
  settling('a meter beside charges', [reserved(0), debit(0, 1, LATER), debit(0, 1), take(1), settle(0, 0, LATER)]),
  settling('a meter past the limit', [reserved(0), debit(0, 4, LATER), settle(0, 0), take(1, { after: LATER })]),
  settling(
    'a meter while the store is away',
    [reserved(0), outage(0, 400, LATER), debit(0, 2), settle(0, 0, 2000), take(1, { after: 20 })],
    { large: true },
  ),
  settling('a meter and a crash', [reserved(0), debit(0, 2, LATER), crash(0, 1), settle(0, 2, 500), take(1)], {
    large: true,
  }),
  settling('a meter and a reset', [reserved(0), debit(0, 2, LATER), reset(1), settle(0, 0, 20), take(1)], {
    large: true,
  }),
  settling(
    'a meter of two subjects',
    [reservedAll(0, { cost: 1 }), debit(0, 2, LATER), settle(0, 0, 20), takeShared(1, { after: 20 })],
    { large: true },
  ),
  settling('a meter that another instance settles', [reserved(0), debit(0, 2, LATER), settle(1, 2), take(1)], {
    large: true,
  }),
]

const HOLDING: readonly Crossing[] = [
  settling('a settlement beside charges', [reserved(0, { cost: 2 }), settle(0, 1, LATER), take(1), take(0)]),
  settling('a settlement by another instance', [reserved(0), settle(1, 2, LATER), take(0), take(1)], { large: true }),
  settling('two settlements at once', [reserved(0, { cost: 2 }), settle(0, 1, LATER), settle(1, 0), take(1)]),
  settling('a settlement beside a refund', [take(0), reserved(1, { after: LATER }), settle(0, 0, LATER), refund(1)], {
    large: true,
  }),
  settling('a settlement beside a reset', [reserved(0), settle(0, 2, LATER), reset(1), take(1)]),
  settling('a settlement and a crash', [reserved(0, { cost: 2 }), settle(0, 0, LATER), crash(0, 1), settle(0, 0, 500)]),
  settling(
    'a settlement and a frozen instance',
    [reserved(0, { cost: 2 }), settle(0, 1, LATER), freeze(0, 1000), take(1)],
    { large: true },
  ),
  settling(
    'a settlement while the store is away',
    [reserved(0, { cost: 2 }), outage(0, 400, LATER), settle(0, 0), settle(0, 0, 2000), take(1, { cost: 2 })],
    { large: true },
  ),
  settling(
    'a settlement and a limit that changes',
    [reserved(0), change(1, 200, LATER), settle(1, 3), take(0), take(1)],
    { large: true },
  ),
  settling(
    'a settlement after its window',
    [reserved(0, { cost: 2 }), take(1, { after: ONE_WINDOW }), settle(0, 1), take(1)],
    { large: true },
  ),
  settling('a settlement after its time', [reserved(0, { cost: 2, reserve: 1000 }), settle(0, 0, 2000), take(1)]),
  settling(
    'a settlement by a clock that is behind',
    [reserved(0), take(1, { after: LATER }), settle(1, 3), settle(0, 0)],
    { instances: [{ skewMs: 0 }, { skewMs: -500 }] },
  ),
  ...TWO_SUBJECTS,
  ...METERED,
  slots('slots beside slots', [take(0), take(1), release(0, LATER), take(1)]),
  slots('a release by another instance', [take(0), release(1, LATER), take(0), take(1)], { large: true }),
  slots('two releases at once', [take(0), release(0, LATER), release(1), take(1), take(0)]),
  slots('a release and a crash', [take(0), release(0, LATER), crash(0), take(1)]),
  slots('a release and a frozen instance', [take(0), release(0, LATER), freeze(0, 1000), take(1)], { large: true }),
  slots('a release beside a reset', [take(0), release(0, LATER), reset(1), take(1), take(0)], { large: true }),
  slots('a release beside a refund', [take(0), refund(0, LATER), release(1), take(1)], { large: true }),
  slots(
    'a release while the store is away',
    [take(0), outage(0, 400, LATER), release(0), release(0, 500), take(1, { after: 2000 })],
    { large: true },
  ),
  slots('slots and a limit that is lowered', [take(0), take(1), change(1, 50, LATER), release(0), take(1)], {
    running: { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '10s' },
  }),
  slots('a slot whose time is over', [take(0), take(1, { after: 10_000 }), take(1, { after: 1001 }), release(0)], {
    large: true,
  }),
  slots('a slot by a clock that is behind', [take(0), take(1, { after: 10_499 }), release(0), take(1)], {
    instances: [{ skewMs: 0 }, { skewMs: -500 }],
  }),
  slots('a slot that is settled', [reserved(0, { cost: 2 }), settle(1, 1, LATER), release(0), take(1)]),
  slots(
    'slots of two subjects that are settled',
    [reservedAll(0, { cost: 1 }), settle(1, 3, LATER), takeShared(0), takeShared(1, { after: 40 })],
    { large: true },
  ),
  slots(
    'slots of two subjects that are settled to less, and a crash',
    [reservedAll(0), settle(1, 0, LATER), crash(1, 3), release(0, 500), takeShared(1, { after: 40 })],
    { large: true },
  ),
  slots(
    'slots of two subjects that are released, and then settled',
    [reservedAll(0), release(0, LATER), settle(1, 0), takeShared(1, { after: 40 })],
    { large: true },
  ),
  slots('slots of two subjects', [take(0, { of: 1 }), takeAll(0, [0, 1], LATER), release(1, 300), take(1)], {
    large: true,
  }),
]

export const CROSSINGS: readonly Crossing[] = [
  ...HOLDING,
  pairOf('charges beside charges', [take(0), take(1), take(0), take(1, { cost: 2 })]),
  pairOf('charges of several requests that share writes', [take(0, { times: 3 }), take(1)]),
  pairOf('a refund beside charges', [take(0), refund(0, LATER), take(1, { cost: 2 }), take(0)]),
  pairOf('a refund that does not say when', [take(0), refund(1, LATER, false), take(0), take(1)]),
  pairOf('two refunds at once', [take(0), take(1), refund(0, LATER), refund(1), take(0)], { large: true }),
  pairOf('a refund after its window', [
    take(0, { cost: 2 }),
    take(1, { after: ONE_WINDOW, cost: 2 }),
    refund(0),
    take(1),
  ]),
  pairOf('a refund and a crash', [take(0), refund(0, LATER), crash(0), take(1, { cost: 2 })]),
  pairOf('a refund and a frozen instance', [take(0), refund(0, LATER), freeze(0, 1000), take(1, { cost: 2 })]),
  pairOf('a reset beside charges', [take(0), reset(0, LATER), take(1), take(1, { cost: 2 })]),
  pairOf('two resets at once', [take(0), reset(0, LATER), reset(1), take(1, { cost: 2 })]),
  pairOf('a reset beside a refund', [take(0), reset(0, LATER), refund(1), take(1, { cost: 2 })]),
  pairOf('two subjects from both ends', [take(0, { of: 1, cost: 2 }), takeAll(0, [0, 1], LATER), takeAll(1, [1, 0])], {
    large: true,
  }),
  pairOf('two subjects and a refund', [takeAll(0, [0, 1]), take(1), refund(1, LATER)], { large: true }),
  pairOf('two subjects and a reset', [take(0, { of: 1, cost: 2 }), takeAll(1, [0, 1], LATER), reset(0)], {
    large: true,
  }),
  pairOf('two subjects while the store is away', [takeAll(0, [0, 1]), outage(0, 100), takeAll(1, [1, 0])], {
    large: true,
  }),
  pairOf('two subjects and a crash', [take(0, { of: 1, cost: 2 }), takeAll(0, [0, 1], LATER), crash(0), take(1)]),
  pairOf('a limit that changes on one instance', [
    take(0, { cost: 2 }),
    change(1, 50, LATER),
    take(0),
    take(1),
    take(1),
  ]),
  pairOf('a limit that is raised on one instance', [take(0, { cost: 2 }), change(1, 200, LATER), take(1), take(0)]),
  pairOf('a limit that changes, and a refund', [take(0), change(1, 50, LATER), refund(1), take(1), take(0)]),
  pairOf('a crash among charges', [take(0), crash(0), take(0), take(1, { cost: 2 })]),
  pairOf('an outage that comes and goes', [take(0), outage(0, 400, LATER), take(0), take(0, { after: 500 }), take(1)]),
  pairOf('an edge of a window among charges', [
    take(0, { cost: 2 }),
    take(0, { after: ONE_WINDOW - 1 }),
    take(1),
    take(1),
  ]),
  pairOf('a clock that is behind', [take(0), take(1), take(0), take(1)], {
    instances: [{ skewMs: 0 }, { skewMs: -500 }],
  }),
  pairOf(
    'a lease and an instance that is frozen',
    [take(0), take(0, { after: LATER, cost: 6 }), freeze(0, 5000), take(1, { cost: 6 })],
    leased(20),
  ),
  pairOf(
    'a lease and a limit that changes',
    [take(0, { cost: 6 }), change(0, 50, LATER), take(0, { cost: 6 }), take(1, { cost: 6 })],
    leased(20),
  ),
  pairOf(
    'a lease and a reset',
    [take(0, { cost: 6 }), reset(1, LATER), take(0, { cost: 6 }), take(1, { cost: 6 })],
    leased(20),
  ),
  pairOf(
    'a lease and a refund',
    [take(0, { cost: 6 }), refund(0, LATER), take(0, { cost: 20 }), take(1, { cost: 6 })],
    leased(20),
  ),
  pairOf(
    'a lease and a crash',
    [take(0, { cost: 6 }), take(0, { after: 100, cost: 2 }), crash(0, 100), take(0, { cost: 6 }), take(1, { cost: 6 })],
    leased(20),
  ),
  pairOf(
    'a lease, closed',
    [take(0, { cost: 6 }), take(0, { after: 100 }), { after: 0, on: 0, do: 'close' }, take(1, { cost: 14 })],
    leased(20),
  ),
  pairOf('eventual counts and a crash', [take(0), crash(0, 60), take(0), take(1)], eventual),
  pairOf('eventual counts and a refund', [take(0), refund(0), take(1, { after: 60 }), take(0)], eventual),
  pairOf(
    'eventual counts and a frozen instance',
    [take(0), freeze(0, 5000), take(1, { cost: 2 }), take(0, { after: 100 })],
    eventual,
  ),
  pairOf(
    'eventual counts, closed',
    [take(0), { after: 0, on: 0, do: 'close' }, take(1, { cost: 2, after: 60 })],
    eventual,
  ),
  withTokens('costs by name beside others', [
    take(0, tokens(3)),
    take(1, tokens(2)),
    take(0, tokens(0)),
    take(1, tokens(1, 0)),
  ]),
  withTokens('costs by name that share writes', [
    take(0, tokens(1)),
    take(0, { ...tokens(2), times: 2 }),
    take(1, tokens(2)),
  ]),
  withTokens('costs by name and a refund', [take(0, tokens(3)), refund(0, LATER), take(1, tokens(4, 2))]),
  withTokens('costs by name, a refund and a crash', [
    take(0, tokens(3)),
    refund(0, LATER),
    crash(0),
    take(1, tokens(4, 2)),
  ]),
  withTokens('costs by name and a reset', [
    take(0, tokens(3)),
    reset(1, LATER),
    take(0, tokens(4)),
    take(1, tokens(2)),
  ]),
  withTokens('costs by name and a limit that changes', [
    take(0, tokens(2)),
    change(1, 50, LATER),
    take(1, tokens(1)),
    take(0, tokens(2)),
  ]),
  withTokens('costs by name while the store is away', [
    take(0, tokens(1)),
    outage(0, 400, LATER),
    take(0, tokens(2)),
    take(0, { after: 500, ...tokens(2) }),
    take(1, tokens(2)),
  ]),
  withTokens(
    'costs by name of two subjects',
    [
      take(0, { of: 1, ...tokens(3) }),
      { after: LATER, on: 0, do: 'takeAll', of: [0, 1], ...tokens(2) },
      take(1, tokens(4)),
    ],
    { large: true },
  ),
  withTokens(
    'leased costs by name and a refund',
    [take(0, tokens(1)), refund(0, LATER), take(0, tokens(2)), take(1, tokens(3))],
    { consistency: 'leased', algorithms: ['fixed'] },
  ),
  withTokens('eventual costs by name and a crash', [take(0, tokens(1)), crash(0, 60), take(1, tokens(3))], {
    consistency: 'eventual',
    algorithms: ['fixed'],
  }),
]
