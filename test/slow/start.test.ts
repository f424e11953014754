import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import { freePort } from '../../local/engines/free-port'

const ROOT = join(__dirname, '..', '..')
const ENGINES = dynoxideBinary() === undefined ? ['dynalite'] : ['dynoxide', 'dynalite']
const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** `npm start` without npm. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'sluice.js'), 'dev', ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder, ...env },
  })
  children.push(child)
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  const exit = once(child, 'close').then(([code, signal]) => code ?? signal)
  const ready = async () => {
    while (!said.out.includes('Ctrl-C')) {
      if (child.exitCode !== null) throw new Error(`exit code ${child.exitCode}: ${said.err}`)
      await sleep(20)
    }
    return /^Sluice is listening on (http:\/\/localhost:\d+)$/m.exec(said.out)?.[1] as string
  }
  return { child, said, exit, ready }
}

describe.each(ENGINES)('started on %s', (engine) => {
  test('says once that it is ready, serves, denies, and stops when told to', async () => {
    const { child, said, exit, ready } = start(['--port', '0', '--engine', engine])
    const url = await ready()
    expect(said.out.match(/Sluice is listening/g)).toHaveLength(1)
    for (const word of [
      'demo-free-key',
      'demo-pro-key',
      'demo-enterprise-key',
      engine,
      'sluice-state',
      'sluice-config',
    ]) {
      expect(said.out).toContain(word)
    }

    const first = await fetch(`${url}/hello`)
    expect([first.status, first.headers.get('x-ratelimit-limit'), first.headers.get('x-ratelimit-remaining')]).toEqual([
      200,
      '20',
      '19',
    ])
    const { allowed, denied } = await untilDenied(url)
    expect(denied).toBe(429)
    expect((await fetch(`${url}/hello`, { headers: { 'X-Api-Key': 'demo-pro-key' } })).status).toBe(200)
    const calls = allowed + 2
    expect(await (await fetch(`${url}/_local/backend-calls`)).json()).toEqual({
      total: calls,
      routes: { 'GET /hello': calls },
    })

    const engineUrl = /at (http:\S+),/.exec(said.out)?.[1] as string
    const family = descendants(child.pid as number)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    expect(said.err).toBe('')
    await expect(fetch(engineUrl)).rejects.toThrow()
    expect(family.filter(isRunning)).toEqual([])
    expect(readdirSync(folder).filter((name) => name.startsWith('sluice-'))).toEqual([])
  })
})

test.each(['rest', 'http'])('settles and counts what runs, on an API of kind %s', async (api) => {
  const { child, exit, ready } = start(['--port', '0', '--api', api])
  const url = await ready()
  const chat = (query: string) =>
    fetch(`${url}/chat?${query}`, { method: 'POST', headers: { 'X-Api-Key': 'demo-pro-key' } })
  const left = async () =>
    Number(/"tokens-per-minute";r=(\d+)/.exec((await chat('tokens=0')).headers.get('ratelimit')!)![1])
  const before = await left()
  for (const tokens of [812, 100, 0]) expect((await chat(`tokens=${tokens}`)).status).toBe(200)
  const used = before - (await left())
  expect([used > 850, used <= 912]).toEqual([true, true]) // some of it has come free again
  const running = await Promise.all(Array.from({ length: 5 }, () => chat('seconds=2')))
  expect(running.map(({ status }) => status).sort()).toEqual([
    200,
    200,
    200,
    ...(api === 'rest' ? [429, 429] : [403, 403]),
  ])
  expect((await chat('tokens=1')).status).toBe(200)
  child.kill('SIGINT')
  expect(await exit).toBe(0)
})

test('an HTTP API denies with 403', async () => {
  const { child, exit, ready } = start(['--port', '0', '--api', 'http', '--instances', '1'])
  const url = await ready()
  expect((await untilDenied(url)).denied).toBe(403)
  child.kill('SIGINT')
  expect(await exit).toBe(0)
})

test('the engine does not outlive a start that is killed', async () => {
  const { child, said, exit, ready } = start(['--port', '0'])
  await ready()
  const engineUrl = /at (http:\S+),/.exec(said.out)?.[1] as string
  child.kill('SIGKILL')
  await exit
  await expect(
    (async () => {
      for (let i = 0; i < 200; i++) {
        await fetch(engineUrl)
        await sleep(20)
      }
    })(),
  ).rejects.toThrow()
})

test('a taken port is one line that says so and how to choose another', async () => {
  const port = await freePort()
  const squatter = createServer().listen(port)
  await once(squatter, 'listening')
  const { said, exit } = start([], { PORT: String(port) })
  expect(await exit).toBe(1)
  expect(said).toEqual({ out: '', err: `port ${port} is taken: choose another with --port\n` })
  squatter.close()
})

test('a mistake in the options is one line', async () => {
  const { said, exit } = start(['--engine', 'mysql'])
  expect(await exit).toBe(1)
  expect(said.out).toBe('')
  expect(said.err).toMatch(/^error: option '--engine <name>' argument 'mysql' is invalid\. .*dynoxide, dynalite/)
})

test('--help tells the options', async () => {
  const { said, exit } = start(['--help'])
  expect(await exit).toBe(0)
  expect(said.out).toContain('--engine <name>')
})

/** Asks as an anonymous caller, whom 20 a minute are granted, and at the turn of a minute one more. */
async function untilDenied(url: string) {
  for (let allowed = 0; allowed <= 21; allowed++) {
    const { status } = await fetch(`${url}/hello`)
    if (status !== 200) return { allowed, denied: status }
  }
  throw new Error('never denied')
}

/** Process ids of children and theirs. */
function descendants(pid: number): number[] {
  const children = processes().filter(({ parent }) => parent === pid)
  return children.flatMap((child) => [child.pid, ...descendants(child.pid)])
}

function isRunning(pid: number): boolean {
  return processes().some((process) => process.pid === pid)
}

/** All but zombies, which have ended and are only remembered by a parent. */
function processes(): { pid: number; parent: number }[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => !state?.startsWith('Z'))
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }))
}
