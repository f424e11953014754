import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'
import { startEngine } from '../../local/engines/start-engine'
import { AuthorizerProcess } from '../faults/authorizer-process'
import type { Told } from '../faults/instance'
import type { Lease, Spent } from '../faults/lessee-child'
import { forgetfulDynoxide, lastingDynamoDbLocal, lastingDynoxide, type MortalEngine } from '../faults/mortal-engine'
import type { FaultyDynamoDb } from '../faults/proxy'
import { isReal, timed } from '../faults/trial'
import { DEADLINE_MS, LIMIT, TABLES, World } from '../faults/world'

/** What a busy machine may add to a decision's time; the matrix of faults holds the 20 ms. */
const SLACK_MS = 150
/**
 * An engine is back, and real decisions have to be within this time: the circuit breaker asks again after 45 s at the
 * latest.
 */
const BACK_WITHIN_MS = 90_000

const ENGINES: Readonly<Record<string, () => Promise<MortalEngine>>> = {
  'dynoxide, in memory': forgetfulDynoxide,
  'dynoxide, with a file': lastingDynoxide,
  'DynamoDB Local, with a file': lastingDynamoDbLocal,
}

describe.each(Object.entries(ENGINES))('%s is killed under load, and comes back', (_, start) => {
  let engine: MortalEngine
  let world: World
  beforeAll(async () => {
    engine = await start()
    world = await World.open(engine)
  })
  afterAll(async () => world?.close())

  it('decides in time and says that it guesses meanwhile, and counts on where the tables are back', async () => {
    const instance = world.instance()
    /** What each address was really granted. */
    const granted = new Map<string, number>()
    const unsure = new Map<string, number>()
    const pool = Array.from({ length: 200 }, () => world.address())
    const problems: string[] = []
    let phase: 'before' | 'away' | 'back' = 'before'
    const seen = { before: 0, away: 0, back: 0 }
    let running = true
    await instance.ask({ ip: world.address() }) // whose deadline is the longer one

    const lane = async (offset: number) => {
      for (let i = offset; running; i++) {
        const ip = pool[i % pool.length]!
        const asked = phase
        const { told, thrown, overrunMs } = await timed(DEADLINE_MS, () => instance.ask({ ip }))
        if (!told) problems.push(`${asked}: the handler threw ${thrown}`)
        else note(ip, asked, told)
        if (overrunMs() > SLACK_MS) problems.push(`${asked}: ${Math.round(overrunMs())} ms after the deadline`)
        await sleep(20)
      }
    }
    const note = (ip: string, asked: typeof phase, told: Told) => {
      if (isReal(told)) {
        if (!told.allowed) return // that can be known without asking
        seen[asked]++
        granted.set(ip, (granted.get(ip) ?? 0) + 1)
      } else {
        if (!told.degraded) problems.push(`${asked}: ${told.reason}, and not marked`)
        unsure.set(ip, (unsure.get(ip) ?? 0) + 1)
      }
    }

    const lanes = Array.from({ length: 4 }, (_, i) => lane(i * 50))
    await sleep(700)
    await engine.kill()
    phase = 'away'
    await sleep(1500)
    phase = 'back'
    await engine.revive()
    if (!engine.remembers) {
      await sleep(500) // an engine that has lost its tables: still no exception, still marked
      await world.createTables()
    }
    const giveUpAt = performance.now() + BACK_WITHIN_MS
    while (seen.back < 20 && performance.now() < giveUpAt) await sleep(50)
    running = false
    await Promise.all(lanes)

    expect(problems).toEqual([])
    expect(seen.before).toBeGreaterThan(10)
    expect(seen.away).toBe(0)
    expect(seen.back).toBeGreaterThanOrEqual(20)
    // a table that is new is a quota that is whole
    for (const count of granted.values()) expect(count).toBeLessThanOrEqual(engine.remembers ? LIMIT : 2 * LIMIT)
    for (const ip of engine.remembers ? pool : []) {
      const charged = await world.charged(ip)
      expect(charged).toBeGreaterThanOrEqual(granted.get(ip) ?? 0) // what was acknowledged is on record
      expect(charged).toBeLessThanOrEqual((granted.get(ip) ?? 0) + (unsure.get(ip) ?? 0))
    }
  })
})

