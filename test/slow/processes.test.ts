import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { createLimiter, type Decision, DynamoDbStore, type PolicyInput, type Standing } from '../../limiter'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { type OpenEngine, openOn, TABLE } from '../stores'
import type { Job, Tally } from './contender'

const PROCESSES = 8
const REQUESTS_EACH = 1000

/**
 * A window so long that nothing comes back while the test runs, however slow the machine: exactly the limit is the
 * right answer.
 */
const WINDOW = '365d'
const WINDOW_MS = 365 * 86_400_000
const LIMIT = 700

/** Which of the admitted requests it was, from 1, by what it was told. */
type Place = (told: Standing) => number
const byRemaining: Place = ({ limit, remaining }) => limit - remaining
/** A pace gives a little back all the time: `remaining` rounds that away, the time until all is back does not. */
const byReset: Place = ({ limit, resetAfterMs }) => Math.round(resetAfterMs / (WINDOW_MS / limit))

const policy = (rest: Partial<PolicyInput>): PolicyInput => ({
  name: 'per-year',
  limit: LIMIT,
  window: WINDOW,
  ...rest,
})

const CASES: readonly { readonly name: string; readonly policies: readonly PolicyInput[]; readonly place: Place }[] = [
  { name: 'fixed-window', policies: [policy({ algorithm: 'fixed-window' })], place: byRemaining },
  { name: 'anchored-window', policies: [policy({ algorithm: 'anchored-window' })], place: byRemaining },
  { name: 'sliding-window', policies: [policy({ algorithm: 'sliding-window' })], place: byRemaining },
  { name: 'sliding-buckets', policies: [policy({ algorithm: 'sliding-buckets' })], place: byRemaining },
  { name: 'sliding-log', policies: [policy({ algorithm: 'sliding-log' })], place: byRemaining },
  { name: 'token-bucket greedy', policies: [policy({ algorithm: 'token-bucket', refill: 'greedy' })], place: byReset },
  {
    name: 'token-bucket interval',
    policies: [policy({ algorithm: 'token-bucket', refill: 'interval' })],
    place: byRemaining,
  },
  { name: 'leaky-bucket meter', policies: [policy({ algorithm: 'leaky-bucket', mode: 'meter' })], place: byReset },
  { name: 'leaky-bucket queue', policies: [policy({ algorithm: 'leaky-bucket', mode: 'queue' })], place: byReset },
  { name: 'gcra', policies: [policy({ algorithm: 'gcra' })], place: byReset },
  {
    name: 'four policies',
    policies: [
      policy({ algorithm: 'sliding-window' }),
      policy({ name: 'roomy', algorithm: 'fixed-window', limit: 5000 }),
      policy({ name: 'wide', algorithm: 'anchored-window', limit: 900 }),
      policy({ name: 'close', algorithm: 'token-bucket', refill: 'interval', limit: LIMIT + 1 }),
    ],
    place: byRemaining,
  },
]

/** How many requests each process has under way. */
const LOADS = { 'one request at a time': 1, 'twenty requests at a time': 20 }

const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  dynoxide: () => startEngine({ engine: 'dynoxide' }),
  'DynamoDB Local': startDynamoDbLocal,
}

