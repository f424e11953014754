import { type AnyPolicyInput, createStateTable, type Limiter, type PolicyInput } from '../../limiter'
import { CountingClient } from '../engine'
import { type Figure, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { EACH_ALGORITHM } from '../policies'
import { below, exponential, seeded } from '../random'

const SUBJECTS = 5
const GOAL = { atMost: 1.02 }
const START = Date.UTC(2026, 0, 15, 12, 58)

const FOUR: readonly PolicyInput[] = [
  { name: 'per-second', limit: 10, window: '1s' },
  { name: 'per-minute', limit: 60, window: '1m' },
  { name: 'per-hour', limit: 3600, window: '1h' },
  { name: 'per-day', limit: 86_400, window: '1d' },
]

/** How often DynamoDB is called for a request that is allowed, when one instance sees all of a subject's requests. */
export const calls: Part = {
  title: 'DynamoDB calls per allowed decision, one instance',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, 'bench-calls')
    const sets: [string, readonly PolicyInput[]][] = [
      ['1 policy: sliding-window', FOUR.slice(1, 2)],
      ['4 policies: sliding-window', FOUR],
      ...EACH_ALGORITHM.map((form): [string, PolicyInput[]] => [
        nameOf(form),
        [{ name: 'each', limit: 60, window: '1m', ...form }],
      ]),
    ]
    const figures: Figure[] = []
    for (const [i, [name, policies]] of sets.entries())
      figures.push(await callsPerAllowed(bench, client, name, policies, i))
    figures.push(await callsPerSettled(bench, client))
    figures.push(await callsPerRunning(bench, client))
    client.destroy()
    return {
      figures,
      details: [
        `${SUBJECTS} subjects at 80 % of 60 a minute, at random moments (Poisson) by a simulated clock, through the SDK on ${bench.engine.name}.`,
        'Every call counts, the first of a subject too: writes, reads, second tries, clearing away.',
        'Settled: 500 tokens reserved, and settled a second later by another process, off the path of the request.',
        'Running: a slot of four beside a limit, released a second later by another process.',
      ],
    }
  },
}

async function callsPerAllowed(
  { product, quick }: Bench,
  client: CountingClient,
  name: string,
  policies: readonly PolicyInput[],
  seed: number,
) {
  const random = seeded(seed)
  let now = START
  const store = new product.DynamoDbStore({ client, tableName: 'bench-calls' })
  const limiter = product.createLimiter({
    store,
    policies,
    clock: () => now,
    deadlineMs: 60_000,
    onStoreError: 'throw',
  })
  const tally = { allowed: 0, denied: 0, calls: 0 }
  for (let i = 0, requests = quick ? 100 : 1000; i < requests; i++) {
    now += exponential(random, 60_000 / (60 * 0.8 * SUBJECTS))
    const before = client.calls
    const { allowed } = await limiter.take(`calls:${name}:${below(random, SUBJECTS)}`)
    if (allowed) tally.calls += client.calls - before
    tally[allowed ? 'allowed' : 'denied']++
  }
  const notes = tally.denied > 0 ? [`${tally.denied} of ${tally.denied + tally.allowed} denied, not counted`] : []
  return toFigure(name, { measured: tally.calls / tally.allowed, unit: 'calls', goal: GOAL, notes })
}

/** A request of which the true cost is known afterwards: the call that admits it, and the one that settles it. */
async function callsPerSettled(bench: Bench, client: CountingClient) {
  const random = seeded(7)
  const tokens = { name: 'tokens', limit: 100_000, window: '1m', cost: 'tokens' }
  return callsPerHeld('reserved and settled', tokens, bench, client, async (gateway, backend, i, wait) => {
    const { reservation } = await gateway.take(`settled:${i}`, { costs: { tokens: 500 }, reserve: '2m' })
    wait()
    if (!(await backend.settle(reservation!, below(random, 1000)))) throw new Error('a reservation was not settled')
  })
}

/** A request of which some may run at once: the call that admits it, and the one that frees its slot. */
async function callsPerRunning(bench: Bench, client: CountingClient) {
  const running = { name: 'running', algorithm: 'concurrency', limit: 4, timeout: '1m' } as const
  return callsPerHeld('slot taken and freed', running, bench, client, async (gateway, backend, i, wait) => {
    const { reservation } = await gateway.acquire(`running:${i % SUBJECTS}`)
    wait()
    if (!(await backend.settle(reservation!, {}))) throw new Error('a slot was not released')
    wait()
  })
}

/** A request that one process admits and another one ends, a second later. */
async function callsPerHeld(
  name: string,
  policy: AnyPolicyInput,
  { product, quick }: Bench,
  client: CountingClient,
  serve: (gateway: Limiter, backend: Limiter, i: number, wait: () => void) => Promise<void>,
) {
  let now = START
  const store = () => new product.DynamoDbStore({ client, tableName: 'bench-calls' })
  const policies = [{ name: 'requests', limit: 60, window: '1m' }, policy]
  const options = { policies, clock: () => now, deadlineMs: 60_000, onStoreError: 'throw' } as const
  const limiterOf = () => product.createLimiter({ ...options, store: store() })
  const [gateway, backend] = [limiterOf(), limiterOf()]
  const wait = () => {
    now += 1000
  }
  const before = client.calls
  const requests = quick ? 50 : 500
  for (let i = 0; i < requests; i++) await serve(gateway, backend, i, wait)
  const goal = { atMost: 2.02 }
  return toFigure(name, { measured: (client.calls - before) / requests, unit: 'calls', goal })
}

const nameOf = ({ algorithm, ...form }: (typeof EACH_ALGORITHM)[number]): string =>
  [algorithm, ...Object.values(form)].join(' ')