describe('an instance that Lambda freezes between invocations', () => {
  let world: World
  let table: FaultyDynamoDb
  let endpoint: string
  let instance: AuthorizerProcess | undefined
  beforeAll(async () => {
    world = await World.open(await startEngine({}))
    ;({ table, endpoint } = await world.table(false))
  })
  afterEach(() => instance?.stop())
  afterAll(async () => {
    await table?.close()
    await world?.close()
  })

  /** An instance with so many connections to the table. @param more what it is told beside where the tables are. */
  const warm = async (connections: number, more: Readonly<Record<string, string>> = {}) => {
    const direct = `http://127.0.0.1:${new URL(endpoint).port}` // this process's network does not reach into that one
    instance = await AuthorizerProcess.start(world.bundleFile, world.folder, { ...world.environment(direct), ...more })
    await instance.ask({ ip: world.address() })
    const { told } = await instance.ask(...Array.from({ length: connections }, () => ({ ip: world.address() })))
    expect(told.every(isReal)).toBe(true)
    return instance
  }

  /** Freezes it, lets something happen to its connections, and wakes it up with a request. */
  const asleep = async (frozen: AuthorizerProcess, meanwhile: () => unknown, ip: string) => {
    frozen.freeze()
    await sleep(50)
    await meanwhile()
    await sleep(1000)
    const answered = frozen.ask({ ip })
    frozen.thaw()
    return answered
  }

  const HAPPENINGS: readonly [string, number, () => unknown][] = [
    ['has closed its idle connection', 1, () => table.hangUp()],
    ['has closed its idle connections', 5, () => table.hangUp()],
    ['has reset its connections', 5, () => table.resetConnections()],
    ['no longer knows of its connection, and never answers on it', 1, () => table.forgetConnections()],
  ]
  it.each(HAPPENINGS)(
    'decides for real, and in time, when DynamoDB %s (of %i)',
    async (_happening, connections, happen) => {
      const frozen = await warm(connections)
      const ip = world.address()
      const { told, ms, thrown } = await asleep(frozen, happen, ip)
      expect(thrown).toBeUndefined()
      expect(told).toMatchObject([{ allowed: true, degraded: false, remaining: LIMIT - 1 }])
      expect(ms).toBeLessThan(DEADLINE_MS + SLACK_MS)
      expect(await world.charged(ip)).toBe(1)
    },
  )

  it('decides for real with its configuration grown old, and timers and a reading of it that were under way', async () => {
    const frozen = await warm(2, { SLUICE_CONFIG_TTL_MS: '1' }) // every request reads again, in the background
    for (let round = 0; round < 3; round++) {
      const ip = world.address()
      const { told, ms, thrown } = await asleep(frozen, round === 1 ? () => table.resetConnections() : () => {}, ip)
      expect(thrown).toBeUndefined()
      expect(told).toMatchObject([{ allowed: true, degraded: false, remaining: LIMIT - 1, tier: 'anonymous' }])
      expect(ms).toBeLessThan(DEADLINE_MS + SLACK_MS)
    }
  })

  it('knows a denial from before, and admits nothing more', async () => {
    const frozen = await warm(1)
    const ip = world.address()
    await frozen.ask(...Array.from({ length: LIMIT }, () => ({ ip })))
    const { told } = await asleep(frozen, () => table.resetConnections(), ip)
    expect(told).toMatchObject([{ allowed: false, degraded: false, reason: 'over-limit' }])
    expect(await world.charged(ip)).toBe(LIMIT)
  })
})

describe('a process that is stopped for 3 s in the middle of a window, and goes on', () => {
  const WINDOW_MS = 1000
  const PER_WINDOW = 400
  const FOR_MS = 7000
  let world: World
  beforeAll(async () => {
    world = await World.open(await startEngine({}))
  })
  afterAll(async () => world?.close())

  it('spends nothing that it had leased in a window that has passed', async () => {
    const outfile = join(world.folder, 'lessee-child.js')
    const entry = join(__dirname, '..', 'faults', 'lessee-child.ts')
    await build({ entryPoints: [entry], bundle: true, platform: 'node', outfile, logLevel: 'error' })
    const processes = Array.from({ length: 4 }, () => fork(outfile, { serialization: 'advanced', execArgv: [] }))
    try {
      await Promise.all(processes.map((child) => once(child, 'message')))
      const lease: Lease = {
        endpoint: world.endpoint,
        tableName: TABLES.state,
        policies: [{ name: 'all', algorithm: 'fixed-window', limit: PER_WINDOW, window: '1s', consistency: 'leased' }],
        forMs: FOR_MS,
      }
      const spending = processes.map(async (child) => {
        const spent = once(child, 'message')
        child.send(lease)
        return (await spent)[0] as Spent
      })
      const [stopped] = processes
      // it has leased, and a window is half over
      await sleep(1500 + WINDOW_MS / 2 - ((Date.now() + 1500) % WINDOW_MS) + WINDOW_MS)
      stopped!.kill('SIGSTOP')
      const stoppedAt = Date.now()
      await sleep(3000)
      stopped!.kill('SIGCONT')
      const continuedAt = Date.now()
      const tallies = await Promise.all(spending)

      expect(tallies.flatMap(({ failures }) => failures)).toEqual([])
      const inWindow = new Map<number, number>()
      for (const [from, to] of tallies.flatMap(({ admitted }) => admitted)) {
        const window = Math.floor(from / WINDOW_MS)
        if (Math.floor(to / WINDOW_MS) === window) inWindow.set(window, (inWindow.get(window) ?? 0) + 1)
      }
      for (const count of inWindow.values()) expect(count).toBeLessThanOrEqual(PER_WINDOW)
      expect(Math.max(...inWindow.values())).toBeGreaterThan(PER_WINDOW / 2) // they did ask for more than there was
      const [ofStopped] = tallies
      expect(ofStopped!.admitted.some(([from, to]) => from > stoppedAt + 50 && to < continuedAt - 50)).toBe(false)
      // and it goes on with units that are new
      expect(ofStopped!.admitted.some(([from]) => from > continuedAt)).toBe(true)
    } finally {
      for (const child of processes) child.kill('SIGKILL')
    }
  })
})
