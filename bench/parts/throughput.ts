import { createStateTable, type Decision } from '../../limiter'
import { CountingClient } from '../engine'
import { type Figure, type Goal, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { PLENTY, windowSet } from '../policies'
import { limiterUnion, type Rival } from '../rival'
import { interleaved, median, ratios, summary } from '../statistics'

interface Traffic {
  readonly name: string
  readonly subjects: number
  readonly inFlight: number
  readonly goals: boolean
}

const TRAFFIC: readonly Traffic[] = [
  { name: 'many subjects, one at a time', subjects: 500, inFlight: 1, goals: true },
  { name: 'many subjects, 16 in flight', subjects: 500, inFlight: 16, goals: true },
  { name: 'every subject new, 16 in flight', subjects: Infinity, inFlight: 16, goals: false },
  { name: 'one hot subject, 16 in flight', subjects: 1, inFlight: 16, goals: false },
]
const GOALS: Readonly<Record<1 | 4, Goal>> = { 1: { atLeast: 2 }, 4: { atLeast: 5 } }
const TABLE = 'bench-throughput'

/** One of the compared products: how it charges a request, and how many calls it has made. */
interface Runner {
  readonly client: CountingClient
  take(subject: string): Promise<unknown>
}

/**
 * Decisions a second against rate-limiter-flexible, on the same engine, with the same settings of the SDK, in turns.
 */
export const throughput: Part = {
  title: 'Decisions a second through the SDK, against rate-limiter-flexible',

  async run(bench) {
    const figures: Figure[] = []
    const details: string[] = []
    const clients = { sluice: new CountingClient(bench.engine), rival: new CountingClient(bench.engine) }
    await createStateTable(clients.sluice, TABLE)
    for (const count of [1, 4] as const) {
      const policies = windowSet(count)
      const store = new bench.product.DynamoDbStore({ client: clients.sluice, tableName: TABLE })
      const limiter = bench.product.createLimiter({ store, policies, onStoreError: 'throw', deadlineMs: 10_000 })
      const rival = await limiterUnion(clients.rival, policies)
      for (const traffic of TRAFFIC) {
        const ours: Runner = { client: clients.sluice, take: async (subject) => allowed(await limiter.take(subject)) }
        const theirs: Runner = { client: clients.rival, take: (subject) => rival.take(subject) }
        figures.push(...(await race(bench, count, traffic, ours, theirs, details)))
      }
      await verify(`verify:${count}`, limiter.take, limiter.peek, rival)
    }
    for (const client of Object.values(clients)) client.destroy()
    details.push(
      `rate-limiter-flexible 11: RateLimiterDynamo, RateLimiterUnion for four limits, table and TTL set up beforehand (ttlSet), points high enough for all.`,
      `Both on ${bench.engine.name}, same settings of the client, a connection pool each; after the race both were asked what they had counted.`,
    )
    return { figures, details }
  },
}

async function race(
  { quick }: Bench,
  count: 1 | 4,
  { name, subjects, inFlight, goals }: Traffic,
  ours: Runner,
  theirs: Runner,
  details: string[],
) {
  const pool = quick && subjects === 500 ? 60 : subjects
  const runs = (runner: Runner) => {
    let next = 0
    return () => runner.take(`race:${count}:${name}:${next++ % pool}`)
  }
  // each subject of a pool is charged once beforehand, so that none is new when measuring begins
  if (pool < Infinity) for (const runner of [ours, theirs]) await perSecond(pool, 16, runs(runner))
  const decisions = (quick ? 60 : 200) / count
  const slice = (runner: Runner) => perSecond.bind(undefined, decisions, inFlight, runs(runner))
  const before = [ours.client.calls, theirs.client.calls] as const
  const limits = { most: 40, least: quick ? 3 : 12, budgetMs: quick ? 300 : 8000 }
  const rates = await interleaved({ ours: slice(ours), theirs: slice(theirs) }, limits)
  const taken = decisions * (rates.ours.length + 1)
  const perDecision = [ours, theirs].map(({ client }, i) => ((client.calls - before[i]!) / taken).toFixed(2))
  const policies = count === 1 ? '1 policy' : `${count} policies`
  const shown = [rates.ours, rates.theirs].map((rate) => Math.round(median(rate)))
  details.push(
    `${policies}, ${name}: ${shown.join(' against ')} decisions/s, ${perDecision.join(' against ')} calls per decision`,
  )
  return [
    toFigure(`${policies}, ${name}`, {
      ...summary(ratios(rates.ours, rates.theirs)),
      unit: '×',
      ...(goals && { goal: GOALS[count] }),
    }),
  ]
}

async function perSecond(decisions: number, inFlight: number, take: () => Promise<unknown>): Promise<number> {
  let left = decisions
  const start = performance.now()
  const line = async () => {
    while (left-- > 0) await take()
  }
  await Promise.all(Array.from({ length: inFlight }, line))
  return (1000 * decisions) / (performance.now() - start)
}

function allowed(decision: Decision): void {
  if (!decision.allowed || decision.degraded)
    throw new Error(`policy "${decision.policy}" denied a request, or the store was not asked`)
}

/** Fails unless both products have counted what they admitted. */
async function verify(
  subject: string,
  take: (subject: string) => Promise<Decision>,
  peek: (subject: string, options: { cost: number }) => Promise<Decision>,
  rival: Rival,
): Promise<void> {
  for (let i = 0; i < 25; i++) await Promise.all([take(subject), rival.take(subject)])
  const { policies } = await peek(subject, { cost: 0 })
  const minutely = {
    ours: PLENTY - policies['per-minute']!.remaining,
    theirs: await rival.counted(subject, 'per-minute'),
  }
  if (minutely.ours !== 25 || minutely.theirs !== 25)
    throw new Error(`25 requests were counted as ${JSON.stringify(minutely)}`)
}
