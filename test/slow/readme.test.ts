import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import { minuteWith } from '../minute-with'

const ROOT = join(__dirname, '..', '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/** Every system runs the same without dynoxide and without a POSIX shell; where dynoxide runs, it needs no shell. */
const ENGINES = ['dynalite', ...(dynoxideBinary() === undefined ? [] : ['dynoxide'])]

const folder = mkdtempSync(join(tmpdir(), 'sluice-readme-'))
afterAll(() => rmSync(folder, { recursive: true }))

/**
 * Node and nothing else: by this path no shell and no program is found. On a busy machine, too, a decision is made with
 * the table.
 */
const NO_SHELL = {
  ...{ PATH: '/nowhere', HOME: folder, TMPDIR: folder },
  ...{ AWS_EC2_METADATA_DISABLED: 'true', SLUICE_DEADLINE_MS: '8000' },
}

/** Runs `node …`, without a shell. */
function node(...args: string[]) {
  const child = spawn(process.execPath, args, { cwd: ROOT, env: NO_SHELL })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  return { child, said, exit: once(child, 'close').then(([code]) => ({ code, ...said })) }
}

/** The commands of the README that need no AWS account, without `npx sluice`. */
const COMMANDS = [...README.matchAll(/npx sluice ((?:tiers|clients) [^`#\n]*)/g)].map(([, command]) => command!.trim())

it('npm start is one program with arguments, which every shell takes', () => {
  expect(README).toContain('npm ci && npm start\n')
  expect(scripts.start).toMatch(/^node [\w./ -]+$/)
})

describe.each(ENGINES)('what the README says to type, on %s and without a shell', (engine) => {
  let gateway: ChildProcess
  let url = ''
  let endpoint = ''

  beforeAll(async () => {
    const started = node(...scripts.start!.split(' ').slice(1), '--engine', engine, '--port', '0')
    gateway = started.child
    while (!started.said.out.includes('Ctrl-C stops it')) {
      if (gateway.exitCode !== null) throw new Error(started.said.err)
      await sleep(20)
    }
    url = /listening on (\S+)/.exec(started.said.out)![1]!
    endpoint = /^DynamoDB: \S+ at (\S+),/m.exec(started.said.out)![1]!
  }, 60_000)
  afterAll(async () => {
    const exited = once(gateway, 'exit')
    gateway.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    await expect(fetch(endpoint)).rejects.toThrow()
  })

  it('the first 20 requests are 200, then 429, and the backend gets no denied one', async () => {
    await minuteWith(10_000) // where one ends, a sliding window may admit a unit more
    const answers: Response[] = []
    for (let i = 0; i < 21; i++) answers.push(await fetch(`${url}/hello?${i}`))
    expect(answers.map(({ status }) => status)).toEqual([...Array(20).fill(200), 429])
    expect(Number(answers[20]!.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answers[20]!.headers.get('ratelimit')).toMatch(/(^|, )"per-minute";r=0;t=\d+$/)
    const counted = await (await fetch(`${url}/_local/backend-calls`)).text()
    expect(README).toContain(counted)

    const batch = await fetch(`${url}/batch`, { method: 'POST', headers: { 'X-Api-Key': 'demo-pro-key' } })
    expect(batch.headers.get('ratelimit')).toMatch(/^"everybody";r=\d+;t=\d+, "per-minute";r=595;/)
  })

  it.each(COMMANDS)('npx sluice %s', async (command) => {
    const yes = command.startsWith('tiers apply') ? ['--yes'] : []
    const { code, err } = await node('bin/sluice.js', ...command.split(' '), ...yes, '--endpoint', endpoint).exit
    expect([code, err]).toEqual([0, expect.not.stringContaining('rror')])
  })
})

it('names commands to try', () => {
  expect(COMMANDS).toEqual(['tiers apply tiers.yaml', 'clients create acme --tier free'])
})