describe(`${PROCESSES} processes with ${REQUESTS_EACH} requests each for one subject get exactly the limit`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-processes-'))
  let processes: ChildProcess[] = []

  beforeAll(async () => {
    const bundle = join(folder, 'contender.js')
    await build({
      entryPoints: [join(__dirname, 'contender.ts')],
      bundle: true,
      platform: 'node',
      outfile: bundle,
      logLevel: 'error',
    })
    processes = Array.from({ length: PROCESSES }, () => fork(bundle, { serialization: 'advanced', execArgv: [] }))
    await Promise.all(processes.map((child) => once(child, 'message')))
  })
  afterAll(() => {
    for (const child of processes) child.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [engine, start] of Object.entries(ENGINES)) {
    for (const [load, lanes] of Object.entries(LOADS)) {
      describe(`on ${engine}, ${load}`, () => {
        let opened: OpenEngine
        const calls: string[] = []
        beforeAll(async () => {
          opened = await openOn(await start())
        })
        afterAll(async () => {
          process.stdout.write(
            `# calls for ${LIMIT} admitted and the rest denied, ${engine}, ${load}: ${calls.join(', ')}\n`,
          )
          await opened?.close()
        })

        it.each(CASES)('$name', async ({ name, policies, place }) => {
          const job: Job = {
            endpoint: opened.endpoint,
            tableName: TABLE,
            subject: name,
            policies,
            requests: REQUESTS_EACH,
            lanes,
          }
          const tallies = await Promise.all(processes.map((child) => run(child, job)))
          calls.push(`${name} ${sum(tallies.map((tally) => tally.calls))}`)

          const admitted = tallies.flatMap((tally) => tally.admitted)
          expect(tallies.flatMap((tally) => tally.failures)).toEqual([])
          expect(admitted).toHaveLength(LIMIT)
          expect(sum(tallies.map((tally) => tally.denied))).toBe(PROCESSES * REQUESTS_EACH - LIMIT)

          const places = admitted.map((told) => place(told['per-year']!)).sort((a, b) => a - b)
          expect(places).toEqual(Array.from({ length: LIMIT }, (_, i) => i + 1))

          const left = Object.fromEntries(policies.map((each) => [each.name, each.limit - LIMIT]))
          expect(remaining(await stranger(opened, policies).peek(name))).toEqual(left)
        })

        it.each([
          ['less', 2],
          ['more', 9],
        ])('reservations that all processes settle to %s at once are settled by one each', async (which, used) => {
          const tokens = policy({ algorithm: 'fixed-window', limit: 100_000, cost: 'tokens' })
          const subject = `settled ${which} ${load}`
          const own = stranger(opened, [tokens])
          const reservations = await Promise.all(
            Array.from({ length: 60 }, async () => {
              const { reservation } = await own.take(subject, { costs: { tokens: 5 }, reserve: '1h' })
              return reservation!
            }),
          )
          const job: Job = {
            endpoint: opened.endpoint,
            tableName: TABLE,
            subject: `${subject} beside`,
            policies: [tokens],
            requests: 0,
            lanes,
            settle: { reservations, used },
          }
          const tallies = await Promise.all(processes.map((child) => run(child, job)))
          expect(tallies.flatMap((tally) => tally.failures)).toEqual([])
          expect(sum(tallies.map((tally) => tally.settled))).toBe(60)
          expect(remaining(await stranger(opened, [tokens]).peek(subject, { cost: 0 }))).toEqual({
            'per-year': 100_000 - 60 * used,
          })
        })

        it('never more run at once than the limit, and all slots are free in the end', async () => {
          const policies = [{ name: 'running', algorithm: 'concurrency', limit: 3, timeout: '24h' }] as const
          const subject = `running ${load}`
          const job: Job = {
            endpoint: opened.endpoint,
            tableName: TABLE,
            subject,
            policies,
            requests: REQUESTS_EACH,
            lanes,
            runMs: 3,
          }
          const tallies = await Promise.all(processes.map((child) => run(child, job)))
          expect(tallies.flatMap((tally) => tally.failures)).toEqual([])
          const ran = tallies.flatMap((tally) => tally.ran)
          expect(ran.length).toBeGreaterThanOrEqual(3) // all requests may come before the first of them ends
          calls.push(`running ${sum(tallies.map((tally) => tally.calls))} for ${ran.length}`)
          const atOnce = ran.map(([at]) => ran.filter(([from, to]) => from <= at && at < to).length)
          expect(Math.max(...atOnce)).toBeLessThanOrEqual(3)
          const one = createLimiter({
            store: new DynamoDbStore({ client: opened.client, tableName: TABLE }),
            policies,
            deadlineMs: 60_000,
          })
          expect(await one.peek(subject, { cost: 0 })).toMatchObject({ remaining: 3 })
        })

        it('leased: never more than the limit, and nearly all of it', async () => {
          const policies = [policy({ algorithm: 'fixed-window', consistency: 'leased' })]
          const job: Job = {
            endpoint: opened.endpoint,
            tableName: TABLE,
            subject: 'leased',
            policies,
            requests: REQUESTS_EACH,
            lanes,
          }
          const tallies = await Promise.all(processes.map((child) => run(child, job)))
          calls.push(`leased ${sum(tallies.map((tally) => tally.calls))}`)

          const admitted = tallies.flatMap((tally) => tally.admitted).length
          expect(tallies.flatMap((tally) => tally.failures)).toEqual([])
          expect(admitted).toBeLessThanOrEqual(LIMIT)
          expect(admitted).toBeGreaterThanOrEqual(0.9 * LIMIT)
          expect(admitted + sum(tallies.map((tally) => tally.denied))).toBe(PROCESSES * REQUESTS_EACH)
          expect(remaining(await stranger(opened, policies).peek('leased'))['per-year']).toBeLessThanOrEqual(
            LIMIT - admitted,
          ) // charged before they are used
        })
      })
    }
  }
})

/** A limiter that has seen nothing of the subject yet. */
const stranger = ({ store }: OpenEngine, policies: readonly PolicyInput[]) =>
  createLimiter({ store, policies, deadlineMs: 120_000, onStoreError: 'throw' })

const remaining = ({ policies }: Decision) =>
  Object.fromEntries(Object.entries(policies).map(([name, told]) => [name, told.remaining]))

async function run(child: ChildProcess, job: Job): Promise<Tally> {
  const over = new AbortController()
  const died = once(child, 'exit', { signal: over.signal }).then(([code]) => {
    throw new Error(`a process ended with ${code}`)
  })
  child.send(job)
  try {
    const [tally] = await Promise.race([once(child, 'message', { signal: over.signal }), died])
    return tally
  } finally {
    over.abort()
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
