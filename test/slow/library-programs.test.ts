import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createStateTable } from '../../limiter'
import { connect } from '../../local/dynamodb'
import { startEngine } from '../../local/engines/start-engine'
import { blocksOf, readPage } from '../docs/snippets/blocks'
import { packInto } from './packed'

const ROOT = join(__dirname, '..', '..')
const run = promisify(execFile)

/** A row of the page's table: a program, what is typed for it, and its lines. */
interface Row {
  readonly title: string
  readonly commands: readonly string[]
  readonly lines: number
}

const ROWS = readPage('docs/library.md')
  .split('\n')
  .flatMap((line): Row[] => {
    const [, title, commands, lines] = /^\| \[([^\]]+)\]\(.*?\) +\| (`npm install .*`) +\| (\d+) +\|$/.exec(line) ?? []
    return commands ? [{ title: title!, commands: commands.slice(1, -1).split('`, `'), lines: Number(lines) }] : []
  })

/** The program of a page that has a text in it. */
const programOf = (page: string, has: string): string =>
  blocksOf(page).find(({ language, text }) => language === 'ts' && text.includes(has))!.text

const PROGRAMS = [
  programOf('docs/library.md', 'createTieredLimiter'),
  programOf('docs/reserve-and-settle.md', 'askModel'),
  programOf('docs/how-to/limit-outbound-calls.md', 'callPartner'),
  programOf('docs/how-to/install-what-you-need.md', 'sourceIp'),
]

/** Without a cast, by what an editor checks. */
const CHECKED = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: true }

describe('a new user with the tarball alone, in an empty folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-programs-'))
  const projects = ROWS.map((_, i) => join(folder, `${i}`))

  beforeAll(async () => {
    const { tarball } = await packInto(folder)
    for (const [i, { commands }] of ROWS.entries()) {
      const project = projects[i]!
      mkdirSync(project)
      symlinkSync(tarball, join(project, 'sluice-0.1.0.tgz'))
      writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
      writeFileSync(join(project, 'app.ts'), PROGRAMS[i]!)
      const install = commands[0]!.split(' ').slice(1)
      await run('npm', [...install, '--omit=peer', '--omit=optional', '--no-audit', '--no-fund', '--prefer-offline'], {
        cwd: project,
      })
    }
  }, 300_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const tool = (name: string) => join(ROOT, 'node_modules', '.bin', name)
  /** Runs a driver beside the program, by the page's command, and returns what both print. */
  const drive = async (i: number, driver: string): Promise<string> => {
    writeFileSync(join(projects[i]!, 'driver.ts'), driver)
    const { stdout } = await run(tool('tsx'), ['driver.ts'], { cwd: projects[i]! })
    return stdout
  }

  it('has four programs', () => {
    expect(ROWS.map(({ title }) => title)).toEqual([
      'an Express app with tiers',
      'a gateway to a model',
      'a worker that calls a partner',
      'a Function URL, as an ES module',
    ])
  })

  it.each(ROWS.map(({ title }, i) => [title, i] as const))('writes %s in as many lines as the page says', (_, i) => {
    const lines = PROGRAMS[i]!.split('\n').filter((line) => line.trim() !== '')
    expect(lines).toHaveLength(ROWS[i]!.lines)
    expect(PROGRAMS[i]).not.toMatch(/\bas \w|<any>|@ts-/)
  })

  it.each(ROWS.map(({ title }, i) => [title, i] as const))('compiles %s strictly', async (_, i) => {
    const types = join(projects[i]!, 'node_modules', '@types')
    symlinkSync(join(ROOT, 'node_modules', '@types'), types)
    const compilerOptions = { ...CHECKED, target: 'es2023', module: 'nodenext', noEmit: true, types: ['node'] }
    writeFileSync(join(projects[i]!, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
    await run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', projects[i]!])
  })

  it('runs the Express app: an anonymous caller once, and a client of a tier', async () => {
    const { stdout } = await run(tool('tsx'), ['app.ts'], { cwd: projects[0]! })
    expect(stdout).toBe('200\n429\n200\n')
  })

  it('runs the gateway: what was streamed is charged, not what was reserved', async () => {
    const port = await freePort()
    const project = projects[1]!
    writeFileSync(join(project, 'app.ts'), PROGRAMS[1]!.replace('listen(3000)', `listen(${port}, '127.0.0.1')`))
    const child = spawn(tool('tsx'), ['app.ts'], { cwd: project, detached: true })
    try {
      const ask = async () => {
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ prompt: 'hello' })
        const response = await fetch(`http://127.0.0.1:${port}/chat`, { method: 'POST', headers, body })
        return { text: await response.text(), rateLimit: response.headers.get('RateLimit') }
      }
      const first = await untilIt(ask)
      expect(first.text).toBe('hello')
      const second = await untilIt(async () => {
        const answer = await ask()
        if (!answer.rateLimit!.includes('"tokens";r=99')) throw new Error(`got ${answer.rateLimit}`)
        return answer
      })
      expect(Number(/"tokens";r=(\d+)/.exec(second.rateLimit!)![1])).toBeGreaterThan(100_000 - 2 * 500)
    } finally {
      process.kill(-child.pid!)
    }
  })

  it('runs the worker: six calls leave, no more than five of them in one second', async () => {
    const printed = await drive(
      2,
      `const sent: number[] = []
      globalThis.fetch = async () => (sent.push(Date.now()), new Response())
      const { callPartner } = await import('./app.ts')
      await Promise.all(Array.from({ length: 6 }, () => callPartner('/', new AbortController().signal)))
      console.log(sent.length, sent[5]! - sent[0]! >= 990)
      process.exit()`,
    )
    expect(printed).toBe('6 true\n')
  })

  it('bundles the function by the command of the page, and runs it on DynamoDB', async () => {
    const project = projects[3]!
    const [, ...options] = ROWS[3]!.commands[1]!.split(' ').slice(1)
    await run(tool('esbuild'), options, { cwd: project })
    const engine = await startEngine({})
    const client = connect(engine.endpoint)
    try {
      await createStateTable(client, 'limits')
      writeFileSync(
        join(project, 'driver.mjs'),
        `const { handler } = await import('./app.mjs')
        const answers = []
        for (let i = 0; i < 61; i++) answers.push(await handler({ requestContext: { http: { sourceIp: '192.0.2.1' } } }))
        console.log(answers[0].statusCode, answers.at(-1).statusCode, Number(answers.at(-1).headers['Retry-After']) > 0)`,
      )
      const env = {
        ...process.env,
        AWS_ENDPOINT_URL: engine.endpoint,
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      }
      const { stdout } = await run(process.execPath, ['driver.mjs'], { cwd: project, env })
      expect(stdout).toBe('200 429 true\n')
    } finally {
      client.destroy()
      await engine.stop()
    }
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' ? address!.port : 0
}

/** Asks until it is answered, for 20 seconds. */
async function untilIt<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = 100; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
