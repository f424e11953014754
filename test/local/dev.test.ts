import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { Interrupts } from '../../cli/terminal/io'
import { freePort } from '../../local/engines/free-port'
import { type Said, type Situation, sluice } from '../cli/command-line'
import { type OwnServer, ownServer } from './own-server'

const folder = mkdtempSync(join(tmpdir(), 'sluice-dev-'))
const FILE = join(folder, 'my.yaml')
const LOG = join(folder, 'access.jsonl')
const tiers = (limit: number | string, more = '') =>
  `tiers:\n  anonymous: { by: ip, policies: [{ name: per-day, algorithm: fixed-window, limit: ${limit}, window: 1d }] }\n${more}`

/** `sluice dev`, run as the command line runs it. */
async function dev(args: readonly string[], situation: Situation = {}) {
  const interrupts = new Interrupts()
  let [out, noted] = ['', '']
  const ended = sluice(['dev', '--tiers', FILE, '--engine', 'dynalite', '--instances', '1', ...args], {
    env: { SLUICE_DEADLINE_MS: '8000' }, // a busy machine must not decide without the table
    ...situation,
    interrupts,
    onOut: (text) => {
      out += text
    },
    onErr: (text) => {
      noted += text
    },
  })
  const until = async (text: string, times = 1) => {
    for (let waited = 0; out.split(text).length - 1 < times; waited += 10) {
      if (waited > 20_000) throw new Error(`"${text}" was not printed: ${out}`)
      await Promise.race([sleep(10), ended])
    }
  }
  await Promise.race([until('Ctrl-C stops it'), ended])
  return {
    url: /listening on (\S+)/.exec(out)?.[1] ?? '',
    engine: /dynalite at (\S+),/.exec(out)?.[1] ?? '',
    printed: () => out,
    noted: () => noted,
    until,
    ended,
    stop: async (): Promise<Said> => {
      interrupts.press()
      return ended
    },
  }
}

