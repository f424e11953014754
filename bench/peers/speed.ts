import { PLENTY } from '../policies'
import type { Summary } from '../statistics'
import { interleaved, median, ratios, summary } from '../statistics'
import type { Present } from './contenders'

const LIMIT = { name: 'speed', units: PLENTY, seconds: 60, kind: 'window' } as const
const SUBJECTS = 100

/** The speed of one contender. */
export interface Speed {
  readonly callsPerDecision: number
  /** Decisions a second against Sluice's, round by round: one at a time, and 16 in flight. */
  readonly single: Summary
  readonly many: Summary
  /** One at a time, in milliseconds. */
  readonly p50Ms: number
  readonly p99Ms: number
}

/** All contenders make the same decisions, in turns, on subjects that they know; no request is denied. */
export async function measureSpeed(entrants: readonly Present[], quick: boolean): Promise<Map<string, Speed>> {
  const seen = new Map(
    entrants.map(({ name }) => [name, { p50: [] as number[], p99: [] as number[], calls: 0, decisions: 0 }]),
  )
  const slice =
    ({ name, contender, proxy }: Present, requests: number, inFlight: number) =>
    async (): Promise<number> => {
      await proxy.counts()
      const taken = await contender.take({
        limit: LIMIT.name,
        prefix: 'speed',
        subjects: SUBJECTS,
        requests,
        inFlight,
        cost: 1,
      })
      if (taken.allowed !== requests || taken.degraded > 0)
        throw new Error(`${name}: ${JSON.stringify({ ...taken, allowedAt: undefined })}`)
      const record = seen.get(name)!
      record.calls += (await proxy.counts()).total
      record.decisions += requests
      if (inFlight === 1) {
        record.p50.push(taken.p50Ms)
        record.p99.push(taken.p99Ms)
      }
      return (1000 * requests) / taken.elapsedMs
    }
  for (const entrant of entrants) {
    await entrant.contender.limit(LIMIT)
    await slice(entrant, SUBJECTS, 16)() // creates all of its subjects before measuring
    Object.assign(seen.get(entrant.name)!, { calls: 0, decisions: 0 })
  }
  const rounds = { most: 20, least: quick ? 2 : 8, budgetMs: quick ? 500 : 30_000 }
  const race = (requests: number, inFlight: number) =>
    interleaved(
      Object.fromEntries(entrants.map((entrant) => [entrant.name, slice(entrant, requests, inFlight)])),
      rounds,
    )
  const single = await race(quick ? 40 : 150, 1)
  const many = await race(quick ? 100 : 400, 16)
  return new Map(
    entrants.map(({ name }) => {
      const { p50, p99, calls, decisions } = seen.get(name)!
      const against = (rates: Record<string, number[]>) => summary(ratios(rates[name]!, rates.sluice!))
      return [
        name,
        {
          callsPerDecision: calls / decisions,
          single: against(single),
          many: against(many),
          p50Ms: median(p50),
          p99Ms: median(p99),
        },
      ]
    }),
  )
}
