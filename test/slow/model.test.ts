import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildSync } from 'esbuild'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { OLD, oldStoreOn } from '../compatibility/old-library'
import { rolling } from '../compatibility/rolling-scenarios'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { crowdedScenarios, holdingScenarios, scenarios } from '../model/generate'
import { rawClient } from '../model/raw-client'
import { runScenarios, seedAfter } from '../model/run'
import { NEW } from '../model/simulation'
import { openOn, TABLE } from '../stores'

const MINUTE = 60_000
/**
 * On a machine so slow that there is no time for all, fewer are run, and the output says how many; fewer than
 * this part of them is a failure.
 */
const MIN_SHARE = 0.02

/** Histories in memory: as many of these 120,000 as there is time for, run in portions. */
const IN_MEMORY = [
  { kind: 'crowded', seed: 7, count: 1000, portion: 500 },
  { kind: 'costs', seed: 5, count: 10_000, portion: 1000 },
  { kind: 'holding', seed: 9, count: 10_000, portion: 1000 },
  { kind: 'rolling', seed: 4, count: 10_000, portion: 1000 },
  { kind: 'looser', seed: 3, count: 20_000, portion: 1000 },
  { kind: 'strict', seed: 2, count: 69_000, portion: 1500 },
]
const IN_MEMORY_MS = 1.25 * MINUTE
const CORES = 2

/** What `npm run model` runs. Several processes use it at once. */
const ROOT = join(__dirname, '..', '..')
const PROGRAM = join(ROOT, 'reports', 'model-test.js')
beforeAll(() => {
  const options = { bundle: true, platform: 'node', packages: 'external', logLevel: 'error' } as const
  buildSync({ entryPoints: [join(ROOT, 'test', 'model', 'main.ts')], outfile: PROGRAM, ...options })
})

describe('every law holds in every history', () => {
  it(
    'in memory',
    async () => {
      const endsAt = performance.now() + IN_MEMORY_MS
      const counts = new Map<string, number>()
      const waiting = inTurn()
      const runSome = async () => {
        for (let portion = waiting.shift(); portion; portion = waiting.shift()) {
          const leftMs = endsAt - performance.now()
          const count = leftMs > 0 ? await runApart({ ...portion, minutes: leftMs / MINUTE }) : 0
          counts.set(portion.kind, (counts.get(portion.kind) ?? 0) + count)
        }
      }
      await Promise.all(Array.from({ length: CORES }, runSome))
      for (const [kind, count] of counts)
        process.stdout.write(`# ${count} ${kind} histories in memory: every law holds\n`)
      for (const { kind, count } of IN_MEMORY)
        expect([kind, counts.get(kind)! >= MIN_SHARE * count]).toEqual([kind, true])
    },
    IN_MEMORY_MS + 4 * MINUTE,
  )
})

/**
 * All portions, those of each kind spread over the whole time; together they are the scenarios that `npm run model`
 * runs with the kind's seed.
 */
const inTurn = () =>
  IN_MEMORY.flatMap(({ kind, seed, count, portion }) =>
    Array.from({ length: count / portion }, (_, i) => ({
      after: i / (count / portion),
      options: { kind, count: portion, seed: seedAfter(seed, i * portion) },
    })),
  )
    .sort((one, other) => one.after - other.after)
    .map(({ options }) => options)

/**
 * Runs scenarios in a process of their own; fails with the one that breaks a law.
 *
 * @returns how many there was time for.
 */
async function runApart(options: Readonly<Record<string, string | number>>): Promise<number> {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { maxBuffer: 2 ** 24 })
  return Number.parseInt(stdout, 10)
}

const ENGINES: readonly [name: string, count: number, start: () => Promise<Engine>, isMissing: boolean][] = [
  ['dynoxide', 2000, () => startEngine({ engine: 'dynoxide' }), dynoxideBinary() === undefined],
  ['DynamoDB Local', 300, startDynamoDbLocal, false],
]

/** Of the histories on an engine, and of the time for them. */
const ON_ENGINES = [
  { what: 'strict policies', arbitrary: scenarios(), part: 0.7, seed: 5 },
  { what: 'units that are settled, and slots', arbitrary: holdingScenarios(), part: 0.1, seed: 9 },
  { what: 'a dozen to thirty policies on each subject', arbitrary: crowdedScenarios(), part: 0.05, seed: 8 },
  { what: 'old instances beside new ones', arbitrary: rolling(scenarios()), part: 0.15, seed: 6 },
]
const ON_ENGINE_MS = 0.5 * MINUTE

/**
 * On a busy machine, a third of the processes of DynamoDB Local confirm a write and find no item at the next consistent
 * read. Such a process says nothing of the limiter: the histories run on a new one, after so many at most.
 */
const MOST_STARTS = 5

for (const [name, count, start, isMissing] of ENGINES) {
  const group = isMissing ? describe.skip : describe
  group(`every law holds on ${name}`, () => {
    let engine: Awaited<ReturnType<typeof openOn>>
    let raw: ReturnType<typeof rawClient>
    let simulations = 0
    const open = async () => {
      engine = await openOn(await start())
      raw = rawClient(engine.endpoint)
    }
    const close = async () => {
      raw?.close()
      await engine?.close()
    }
    beforeAll(open, 2 * MINUTE)
    afterAll(close)
    const simulation = () => ({
      store: new DynamoDbStore({ client: raw.client, tableName: TABLE }),
      oldStore: oldStoreOn(raw.client, TABLE),
      libraries: { new: NEW, old: OLD },
      prefix: `${name}-${simulations++}-`,
    })

    it.each(ON_ENGINES)(
      'in every history of $what',
      async ({ what, arbitrary, part, seed }) => {
        const run = () =>
          runScenarios(part * count, {
            seed,
            simulation,
            arbitrary,
            endAfterMs: ON_ENGINE_MS * Math.max(part, 0.2),
            atOnce: 50,
          })
        const runOnNew = async (failure: unknown, starts: number): Promise<number> => {
          if (raw.lost.length === 0 || starts === 0) throw failure
          process.stdout.write(`# ${name} lost items that it had confirmed, and is started anew: ${raw.lost.join()}\n`)
          await close()
          await open()
          return run().catch((again) => runOnNew(again, starts - 1))
        }
        const done = await run().catch((failure) => runOnNew(failure, MOST_STARTS))
        process.stdout.write(`# ${done} histories of ${what} on ${name}: every law holds\n`)
        expect(done).toBeGreaterThanOrEqual(MIN_SHARE * part * count)
      },
      ON_ENGINE_MS + (2 + MOST_STARTS) * MINUTE,
    )
  })
}
