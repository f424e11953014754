import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { createStateTable } from '../../limiter/stores/state-table'
import { awsEnvironment, connect } from '../../local/dynamodb'
import { StartError } from '../../local/start-error'
import { createConfigTable } from '../../tiered/create-config-table'
import { eventOf } from '../authorizer-event'
import { startBenchEngine } from '../engine'
import { seeded } from '../random'
import { growth, type Health, healthNow, megabytes } from './health'
import { Ledger } from './ledger'
import { HELP, parseOptions } from './options'
import { type Sent, Traffic } from './traffic'

type Handler = (
  event: object,
) => Promise<{ readonly context: { readonly allowed: boolean; readonly degraded: boolean; readonly reason: string } }>

const TABLES = { SLUICE_STATE_TABLE: 'soak-state', SLUICE_CONFIG_TABLE: 'soak-config' } as const
/**
 * Requests that fill the bounded caches, such as the 10,000 unknown keys that an instance remembers. What grows after
 * them has no bound.
 */
const FILLING = 11_000
const TICK_MS = 10
/**
 * The share of decisions that may be made without the store, since a busy machine misses a deadline now and then.
 */
const MOST_DEGRADED = 0.02
/** The share of the time that is for warming up. */
const WARM_UP = 0.3

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) return void process.stdout.write(HELP)
  const engine = await startBenchEngine(options.engine)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'))
  try {
    const traffic = new Traffic(options.rate, seeded(1))
    await fill(engine.endpoint, traffic.items())
    Object.assign(process.env, awsEnvironment(), TABLES, { SLUICE_DYNAMODB_ENDPOINT: engine.endpoint })
    const { handler } = require(buildAuthorizerBundle(folder)) as { handler: Handler }
    const problems = await soak(handler, traffic, options.minutes * 60_000, options.rate)
    for (const problem of problems.slice(0, 50)) console.log(`FAILED  ${problem}`)
    console.log(problems.length === 0 ? 'no problems' : `${problems.length} problems`)
    if (problems.length > 0) process.exitCode = 1
  } finally {
    await engine.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(endpoint: string, items: readonly object[]): Promise<void> {
  const client = connect(endpoint)
  await createStateTable(client, TABLES.SLUICE_STATE_TABLE)
  await createConfigTable(client, TABLES.SLUICE_CONFIG_TABLE)
  const documents = DynamoDBDocumentClient.from(client)
  for (const item of items)
    await documents.send(new PutCommand({ TableName: TABLES.SLUICE_CONFIG_TABLE, Item: { ...item } }))
  client.destroy()
}

/** The counts of one interval. */
interface Interval {
  readonly latencies: number[]
  allowed: number
  denied: number
  degraded: number
}

/** Sends requests at a steady rate, whether answers come or not. @returns what was wrong. */
async function soak(handler: Handler, traffic: Traffic, totalMs: number, rate: number): Promise<string[]> {
  const ledger = new Ledger()
  const failures = new Map<string, number>()
  let interval: Interval = { latencies: [], allowed: 0, denied: 0, degraded: 0 }
  let inFlight = 0
  let degraded = 0
  let decided = 0

  const send = async (sent: Sent) => {
    inFlight++
    const [from, startedAt] = [Date.now(), performance.now()]
    try {
      const { context } = await handler(eventOf(sent.asked))
      interval.latencies.push(performance.now() - startedAt)
      ledger.note(sent, context, from, Date.now())
      decided++
      if (context.degraded) degraded++
      if (context.degraded) interval.degraded++
      else if (context.allowed) interval.allowed++
      else interval.denied++
      if (!['ok', 'over-limit'].includes(context.reason)) note(failures, `a ${sent.kind} request was ${context.reason}`)
    } catch (error) {
      note(failures, `the handler threw ${error}`)
    } finally {
      inFlight--
    }
  }

  const quietLog = silence()
  await fillUp(traffic, send)
  interval = { latencies: [], allowed: 0, denied: 0, degraded: 0 }
  decided = degraded = 0
  const since = Date.now()
  const beganAt = performance.now()
  const everyMs = Math.min(60_000, totalMs / 6)
  let sent = 0
  let settled: Health | undefined
  let latest = healthNow()
  let reportAt = everyMs
  console.log(' minute  requests  allowed  denied  degraded   p50 ms   p99 ms  heap MB   RSS MB  descriptors')
  for (;;) {
    const elapsed = performance.now() - beganAt
    if (elapsed >= reportAt || elapsed >= totalMs) {
      latest = healthNow()
      console.log(line(elapsed, interval, latest))
      interval = { latencies: [], allowed: 0, denied: 0, degraded: 0 }
      reportAt += everyMs
      if (elapsed >= totalMs * WARM_UP) settled ??= latest
      ledger.judge(Date.now(), since)
    }
    if (elapsed >= totalMs) break
    for (; sent < (elapsed / 1000) * rate; sent++) if (inFlight < rate) void send(traffic.next())
    await sleep(TICK_MS)
  }
  while (inFlight > 0) await sleep(TICK_MS)
  quietLog()

  const share = degraded / decided
  console.log(
    `${decided} decisions, ${degraded} without the store; ${ledger.judged} windows of counters, ${ledger.exact} used to the last unit`,
  )
  return [
    ...ledger.problems,
    ...[...failures].map(([failure, times]) => `${times} times ${failure}`),
    ...growth(settled!, latest),
    ...(share > MOST_DEGRADED ? [`${(share * 100).toFixed(2)} % of the decisions were made without the store`] : []),
    ...(ledger.judged === 0 ? ['no window was judged'] : []),
  ]
}

async function fillUp(traffic: Traffic, send: (sent: Sent) => Promise<void>): Promise<void> {
  let left = FILLING
  const lane = async () => {
    while (left-- > 0) await send(left % 4 === 0 ? traffic.next() : traffic.anonymous(left % 5))
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}

/**
 * The bundle's log and metrics, one JSON object to a line, would drown the report; what they say is looked for in the
 * answers.
 */
function silence(): () => void {
  const { stdout, stderr } = process
  const writes = [stdout.write.bind(stdout), stderr.write.bind(stderr)] as const
  const unlessJson = (write: (text: string) => boolean) => (text: string | Uint8Array) =>
    /^\{/.test(String(text)) || write(String(text))
  Object.assign(stdout, { write: unlessJson(writes[0]) })
  Object.assign(stderr, { write: unlessJson(writes[1]) })
  return () => {
    Object.assign(stdout, { write: writes[0] })
    Object.assign(stderr, { write: writes[1] })
  }
}

function line(
  elapsed: number,
  { latencies, allowed, denied, degraded }: Interval,
  { heap, rss, descriptors }: Health,
): string {
  latencies.sort((a, b) => a - b)
  const at = (share: number) =>
    (latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0).toFixed(2)
  const columns: readonly (readonly [string | number, number])[] = [
    [(elapsed / 60_000).toFixed(1), 7],
    [latencies.length, 10],
    [allowed, 9],
    [denied, 8],
    [degraded, 10],
    [at(0.5), 9],
    [at(0.99), 9],
    [megabytes(heap), 9],
    [megabytes(rss), 9],
    [descriptors ?? '?', 13],
  ]
  return columns.map(([value, width]) => String(value).padStart(width)).join('')
}

const note = (failures: Map<string, number>, failure: string) => failures.set(failure, (failures.get(failure) ?? 0) + 1)

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `soak: ${error.message}` : error)
  process.exitCode = 1
})
