import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, MemoryStore } from '../../../limiter'
import { OwnTime } from '../../in-time'
import { sideBySide } from '../../side-by-side'
import { visit } from './client'
import { CASES, listen, type Way } from './servers'
import { type Job, Work } from './work'

/** What becomes of a request, and how its client takes part. */
interface Ending {
  readonly name: string
  readonly job: Job
  /** When the client leaves. @default it does not */
  readonly leaves?: 'before the first byte' | 'mid-stream'
}

const ENDINGS: readonly Ending[] = [
  { name: 'it is answered', job: { parts: 4 } },
  { name: 'it fails before its headers', job: { parts: 4, failsAt: 0 } },
  { name: 'it fails mid-stream', job: { parts: 4, failsAt: 3 } },
  { name: 'its client leaves before the first byte', job: { parts: 3, slowPart: 0 }, leaves: 'before the first byte' },
  { name: 'its client leaves mid-stream', job: { parts: 9, slowPart: 1 }, leaves: 'mid-stream' },
  { name: 'its client leaves, and then it fails', job: { parts: 9, slowPart: 1, failsAt: 1 }, leaves: 'mid-stream' },
]

/** Moments by `performance.now`. */
interface Outcome {
  readonly freeAt: number
  /** When the response was over. */
  readonly overAt: number | undefined
  readonly workEndedAt: number | undefined
  /** Milliseconds from the end that is seen until the slot was free. */
  readonly lateMs: number
}

const LIMIT = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1h' } as const
const folder = mkdtempSync(join(tmpdir(), 'slots-'))
const file = join(folder, 'file')
writeFileSync(file, Buffer.alloc(20_000_000))
afterAll(() => rmSync(folder, { recursive: true }))
beforeAll(() => {
  for (const method of ['error', 'info'] as const) jest.spyOn(console, method).mockImplementation(() => {})
})

async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await sleep(2)
}

describe.each(CASES)('%s, %s', (_framework, protocol, { ways, listener }) => {
  const started = async (job: Job) => {
    const work = new Work(job)
    const limiter = createLimiter({ store: new MemoryStore(), policies: [LIMIT], denialTtlMs: 0 })
    const app = await listener(() => work, { limiter, keyBy: () => 'a' }, file)
    const { port, overAt, server } = await listen(protocol, app)
    const isFree = async () => (await limiter.peek('a')).allowed
    return { work, port, overAt, server, isFree, limiter }
  }

  /** Whether an answer of this way can end so. */
  const applies = ({ name, isStreamed }: Way, { job, leaves }: Ending): boolean =>
    name === 'file'
      ? job.failsAt === undefined && leaves !== 'before the first byte'
      : isStreamed || (leaves !== 'mid-stream' && !(job.failsAt! > 0))

  const cases = ways.flatMap((way) =>
    ENDINGS.filter((ending) => applies(way, ending)).map((ending) => [way.name, ending.name, way, ending] as const),
  )

  let outcomes: readonly Promise<Outcome>[]
  beforeAll(() => {
    outcomes = sideBySide(cases, 8, async ([, , way, ending]) => {
      const { work, port, overAt, server, isFree } = await started(ending.job)
      const time = new OwnTime()
      const client = visit(protocol, port, `/${way.name}`)
      if (way.name !== 'file') await until(() => work.beganAt)
      if (ending.leaves === 'mid-stream') await client.begun
      if (ending.leaves) client.leave()
      else {
        await client.over
        await until(() => overAt.last)
      }
      await until(isFree)
      const freeAt = performance.now()
      const endedAt = Math.max(overAt.last!, way.isSeen ? work.endedAt! : 0)
      time.stop()
      server.close()
      return { freeAt, overAt: overAt.last, workEndedAt: work.endedAt, lateMs: time.between(endedAt, freeAt) }
    })
  })

  test.each(cases.map((one, i) => [...one, i] as const))(
    '%s: %s, and its slot is free within 100 ms after that is seen, not before',
    async (...[, , way, , i]) => {
      const { freeAt, overAt, workEndedAt, lateMs } = await outcomes[i]!
      if (way.isSeen) expect(workEndedAt).toBeLessThanOrEqual(freeAt)
      expect(overAt).toBeLessThanOrEqual(freeAt)
      expect(lateMs).toBeLessThan(100)
    },
  )
})
