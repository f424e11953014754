import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import fc from 'fast-check'
import { entryIn } from '../../../cli/callers/denials-in-log'
import { type Denial, denialOf, othersIn } from '../../../cli/top/denial'
import { LogSource } from '../../../cli/top/log-source'
import { type Field, Tally } from '../../../cli/top/tally'
import { makeTelemetry } from '../../../lambda/telemetry/telemetry'
import { runs } from '../../runs'
import { fakeLogs } from './fake-logs'

const T = 1_700_000_000_000
const NEVER = new AbortController().signal

/** One denied request, and what came before it. */
const request = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 200_000 })),
  instance: fc.integer({ min: 0, max: 1 }),
  caller: fc.constantFrom('a', 'b'),
  tier: fc.constantFrom('free', 'pro'),
  policy: fc.constantFrom('per-minute', 'per-day'),
  route: fc.constantFrom('GET /a', 'GET /b'),
})

interface Denied {
  readonly at: number
  readonly values: Readonly<Record<'client' | 'tier' | 'policy' | 'route', string>>
}

/** What really was denied, and the lines that instances wrote of it. */
function history(requests: readonly (typeof request extends fc.Arbitrary<infer R> ? R : never)[]) {
  let now = T
  const lines: { readonly at: number; readonly text: string }[] = []
  const write = (text: string) => lines.push({ at: now, text })
  const instances = [0, 1].map(() => makeTelemetry({ write, clock: () => now, flushMs: 1e9 }))
  const denied: Denied[] = []
  for (const { afterMs, instance, caller, tier, policy, route } of requests) {
    now += afterMs
    const standing = { resetAfterMs: policy === 'per-day' ? 40_000_000 : 30_000 }
    const decision = { policies: { [policy]: standing } } as never
    const told = { allowed: false, reason: 'over-limit', tier, policy, limit: 1, remaining: 0, degraded: false }
    const origin = { subject: `client~${caller}`, method: 'GET', route, caller: () => ({}) }
    instances[instance]!.answered(told, decision, origin, now)
    denied.push({ at: now, values: { client: `client~${caller}`, tier, policy, route } })
  }
  return { denied, lines: lines.filter(({ text }) => text.includes('request_denied')), end: now }
}

const newsOf = (lines: readonly { readonly at: number; readonly text: string }[]) => {
  const entries = lines.map(({ at, text }) => ({ at, entry: entryIn(text) }))
  return {
    denials: entries.flatMap(({ at, entry }): Denial | [] => denialOf(entry, at) ?? []),
    others: entries.map(({ at, entry }) => ({ at, count: othersIn(entry) })),
    completeFrom: Infinity,
  }
}