describe('sluice dev before a server of one’s own', () => {
  let server: OwnServer
  let gateway: Awaited<ReturnType<typeof dev>>
  beforeAll(async () => {
    server = await ownServer()
    mkdirSync(folder, { recursive: true })
    writeFileSync(FILE, tiers(3))
    writeFileSync(
      join(folder, 'api.yaml'),
      'openapi: 3.0.3\npaths:\n  /items/{id}: { get: {}, parameters: [] }\n  /all: { x-amazon-apigateway-any-method: {} }\n',
    )
    gateway = await dev([
      '--port',
      '0',
      '--backend',
      server.url,
      '--openapi',
      join(folder, 'api.yaml'),
      '--access-log',
      LOG,
    ])
  })
  afterAll(async () => {
    server.close()
    await gateway.stop()
    rmSync(folder, { recursive: true })
  })

  const get = async (path = '/all', headers = {}) => (await fetch(`${gateway.url}${path}`, { headers })).status
  const limit = async () => Number((await fetch(`${gateway.url}/all`)).headers.get('x-ratelimit-limit'))
  const save = async (text: string, write: (text: string) => void = (it) => writeFileSync(FILE, it)) => {
    const times = gateway.printed().split('is in force\n').length
    write(text)
    await gateway.until('is in force\n', times)
  }

  it('passes on what is allowed, and prints a line for each decision', async () => {
    expect(await get()).toBe(200)
    expect(await get('/items/7?x=1')).toBe(200)
    expect(await get('/items')).toBe(403)
    expect([await get(), await get()]).toEqual([200, 429])
    expect(server.seen.map(({ url }) => url)).toEqual(['/all', '/items/7?x=1', '/all'])
    await gateway.until('429 anonymous')
    expect(gateway.printed().split('Ctrl-C stops it.\n\n')[1]!.split('\n')).toEqual([
      '200 anonymous GET /all 2 left',
      '200 anonymous GET /items/7 1 left',
      '200 anonymous GET /all 0 left',
      expect.stringMatching(/^429 anonymous GET \/all 0 left in per-day, again in \d+ s$/),
      '',
    ])
  })

  it('a saved tiers file is in force for requests that begin after the line that says so', async () => {
    await save(tiers(5))
    expect([await get(), await limit(), await get()]).toEqual([200, 5, 429])
    const free = '  free: { policies: [{ name: per-day, algorithm: fixed-window, limit: 50, window: 1d }] }\n'
    // as editors do: a file beside it takes its place
    await save(`${tiers(100, free)}routes:\n  "GET /items/{id}": { cost: 10 }\n`, (text) => {
      writeFileSync(`${FILE}~`, text)
      renameSync(`${FILE}~`, FILE)
    })
    expect(await limit()).toBe(100)
    const { headers } = await fetch(`${gateway.url}/items/7`, { headers: { 'X-Api-Key': 'demo-free-key' } })
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['50', '40'])
  })

  it('prints the command that says who is denied; another says what another limit would have done, from its own log', async () => {
    const lines = gateway
      .printed()
      .split('\n')
      .flatMap((line) => /^ {2}npx sluice (top .*?) +#/.exec(line)?.[1] ?? [])
    expect(lines).toEqual([`top --gateway ${gateway.url}`])
    const [top, simulated] = await Promise.all(
      [...lines, `simulate --set anonymous.per-day=2 --gateway ${gateway.url}`].map((line) =>
        sluice([...line.split(' '), '--json', ...(line.startsWith('top') ? ['--once'] : [])]),
      ),
    )
    expect(JSON.parse(top!.out)).toMatchObject({ rows: [{ tier: 'anonymous', policy: 'per-day' }] })
    const report = JSON.parse(simulated!.out)
    expect(report).toMatchObject({ denied: report.requests - 3, newlyDeniedClients: 1 })
    // one by one as the authorizer decided them while this was the limit, and as its file has it
    const log = readFileSync(LOG, 'utf8').trimEnd().split('\n')
    expect(log.slice(0, 5).map((line) => JSON.parse(line).status)).toEqual(['200', '200', '403', '200', '429'])
    expect((await (await fetch(`${gateway.url}/_local/access-log`)).text()).trimEnd().split('\n')).toEqual(log)
  })

  it('its DynamoDB answers no web page', async () => {
    const list = (headers: Readonly<Record<string, string>>) =>
      fetch(gateway.engine, { method: 'POST', body: '{}', headers: { 'Content-Type': 'text/plain', ...headers } })
    expect((await list({ Origin: 'https://evil.example' })).status).toBe(403)
    expect((await list({})).status).not.toBe(403)
  })

  it('what the file no longer has is gone, and clients stay', async () => {
    const made = await sluice(['clients', 'create', 'acme', '--tier', 'free', '--endpoint', gateway.engine])
    expect(made.code).toBe(0)
    await save(tiers(100))
    const { headers } = await fetch(`${gateway.url}/items/7`, { headers: { 'X-Api-Key': 'demo-free-key' } })
    expect(headers.get('x-ratelimit-limit')).toBe('100')
    const { out } = await sluice(['clients', 'list', '--endpoint', gateway.engine])
    expect([out.includes('acme'), out.includes('demo-free')]).toEqual([true, false])
    expect(gateway.printed()).toContain(`removed, as from ${FILE}: route#GET /items/{id}, tier#free\n`)
  })

  it('counts go on when a file is saved', async () => {
    const before = Number((await fetch(`${gateway.url}/all`)).headers.get('x-ratelimit-remaining'))
    await save(`${tiers(100)}# the same\n`)
    const after = Number((await fetch(`${gateway.url}/all`)).headers.get('x-ratelimit-remaining'))
    expect(after).toBe(before - 1)
  })

  it('requests under way while a file is saved are answered', async () => {
    let done = false
    const statuses: number[] = []
    const load = (async () => {
      while (!done) statuses.push(await get())
    })()
    await save(tiers(1000))
    done = true
    await load
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  })
})

