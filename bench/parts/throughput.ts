import { subscribe } from 'node:diagnostics_channel'
import { createStateTable, type Decision } from '../../limiter'
import { CountingClient, CREDENTIALS, REGION } from '../engine'
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
  { name: 'many subjects, one at a time', subjects: 500, inFlight: 1, goals: false },
  { name: 'many subjects, 16 in flight', subjects: 500, inFlight: 16, goals: true },
  { name: 'every subject new, 16 in flight', subjects: Infinity, inFlight: 16, goals: false },
  { name: 'one hot subject, 16 in flight', subjects: 1, inFlight: 16, goals: false },
]
const GOALS: Readonly<Record<1 | 4, Goal>> = { 1: { atLeast: 3 }, 4: { atLeast: 9 } }
const TABLE = 'bench-throughput'

/** How one of the compared products charges a request. */
type Take = (subject: string) => Promise<unknown>
/** Sluice as it calls by itself, and with the client that the rival needs. */
type Arm = 'direct' | 'SDK' | 'rival'

/** HTTP requests that this process has begun. */
let requests = 0
subscribe('http.client.request.start', () => {
  requests++
})

/**
 * Decisions a second against rate-limiter-flexible, on the same engine, with the same settings of the SDK, in turns.
 */
export const throughput: Part = {
  title: 'Decisions a second, against rate-limiter-flexible',

  async run(bench) {
    const figures: Figure[] = []
    const details: string[] = []
    const clients = { sluice: new CountingClient(bench.engine), rival: new CountingClient(bench.engine) }
    const direct = { endpoint: bench.engine.endpoint, region: REGION, credentials: CREDENTIALS }
    await createStateTable(clients.sluice, TABLE)
    for (const count of [1, 4] as const) {
      const policies = windowSet(count)
      const limiterBy = (connection: Partial<typeof direct & { client: CountingClient }>) => {
        const store = new bench.product.DynamoDbStore({ ...connection, tableName: TABLE })
        return bench.product.createLimiter({ store, policies, onStoreError: 'throw', deadlineMs: 10_000 })
      }
      const limiters = { direct: limiterBy(direct), SDK: limiterBy({ client: clients.sluice }) }
      const rival = await limiterUnion(clients.rival, policies)
      const takes: Record<Arm, Take> = {
        direct: async (subject) => allowed(await limiters.direct.take(`direct:${subject}`)),
        SDK: async (subject) => allowed(await limiters.SDK.take(`sdk:${subject}`)),
        rival: (subject) => rival.take(subject),
      }
      for (const traffic of TRAFFIC) figures.push(...(await race(bench, count, traffic, takes, details)))
      await verify(`verify:${count}`, limiters.direct.take, limiters.SDK.peek, rival)
    }
    for (const client of Object.values(clients)) client.destroy()
    details.push(
      `rate-limiter-flexible 11: RateLimiterDynamo, RateLimiterUnion for four limits, table and TTL set up beforehand (ttlSet), points high enough for all.`,
      `All on ${bench.engine.name}, a connection pool each, the clients of the SDK with the same settings; after the race both products were asked what they had counted.`,
    )
    return { figures, details }
  },
}

async function race(
  { quick }: Bench,
  count: 1 | 4,
  { name, subjects, inFlight, goals }: Traffic,
  takes: Readonly<Record<Arm, Take>>,
  details: string[],
) {
  const pool = quick && subjects === 500 ? 60 : subjects
  const runs = (take: Take) => {
    let next = 0
    return () => take(`race:${count}:${name}:${next++ % pool}`)
  }
  // each subject of a pool is charged once beforehand, so that none is new when measuring begins
  if (pool < Infinity) for (const take of Object.values(takes)) await perSecond(pool, 16, runs(take))
  const decisions = (quick ? 60 : 200) / count
  const calls: Record<Arm, number> = { direct: 0, SDK: 0, rival: 0 }
  const slice = (arm: Arm) => {
    const run = runs(takes[arm])
    return async () => {
      const before = requests
      const rate = await perSecond(decisions, inFlight, run)
      calls[arm] += requests - before
      return rate
    }
  }
  const limits = { most: 40, least: quick ? 3 : 12, budgetMs: quick ? 450 : 10_000 }
  const rates = await interleaved({ direct: slice('direct'), SDK: slice('SDK'), rival: slice('rival') }, limits)
  const taken = decisions * (rates.direct.length + 1)
  const policies = count === 1 ? '1 policy' : `${count} policies`
  const shown = Object.entries(rates).map(
    ([arm, rate]) =>
      `${arm} ${Math.round(median(rate))} decisions/s, ${(calls[arm as Arm] / taken).toFixed(2)} calls each`,
  )
  details.push(`${policies}, ${name}: ${shown.join('; ')}`)
  const against = (label: string, arm: Arm, goal?: Goal) =>
    toFigure(`${policies}, ${name}${label}`, {
      ...summary(ratios(rates[arm], rates.rival)),
      unit: '×',
      ...(goal && { goal }),
    })
  return [against('', 'direct', goals ? GOALS[count] : undefined), against(', SDK', 'SDK')]
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
