import type { Limiter, PolicyInput } from '../../limiter'
import { CountingStore } from '../counting-store'
import { type Figure, type Goal, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { below, exponential, seeded } from '../random'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const WARM_FROM = Date.UTC(2026, 0, 15, 12, 55)
const MEASURE_FROM = WARM_FROM + 5 * 60_000

interface Scenario {
  readonly name: string
  readonly policies: readonly PolicyInput[]
  readonly instances: number
  /** Requests a minute of a client that is at its limit. */
  readonly fullRate: number
  readonly shares: readonly { readonly share: number; readonly goal?: Goal }[]
  /** @default an hour, so that each window opens as often as it does in a day */
  readonly minutes?: number
  /** @default 20 */
  readonly clients?: number
}

const minuteHourDay = (perMinute: number, perHour: number, perDay: number): PolicyInput[] => [
  { name: 'per-minute', limit: perMinute, window: '1m' },
  { name: 'per-hour', limit: perHour, window: '1h' },
  { name: 'per-day', limit: perDay, window: '1d', algorithm: 'fixed-window' },
]
const perMinute = (form: Partial<PolicyInput>): PolicyInput[] => [
  { name: 'per-minute', limit: 60, window: '1m', ...form },
]

const PLAIN = [{ share: 0.1 }, { share: 0.5 }, { share: 0.9 }]
const GOALS = [
  { share: 0.1, goal: { atMost: 1.02 } },
  { share: 0.5, goal: { atMost: 1.1 } },
  { share: 0.9, goal: { atMost: 1.4 } },
]

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'minute + hour + day',
    policies: minuteHourDay(60, 3600, 86_400),
    instances: 50,
    fullRate: 60,
    shares: GOALS,
    clients: 100,
  },
  { name: 'minute + hour + day', policies: minuteHourDay(60, 3600, 86_400), instances: 5, fullRate: 60, shares: PLAIN },
  {
    name: "README's free tier",
    policies: minuteHourDay(60, 1000, 10_000),
    instances: 50,
    fullRate: 1000 / 60,
    shares: PLAIN,
  },
  {
    name: 'second + minute, sparse clients',
    policies: [{ name: 'per-second', limit: 10, window: '1s' }, ...perMinute({})],
    instances: 50,
    fullRate: 60,
    shares: [{ share: 0.02 }, { share: 0.1 }],
  },
  ...(
    [
      ['gcra, burst 20', { algorithm: 'gcra', burst: 20 }],
      ['token-bucket', { algorithm: 'token-bucket' }],
      ['token-bucket interval', { algorithm: 'token-bucket', refill: 'interval' }],
      ['anchored-window', { algorithm: 'anchored-window' }],
      ['sliding-log', { algorithm: 'sliding-log' }],
      ['sliding-buckets', { algorithm: 'sliding-buckets' }],
    ] as const
  ).map(
    ([name, form]): Scenario => ({
      name,
      policies: perMinute(form),
      instances: 50,
      fullRate: 60,
      shares: PLAIN,
      minutes: 10,
    }),
  ),
]

/** Calls per decision when requests reach instances at random, so that nearly every view of a subject is outdated. */
export const fleet: Part = {
  title: 'DynamoDB calls per allowed decision, many instances',

  async run(bench) {
    const figures: Figure[] = []
    for (const scenario of SCENARIOS) {
      for (const { share, goal } of scenario.shares) figures.push(await simulate(bench, scenario, share, goal))
    }
    return {
      figures,
      details: [
        'Simulated: each instance a limiter of its own over one store in memory, clients at random moments (Poisson) by a simulated clock.',
        'Measured over one hour from its first second on, or over ten minutes for policies of a minute, after five minutes of warming up;',
        'the hours and the day before are charged in advance. Limits: 60/m + 3600/h + 86,400/d, 60/m + 1000/h + 10,000/d (free), 10/s + 60/m, 60/m.',
      ],
    }
  },
}

async function simulate(
  { product, quick }: Bench,
  scenario: Scenario,
  share: number,
  goal: Goal | undefined,
): Promise<Figure> {
  const { name, policies, instances, fullRate, minutes = 60 } = scenario
  const clients = quick ? 4 : (scenario.clients ?? 20)
  const endsAt = MEASURE_FROM + (quick ? minutes / 4 : minutes) * 60_000
  const random = seeded(share * 1000 + instances)
  const store = new CountingStore(new product.MemoryStore({ maxSubjects: clients }))
  let now = 0
  const clock = () => now
  const limiterOf = (some: readonly PolicyInput[]) =>
    product.createLimiter({ store, policies: some, clock, deadlineMs: 600_000, onStoreError: 'throw' })

  await chargeThePast(limiterOf, policies, clients, (fullRate * share) / 60_000, (at) => (now = at))
  const fleet = Array.from({ length: instances }, () => limiterOf(policies))
  const meanMs = 60_000 / (fullRate * share * clients)
  const tally = { allowed: 0, denied: 0, calls: 0, deniedCalls: 0 }
  now = WARM_FROM
  for (let at = WARM_FROM; at < endsAt; at += exponential(random, meanMs)) {
    now = at
    const before = store.calls
    const { allowed } = await fleet[below(random, instances)]!.take(`client:${below(random, clients)}`)
    if (at < MEASURE_FROM) continue
    tally[allowed ? 'allowed' : 'denied']++
    tally[allowed ? 'calls' : 'deniedCalls'] += store.calls - before
  }
  const denied = ((100 * tally.denied) / (tally.allowed + tally.denied)).toFixed(1)
  const notes = [
    `${tally.allowed} allowed, ${denied} % denied${tally.denied ? `, ${(tally.deniedCalls / tally.denied).toFixed(2)} calls per denial` : ''}`,
  ]
  return toFigure(`${instances} instances, ${name}, at ${100 * share} %`, {
    measured: tally.calls / tally.allowed,
    unit: 'calls',
    goal,
    notes,
  })
}

/** What the clients used before the simulation, for policies whose windows it would take hours to fill. */
async function chargeThePast(
  limiterOf: (some: readonly PolicyInput[]) => Limiter,
  policies: readonly PolicyInput[],
  clients: number,
  unitsPerMs: number,
  setClock: (at: number) => void,
): Promise<void> {
  const startOfDay = WARM_FROM - (WARM_FROM % DAY)
  const startOfHour = WARM_FROM - (WARM_FROM % HOUR)
  const used: Record<string, readonly (readonly [at: number, untilNow: number])[]> = {
    '1d': [[startOfDay, WARM_FROM - startOfDay]],
    '1h': [
      [startOfHour - HOUR, HOUR],
      [startOfHour, WARM_FROM - startOfHour],
    ],
  }
  for (const policy of policies) {
    const limiter = limiterOf([policy])
    for (const [at, duration] of used[policy.window] ?? []) {
      setClock(at)
      const cost = Math.floor(unitsPerMs * duration)
      for (let client = 0; cost > 0 && client < clients; client++) await limiter.take(`client:${client}`, { cost })
    }
  }
}
