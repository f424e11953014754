import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { PolicyInput } from '../../limiter'
import { startEngine } from '../../local/engines/start-engine'
import { mostWithin } from '../limiter/waiting-processes'
import { ENGINES, type OpenEngine, openOn, TABLE } from '../stores'
import type { CallerJob } from './caller'

/** What the partner allows in any four seconds; the policies have windows that are longer by the jitter. */
const LIMIT = 20
const WITHIN_MS = 4000
const JITTER_MS = 250
const WINDOW = `${WITHIN_MS + JITTER_MS}ms`
const LAG_MS = 200
const WAITING = 10

const policy = (algorithm: PolicyInput['algorithm'], more: object = {}): PolicyInput => ({
  name: 'per-4-seconds',
  algorithm: algorithm!,
  limit: LIMIT,
  window: WINDOW,
  ...more,
})

const CASES: readonly (readonly [string, PolicyInput])[] = [
  ['sliding-log', policy('sliding-log')],
  ['gcra', policy('gcra', { burst: 1 })],
  ['leaky-bucket as a queue', policy('leaky-bucket', { mode: 'queue', burst: 1 })],
]

describe('several processes that call a partner, on one table', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-outbound-'))
  const bundle = join(folder, 'caller.js')
  let engine: OpenEngine
  let partner: Server
  let arrivals: { readonly at: number; readonly process: number }[] = []

  beforeAll(async () => {
    await build({ entryPoints: [join(__dirname, 'caller.ts')], bundle: true, platform: 'node', outfile: bundle })
    partner = createServer((request, response) => {
      arrivals.push({ at: performance.now(), process: Number(request.url!.slice(1)) })
      response.end()
    }).listen(0, '127.0.0.1')
    await once(partner, 'listening')
  })

  beforeEach(async () => {
    arrivals = []
    engine = await openOn(await startEngine({ engine: ENGINES[0]! }))
  })
  afterEach(() => engine.close())
  afterAll(() => {
    partner.close()
    rmSync(folder, { recursive: true })
  })

  async function run(processes: number, one: PolicyInput, lagMs?: number) {
    const children = Array.from({ length: processes }, (): ChildProcess => fork(bundle))
    await Promise.all(children.map((child) => once(child, 'message')))
    const forMs = Math.ceil((45 * processes) / LIMIT) * WITHIN_MS
    const url = `http://127.0.0.1:${(partner.address() as AddressInfo).port}`
    const waits = await Promise.all(
      children.map(async (child, process): Promise<number[]> => {
        const { endpoint } = engine
        const job = {
          endpoint,
          tableName: TABLE,
          partner: url,
          process,
          policies: [one],
          waiting: WAITING,
          forMs,
          lagMs,
        }
        child.send(job satisfies CallerJob)
        const [its] = await once(child, 'message')
        child.disconnect()
        return its
      }),
    )
    const each = children.map((_, process) => arrivals.filter((arrival) => arrival.process === process).length)
    const result = {
      each,
      mostWithinWindow: mostWithin(
        arrivals.map(({ at }) => at),
        WITHIN_MS,
      ),
      used: arrivals.length / ((forMs / WITHIN_MS) * LIMIT),
      longestWaitMs: Math.round(Math.max(...waits.flat())),
    }
    process.stderr.write(`${one.algorithm} ${JSON.stringify(result)}\n`)
    return result
  }

  it.each(CASES)(
    `it sees no more than ${LIMIT} in any 4 s with lagMs ${LAG_MS} and ${JITTER_MS} ms of jitter: %s`,
    async (_, one) => {
      const processes = 3
      const { each, mostWithinWindow, used, longestWaitMs } = await run(processes, one, LAG_MS)
      expect(mostWithinWindow).toBeLessThanOrEqual(LIMIT)
      expect(used).toBeGreaterThanOrEqual(0.9)
      expect(Math.min(...each)).toBeGreaterThanOrEqual((0.5 * arrivals.length) / processes)
      expect(longestWaitMs).toBeLessThanOrEqual((4 * WAITING * processes * (WITHIN_MS + JITTER_MS)) / LIMIT)
    },
  )
})
