import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { WebSocket } from 'ws'
import { ownServer } from '../local/own-server'
import { packInto } from './packed'

const ROOT = join(__dirname, '..', '..')
const { dependencies: ofGateway } = JSON.parse(readFileSync(join(ROOT, 'local', 'package.json'), 'utf8'))

const project = mkdtempSync(join(tmpdir(), 'sluice-own-'))
afterAll(() => rmSync(project, { recursive: true, force: true }))

const npm = async (cwd: string, ...args: string[]) =>
  (await promisify(execFile)('npm', args, { cwd, maxBuffer: 64 * 2 ** 20 })).stdout
const install = (...packages: string[]) =>
  npm(project, 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages)

/** Node and nothing else: no shell is found by this path, and no program. */
const NO_SHELL = { PATH: '/nowhere', HOME: project, TMPDIR: project, AWS_EC2_METADATA_DISABLED: 'true' }

/** The installed command line, started as npx would, but not by a shell. */
function sluice(...args: string[]) {
  const child = spawn(process.execPath, [join(project, 'node_modules', 'sluice', 'bin', 'sluice.js'), ...args], {
    cwd: project,
    env: NO_SHELL,
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  const exit = once(child, 'close').then(([code]) => ({ code, ...said }))
  const until = async (text: string, place: 'out' | 'err' = 'out') => {
    while (!said[place].includes(text)) {
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${said.out}${said.err}`)
      await sleep(20)
    }
  }
  return { child, said, exit, until }
}

beforeAll(async () => {
  const { tarball } = await packInto(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  await install(tarball)
}, 180_000)

describe('a project of one’s own with the package alone', () => {
  it('init --express writes a server that limits', async () => {
    const init = await sluice('init', '--express', '--callers', 'api-key', '--limit', '9').exit
    expect(init).toMatchObject({ code: 0, err: expect.stringContaining('written: server.mjs') })
    await install()
    const server = spawn(process.execPath, ['server.mjs'], { cwd: project, env: { ...NO_SHELL, PORT: '0' } })
    const [line] = await once(server.stdout, 'data')
    const url = String(line).trim()
    const statuses = async (count: number, headers = {}) => {
      const found: number[] = []
      for (let i = 0; i < count; i++) found.push((await fetch(url, { headers })).status)
      return found
    }
    expect(await statuses(4)).toEqual([200, 200, 200, 429])
    expect(await statuses(10, { 'X-Api-Key': 'demo-free-key' })).toEqual([...Array(9).fill(200), 429])
    server.kill()
    await once(server, 'close')
  })

  it('init writes a tiers file that is valid, beside a program', async () => {
    const init = await sluice('init', '--for', 'cdk', '--callers', 'api-key', '--limit', '9').exit
    expect(init).toMatchObject({ code: 0, err: 'written: tiers.yaml\n' })
    expect(await sluice('tiers', 'validate', 'tiers.yaml').exit).toMatchObject({ code: 0, err: '' })
  })

  it('dev says what is missing, and how to get it', async () => {
    expect(existsSync(join(project, 'node_modules', 'dynalite'))).toBe(false)
    expect(await sluice('dev', '--port', '0').exit).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^no DynamoDB engine is installed: npm install --save-dev dynalite\. /),
    })
  })

  it('dev serves before its own server, on dynalite and without a shell', async () => {
    await install(`dynalite@${ofGateway.dynalite}`)
    const server = await ownServer()
    const { child, said, exit, until } = sluice('dev', '--port', '0', '--backend', server.url)
    await until('Ctrl-C stops it')
    const url = /listening on (\S+)/.exec(said.out)![1]!
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await fetch(`${url}/a`)).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect(server.seen).toHaveLength(3)

    const file = join(project, 'tiers.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace('limit: 9', 'limit: 99'))
    await until('tiers.yaml is in force')
    const { headers } = await fetch(`${url}/a`, { headers: { 'X-Api-Key': 'demo-free-key' } })
    expect(headers.get('x-ratelimit-limit')).toBe('99')

    const endpoint = /dynalite at (\S+),/.exec(said.out)![1]!
    expect((await sluice('doctor', '--endpoint', endpoint).exit).out).not.toContain('FAILED')
    child.kill('SIGTERM')
    expect(await exit).toMatchObject({ code: 0, err: '' })
    server.close()
  })

  it('dev is a WebSocket API with the package ws, and says so without', async () => {
    const dev = () => sluice('dev', '--port', '0', '--api', 'websocket')
    expect((await dev().exit).err).toBe('the package ws is not installed: npm install --save-dev ws\n')
    await install(`ws@${ofGateway.ws}`)
    const { child, said, exit, until } = dev()
    await until('Ctrl-C stops it')
    const socket = new WebSocket(/listening on (\S+)/.exec(said.out)![1]!)
    await once(socket, 'open')
    const heard: string[] = []
    for (let i = 0; i < 3; i++) {
      const message = once(socket, 'message')
      socket.send('hello')
      heard.push(String((await message)[0]))
    }
    expect(heard.slice(0, 2)).toEqual(Array(2).fill('{"route":"$default","heard":"hello"}'))
    expect(JSON.parse(heard[2]!)).toMatchObject({ status: 429, code: 'over-limit' })
    socket.terminate()
    child.kill('SIGTERM')
    expect(await exit).toMatchObject({ code: 0, err: '' })
  })
})