describe('the numbers of sluice top', () => {
  it('are never more than was denied in that time, whatever instances left out of their logs', () => {
    const by = fc.subarray(['client', 'tier', 'policy', 'route'] as const, { minLength: 1 })
    fc.assert(
      fc.property(
        fc.array(request, { minLength: 1, maxLength: 60 }),
        by,
        fc.integer({ min: 10_000, max: 600_000 }),
        (requests, fields, sinceMs) => {
          const { denied, lines, end } = history(requests)
          const from = end - sinceMs
          const tally = new Tally()
          tally.add(newsOf(lines))
          const { rows, denials, isLowerBound } = tally.summary(from, fields as readonly Field[])
          const within = denied.filter(({ at }) => at >= from)
          expect(denials).toBeLessThanOrEqual(within.length)
          expect(isLowerBound).toBe(true)
          for (const row of rows) {
            const isRow = ({ values }: Denied) =>
              fields.every((field) => row.values[field] === undefined || row.values[field] === values[field])
            expect(row.denials).toBeLessThanOrEqual(within.filter(isRow).length)
          }
          const seen = new Set(lines.filter(({ at }) => at >= from).map(({ text }) => JSON.parse(text).subject))
          expect(new Set(tally.summary(from, ['client']).rows.map(({ values }) => values.client))).toEqual(seen)
        },
      ),
      { numRuns: runs(150, 1000) },
    )
  })

  it('name a caller whose limit is a day’s within a minute, again and again', () => {
    const one = { afterMs: 1000, instance: 0, caller: 'a', tier: 'free', policy: 'per-day', route: 'GET /a' } as const
    const { lines, end } = history(Array.from({ length: 600 }, () => one))
    const tally = new Tally()
    tally.add(newsOf(lines))
    expect(tally.summary(end - 120_000, ['client']).denials).toBeGreaterThanOrEqual(60)
  })

  it('count what a line of an older version stands for as one, since nothing says when the others were', () => {
    const line = { event: 'request_denied', subject: 'client~a', leftOut: 500, denials: 501 }
    const tally = new Tally()
    tally.add({ denials: [denialOf(line, T)!], others: [], completeFrom: Infinity })
    expect(tally.summary(T - 1000, ['client'])).toMatchObject({ denials: 1, isLowerBound: true })
  })

  it('count what lines left out only if it was within their time, requests of other callers as well', () => {
    const line = (ago: number, more: object) => ({ event: 'request_denied', subject: 'client~a', at: T - ago, ...more })
    const lines = [
      line(9000, { othersLeftOut: 3 }),
      line(8000, { othersLeftOut: 4, leftOut: 5, since: T - 9000 }),
      line(7000, { leftOut: 5, since: T + 1e9 }), // a clock that is wrong
      line(6000, { leftOut: -5, since: T - 7000, othersLeftOut: 'x' }),
      line(5000, { leftOut: 1e300, since: T - 6000, othersLeftOut: -1 }),
      line(1000, { event: 'limit_nearing', leftOut: 7, othersLeftOut: 7, since: T - 2000 }),
    ]
    const tally = new Tally()
    tally.add(newsOf(lines.map((one) => ({ at: one.at, text: JSON.stringify(one) }))))
    const at = (ago: number) => tally.summary(T - ago, ['client'])
    expect([at(9000), at(8000), at(7000)]).toMatchObject([
      { denials: 10, notLogged: 7 },
      { denials: 4, notLogged: 4 },
      { denials: 3, notLogged: 0 },
    ])
  })

  it('are of as many lines as a log has at once', () => {
    const tally = new Tally(1000)
    const denial = denialOf({ event: 'request_denied', subject: 'client~a' }, T)!
    tally.add({ denials: new Array<Denial>(300_000).fill(denial), others: [], completeFrom: Infinity })
    expect(tally.summary(T, ['client'])).toMatchObject({ denials: 1000, isLowerBound: true })
  })

  it('are lower bounds once lines were given up for want of room', () => {
    const tally = new Tally(2)
    const denial = (at: number) => denialOf({ event: 'request_denied', subject: 'client~a' }, at)!
    tally.add({ denials: [T + 2, T, T + 1].map(denial), others: [], completeFrom: 0 })
    expect(tally.summary(T, ['client'])).toMatchObject({ denials: 2, isLowerBound: true })
    expect(tally.summary(T + 1, ['client'])).toMatchObject({ denials: 2, isLowerBound: false })
  })
})

describe('a log', () => {
  it('tells each line once, however late it can be read, on however many pages it comes', async () => {
    let now = T
    const logs = await fakeLogs(() => now)
    const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' }
    const client = new DynamoDBClient({ region: 'eu-central-1', credentials })
    const line = fc.record({ at: fc.integer({ min: 0, max: 300_000 }), lateMs: fc.integer({ min: 0, max: 119_000 }) })
    const reads = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 8 })
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(line, { maxLength: 12 }), reads, async (lines, pauses) => {
          now = T
          const text = JSON.stringify({ event: 'request_denied', subject: 'client~a', othersLeftOut: 1 })
          logs.lines.splice(0)
          for (const [i, { at, lateMs }] of lines.entries())
            logs.lines.push({ id: `${i}`, at: T + at, readableAt: T + at + lateMs, text: `${text} ` })
          const source = new LogSource('group', { client, endpoint: logs.url, clock: () => now, tell: () => {} })
          const told: number[] = []
          let others = 0
          for (const ms of pauses) {
            now += ms
            if (ms % 7 === 0) logs.failures.push({ status: 400, type: 'AccessDeniedException' })
            const news = await source.read(T, NEVER).catch(() => undefined)
            told.push(...(news?.denials ?? []).map(({ at }) => at))
            others += news?.others.length ?? 0
          }
          logs.failures.splice(0)
          now += 1
          const last = await source.read(T, NEVER)
          told.push(...last.denials.map(({ at }) => at))
          const readable = logs.lines.filter(({ readableAt }) => readableAt <= now).map(({ at }) => at)
          expect(told.sort((a, b) => a - b)).toEqual(readable.sort((a, b) => a - b))
          expect(others + last.others.length).toBe(readable.length)
        }),
        { numRuns: runs(20, 200) },
      )
    } finally {
      client.destroy()
      await logs.close()
    }
  })
})
