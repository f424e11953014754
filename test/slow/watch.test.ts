import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { parseDocument } from 'yaml'

const ROOT = join(__dirname, '..', '..')
const KEY = { 'X-Api-Key': 'demo-pro-key' }

/**
 * How old a configuration gets, and time for one request of each instance and one reading of the table after that, in
 * milliseconds.
 */
const NOTICED_WITHIN_MS = 30_000 + 3000

/** Two requests a second, 120 a minute, where the tier `pro` has 600. */
const EVERY_MS = 500

/** One request as its sender saw it; times in milliseconds. */
interface Seen {
  readonly at: number
  readonly status: number
  readonly limit: number
  readonly tookMs: number
}

describe('a limit that is raised by the command line while requests come', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-watch-'))
  const file = join(folder, 'tiers.yaml')
  let npm: ChildProcess
  let [url, endpoint] = ['', '']

  const sluice = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(ROOT, 'bin', 'sluice.js'), ...args], { cwd: folder })

  async function ask(): Promise<Seen> {
    const at = performance.now()
    const answer = await fetch(`${url}/hello`, { headers: KEY })
    await answer.arrayBuffer()
    return {
      at,
      status: answer.status,
      limit: Number(answer.headers.get('x-ratelimit-limit')),
      tookMs: performance.now() - at,
    }
  }

  /** Asks at a steady pace, whatever else goes on, until it is told to end. */
  function keepAsking(seen: Seen[]): () => Promise<void> {
    let ended = false
    const asking = (async () => {
      while (!ended) {
        const one = await ask()
        seen.push(one)
        await sleep(Math.max(0, EVERY_MS - one.tookMs))
      }
    })()
    asking.catch(() => {}) // thrown when the asking ends
    return async () => {
      ended = true
      await asking
    }
  }

  beforeAll(async () => {
    npm = spawn('npm', ['start'], { cwd: ROOT, env: { ...process.env, PORT: '0' }, detached: true })
    let said = ''
    await new Promise<void>((resolve, reject) => {
      const listen = (chunk: Buffer) => {
        said += chunk
        if (said.includes('Ctrl-C')) resolve()
      }
      npm.stdout!.on('data', listen)
      npm.stderr!.on('data', listen)
      npm.once('exit', (code) => reject(new Error(`npm start ended with ${code}\n${said}`)))
    })
    url = /^Sluice is listening on (\S+)$/m.exec(said)![1]!
    endpoint = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0]
  }, 120_000)
  afterAll(() => {
    rmSync(folder, { recursive: true })
    try {
      process.kill(-npm.pid!, 'SIGTERM')
    } catch {} // it ended by itself, and the test says so
  })

  it('is seen by every instance within half a minute, and by nobody as a denied or a slow request', async () => {
    const before: Seen[] = []
    for (let i = 0; i < 20; i++) before.push(await ask())
    expect(new Set(before.map(({ limit }) => limit))).toEqual(new Set([600]))

    const seen: Seen[] = []
    const end = keepAsking(seen)
    writeFileSync(file, (await sluice('tiers', 'export', '--endpoint', endpoint)).stdout)
    const document = parseDocument(readFileSync(file, 'utf8'))
    expect(document.getIn(['tiers', 'pro', 'policies', 0, 'limit'])).toBe(600)
    document.setIn(['tiers', 'pro', 'policies', 0, 'limit'], 660)
    writeFileSync(file, document.toString())
    await sluice('tiers', 'apply', file, '--yes', '--endpoint', endpoint)
    const appliedAt = performance.now()
    await sleep(NOTICED_WITHIN_MS + 5000)
    await end()

    const after = seen.filter(({ at }) => at >= appliedAt)
    const firstNew = after.find(({ limit }) => limit === 660)
    const lastOld = after.findLast(({ limit }) => limit !== 660)
    expect(firstNew!.at - appliedAt).toBeLessThan(NOTICED_WITHIN_MS)
    expect(lastOld!.at - appliedAt).toBeLessThan(NOTICED_WITHIN_MS) // instances hear of it one by one
    expect(new Set(after.map(({ limit }) => limit))).toEqual(new Set([600, 660]))

    expect(seen.length).toBeGreaterThan(60)
    expect(new Set([...before, ...seen].map(({ status }) => status))).toEqual(new Set([200]))
    const slow = Math.max(250, 10 * median(before.map(({ tookMs }) => tookMs)))
    expect(seen.filter(({ tookMs }) => tookMs > slow)).toEqual([])
  })
})

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!
