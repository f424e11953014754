import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { MemoryStore } from '../../limiter'
import { RateLimiter } from '../../limiter/rate-limiter'
import { createBackend } from '../../local/gateway/backend'
import { startGateway } from '../../local/gateway/gateway'
import type { LoopbackServer } from '../../local/gateway/loopback-server'
import { restApi } from '../../local/gateway/rest-api'
import { Gateway, KEYS } from '../authorize/gateway'
import { blocksOf, readPage } from '../docs/snippets/blocks'

const BLOCKS = blocksOf('docs/for-api-consumers.md')
const policies = [{ name: 'per-2s', algorithm: 'fixed-window', limit: 2, window: '2s', by: 'client' }]
const set = parseTiersFile({ tiers: { anonymous: { by: 'ip', policies: [] }, free: { policies } } }, 'tiers.yaml')

let api: LoopbackServer
let url: string
beforeAll(async () => {
  const limiter = new RateLimiter({ store: new MemoryStore(), onStoreError: 'local' })
  const { authorize } = new Gateway({ set, limiter, clock: Date.now })
  api = await startGateway({ api: restApi, authorize, backend: createBackend(), port: 0, log: () => {} })
  url = `http://127.0.0.1:${api.port}`
})
afterAll(() => api.close(0))

const headers = { 'X-Api-Key': KEYS.free }

/** Runs a program with a text as its input or last argument, and returns its exit code and what it printed. */
async function run(command: string, args: readonly string[], input = '') {
  const child = spawn(command, args, { env: { ...process.env, API_URL: url, API_KEY: KEYS.free } })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (out += chunk))
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, out }
}

/** Asks until the key is denied. */
async function useUp(): Promise<Response> {
  for (;;) {
    const response = await fetch(`${url}/hello`, { headers })
    if (response.status === 429) return response
  }
}

const PROGRAMS = {
  sh: (text: string) => run('sh', ['-c', text]),
  js: (text: string) => run(process.execPath, ['--input-type=module'], text),
  python: (text: string) => run('python3', ['-'], text),
}

describe('a client of a protected API', () => {
  it.each(Object.entries(PROGRAMS))(
    'that waits as the page says in %s is denied once, and then passes',
    async (language, program) => {
      const { text } = BLOCKS.find((block) => block.language === language)!
      await useUp()
      const { code, out } = await program(text)
      expect([code, out]).toEqual([0, expect.stringContaining('hello')])
    },
  )

  it('reads the same moment in three headers of a denial, and its request passes then', async () => {
    const denied = await useUp()
    const now = Date.now() / 1000
    const seconds = Number(denied.headers.get('Retry-After'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(denied.headers.get('RateLimit')).toBe(`"per-2s";r=0;t=${seconds}`)
    expect(Math.abs(Number(denied.headers.get('X-RateLimit-Reset')) - now - seconds)).toBeLessThan(1.5)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    expect((await fetch(`${url}/hello`, { headers })).status).toBe(200)
  })

  it('reads a body with the fields of the page', async () => {
    const example = JSON.parse(BLOCKS.find(({ language }) => language === 'json')!.text)
    const body = (await (await useUp()).json()) as Record<string, unknown>
    expect(Object.keys(body).sort()).toEqual(Object.keys(example).sort())
    expect(typeof body.retryAfter).toBe(typeof example.retryAfter)
    expect(body).toMatchObject({ status: 429, title: example.title, type: example.type, reason: 'over-limit' })
  })

  it('finds every header of a denial on the page', async () => {
    const said = readPage('docs/for-api-consumers.md').toLowerCase()
    for (const [name] of (await useUp()).headers)
      if (/ratelimit|retry/.test(name)) expect(said).toContain(`\`${name}\``)
  })
})
