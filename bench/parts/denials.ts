import { createStateTable, type PolicyInput } from '../../limiter'
import { CountingClient } from '../engine'
import { type Figure, type Goal, toFigure } from '../figure'
import type { Bench, Part } from '../part'

const START = Date.UTC(2026, 0, 15, 12, 0, 30)
const TABLE = 'bench-denials'
/** How long the limiter trusts a denial. */
const TRUSTED_MS = 5000
const HAMMERED_MS = 20_000

const SETS: readonly (readonly [string, readonly PolicyInput[]])[] = [
  ['1 policy: sliding-window', [{ name: 'per-minute', limit: 20, window: '1m' }]],
  [
    '4 policies: sliding-window',
    [
      { name: 'per-second', limit: 50, window: '1s' },
      { name: 'per-minute', limit: 20, window: '1m' },
      { name: 'per-hour', limit: 1000, window: '1h' },
      { name: 'per-day', limit: 10_000, window: '1d' },
    ],
  ],
  ['fixed-window', [{ name: 'per-minute', limit: 20, window: '1m', algorithm: 'fixed-window' }]],
  ['gcra', [{ name: 'pace', limit: 20, window: '10m', algorithm: 'gcra' }]],
  ['sliding-log', [{ name: 'log', limit: 20, window: '1m', algorithm: 'sliding-log' }]],
]

/** What it costs to deny a caller that goes on asking. */
export const denials: Part = {
  title: 'DynamoDB calls per repeated denial',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, TABLE)
    const figures: Figure[] = []
    for (const [name, policies] of SETS) figures.push(...(await refusals(bench, client, name, policies)))
    client.destroy()
    return {
      figures,
      details: [
        `A denial is known for as long as it holds, and trusted for ${TRUSTED_MS / 1000} s; then it is looked up once more.`,
        '"Another instance" has never seen the caller. Simulated clock, through the SDK.',
      ],
    }
  },
}

async function refusals(
  { product, engine, quick }: Bench,
  client: CountingClient,
  name: string,
  policies: readonly PolicyInput[],
) {
  let now = START
  const store = new product.DynamoDbStore({ client, tableName: TABLE })
  const instance = () =>
    product.createLimiter({ store, policies, clock: () => now, deadlineMs: 60_000, onStoreError: 'throw' })
  const subject = `denials:${name}`
  const refuse = async (limiter: ReturnType<typeof instance>): Promise<number> => {
    const before = client.calls
    if ((await limiter.take(subject)).allowed)
      throw new Error(`${name}: a request was allowed that should have been denied`)
    return client.calls - before
  }

  const first = instance()
  while ((await first.take(subject)).allowed);
  const repeats = quick ? 500 : 4000
  let known = 0
  for (let i = 0; i < repeats; i++) {
    now = START + (TRUSTED_MS * i) / repeats
    known += await refuse(first)
  }

  now = START
  const another = instance()
  const introduction = await refuse(another)
  let there = 0
  for (let i = 0; i < 100; i++) there += await refuse(another)

  let lasting = 0
  for (; now < START + HAMMERED_MS; now += 100) lasting += await refuse(another)
  const figure = (what: string, measured: number, notes: string[], goal?: Goal) =>
    toFigure(`${name}, ${what}`, { measured, unit: 'calls', goal, notes })
  return [
    figure('while the answer is known', known / repeats, [`${repeats} denials on ${engine.name}`], { atMost: 0 }),
    figure('another instance, its first', introduction, [`then ${there} calls in 100 denials`]),
    figure('ten a second for 20 s', lasting / (HAMMERED_MS / 100), []),
  ]
}