describe('an invalid file changes nothing', () => {
  let gateway: Awaited<ReturnType<typeof dev>>
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(FILE, tiers(7))
    gateway = await dev(['--port', '0', '--quiet'])
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const limit = async () => (await fetch(`${gateway.url}/hello`)).headers.get('x-ratelimit-limit')

  it.each([
    ['no YAML', 'tiers: ['],
    ['an invalid limit', tiers(-5)],
    ['nothing', ''],
    ['a file that is gone', undefined],
  ])('%s, when it is saved', async (_, text) => {
    const table = async () => (await sluice(['tiers', 'export', '--endpoint', gateway.engine])).out
    const before = [await table(), await limit()]
    const reports = gateway.noted().length
    if (text === undefined) rmSync(FILE)
    else writeFileSync(FILE, text)
    while (gateway.noted().length === reports) await sleep(10)
    expect([await table(), await limit()]).toEqual(before)
    const next = Number(before[1]) + 1
    const times = gateway.printed().split('is in force\n').length
    writeFileSync(FILE, tiers(next))
    await gateway.until('is in force\n', times)
    expect(await limit()).toBe(String(next))
  })

  it('and is told, with what is wrong in it; --quiet leaves out the decisions only', async () => {
    const { code, out, err } = await gateway.stop()
    expect(code).toBe(0)
    const wrong = err.split(/^.*is not in force: the tiers stay as they are\n/m)
    expect(wrong).toEqual([
      expect.stringContaining('my.yaml: '),
      expect.stringMatching(/limit must be a positive integer, got -5 \(.*my\.yaml:2, /),
      expect.stringContaining('it must have a field "tiers"'),
      expect.stringMatching(/my\.yaml is gone: the tiers stay as they are until it exists again\n$/),
    ])
    expect(out.split('Ctrl-C stops it.\n\n')[1]).toBe(`${FILE} is in force\n`.repeat(4))
  })
})

describe('what cannot start says why, in one line, and leaves nothing running', () => {
  beforeAll(() => mkdirSync(folder, { recursive: true }))
  afterAll(() => rmSync(folder, { recursive: true }))

  it.each([
    [
      ['--tiers', '/nowhere.yaml'],
      /^there is no file \/nowhere\.yaml: name yours with --tiers, or make one with sluice init\n$/,
    ],
    [['--backend', 'localhost:4000'], /^--backend must be a URL/],
    [['--openapi', '/nowhere.yaml'], /^there is no file \/nowhere\.yaml\n$/],
    [['--port', '65536'], /It must be a whole number from 0 to 65535\.\n$/],
    [['--instances', '65'], /It must be a whole number from 1 to 64\.\n$/],
    [['--port', '5', '--dynamodb-port', '5'], /must differ from --port/],
    [['--api', 'websocket', '--backend', 'http://localhost:1'], /--backend is for --api rest and http/],
    [['--api', 'websocket', '--openapi', 'api.yaml'], /--openapi is for --api rest and http/],
    [['--handler', 'chat.js'], /--handler is for --api websocket/],
    [['--routes', 'send'], /--routes is for --api websocket/],
    [['--api', 'websocket', '--routes', '$connect'], /it must be route keys such as "send,join"/],
    [['--api', 'websocket', '--route-selection', 'action'], /--route-selection must look like/],
  ])('%j', async (args, message) => {
    writeFileSync(FILE, tiers(7))
    const { code, out, err } = await (await dev(args)).ended
    expect([code, out, err]).toEqual([1, '', expect.stringMatching(message)])
  })

  it('a second one on the same port, while the first goes on', async () => {
    writeFileSync(FILE, tiers(7))
    const port = await freePort()
    const first = await dev(['--port', String(port)])
    expect(first.engine).toBe(`http://127.0.0.1:${port + 10_000 > 65_535 ? port - 10_000 : port + 10_000}`)
    const second = await (await dev(['--port', String(port)])).ended
    expect([second.code, second.err]).toEqual([1, `port ${port} is taken: choose another with --port\n`])
    const taken = new URL(first.engine).port
    const third = await (await dev(['--port', '0', '--dynamodb-port', taken])).ended
    expect(third.err).toBe(`port ${taken} is taken: choose another with --dynamodb-port\n`)
    expect((await fetch(`${first.url}/hello`)).status).toBe(200)
    expect(await first.stop()).toMatchObject({ code: 0, err: '' })
    await expect(fetch(first.engine)).rejects.toThrow()
  })
})

describe('sluice dev before a function of WebSockets', () => {
  const chat = async (url: string) => {
    const socket = new WebSocket(url)
    const status = await new Promise<number>((resolve, reject) => {
      socket.on('open', () => resolve(101)).on('error', reject)
      socket.on('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode))
    })
    const say = (text: string) =>
      new Promise<unknown>((resolve) => {
        socket.once('message', (data) => resolve(JSON.parse(String(data))))
        socket.send(text)
      })
    return { status, say, close: () => socket.terminate() }
  }

  it('denies a client’s messages and its next connection, and says so', async () => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(FILE, tiers(5, 'routes:\n  "POST /@messages/ask": { cost: 2 }\n'))
    const gateway = await dev(['--port', '0', '--api', 'websocket'])
    expect(gateway.url).toMatch(/^ws:/)
    expect(gateway.printed()).toContain('Routes: $connect, ask, $default, $disconnect\n')
    expect(gateway.printed()).toContain(`wscat -c ${gateway.url}        # then type {"action":"ask"}\n`)
    const { status, say, close } = await chat(gateway.url)
    expect(status).toBe(101)
    expect(await say('hello')).toEqual({ route: '$default', heard: 'hello' })
    expect(await say('{"action":"ask"}')).toEqual({ route: 'ask', heard: '{"action":"ask"}' })
    expect(await say('{"action":"ask"}')).toMatchObject({
      status: 429,
      code: 'over-limit',
      routeKey: 'ask',
      remaining: 1,
    })
    await say('hello')
    expect((await chat(gateway.url)).status).toBe(403)
    close()
    await gateway.until('429 - MESSAGE ask')
    expect(gateway.printed()).toContain(
      '101 anonymous GET $connect 4 left\n200 - MESSAGE $default\n200 - MESSAGE ask\n',
    )
    expect(gateway.printed()).toContain('403 anonymous GET $connect 0 left in per-day')
    await gateway.stop()
  })
})
