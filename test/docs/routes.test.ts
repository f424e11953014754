import type { Server } from 'node:http'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import ts from 'typescript'
import { createLimiter, MemoryStore } from '../../limiter'
import { expressRateLimit } from '../../middleware'
import { blocksOf } from './snippets/blocks'

const LIMIT = 100

/** The app of the guide's block on routes, as it stands there. */
function appOfGuide(): Express {
  const { text } = blocksOf('docs/how-to/limit-in-a-framework.md').find((block) => block.text.includes("'/export'"))!
  const code = ts.transpile(text, { target: ts.ScriptTarget.ES2023 })
  const limiter = createLimiter({
    store: new MemoryStore(),
    policies: [{ name: 'per-hour', algorithm: 'fixed-window', limit: LIMIT, window: '1h' }],
  })
  return new Function('express', 'expressRateLimit', 'limiter', `${code}; return api`)(
    express,
    expressRateLimit,
    limiter,
  )
}

let server: Server
beforeEach(async () => {
  server = appOfGuide().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** What a server answers to a target as it is sent, and what is left then. */
const get = (path: string): Promise<{ body: string; left: number | undefined }> =>
  new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo
    const asked = request({ host: '127.0.0.1', port, path }, (answer) => {
      const left = answer.headers['x-ratelimit-remaining']
      let body = ''
      answer.on('data', (chunk) => {
        body += chunk
      })
      answer.once('end', () => resolve({ body, left: left === undefined ? undefined : Number(left) }))
    })
    asked.once('error', reject).end()
  })

const SPELLINGS = (path: string) => [
  path,
  path.toUpperCase(),
  `${path}/`,
  path.replace(/.$/, (last) => last.toUpperCase()),
  path.replace(/^\/(.)/, (_, first: string) => `/%${first.charCodeAt(0).toString(16)}`),
  `${path.toUpperCase()}/?a=1`,
  `${path}?`,
  `/${path}`,
  `/.${path}`,
  `${path};a=1`,
  `${path}%20`,
  `${path}%2f`,
  `http://127.0.0.1${path}`,
]

test('whatever spelling of its path reaches a route of the guide costs what the route says', async () => {
  const costs = { 'all rows': 10, 'some rows': 1 }
  let left = LIMIT
  const reached = new Map<string, number>()
  for (const path of [...SPELLINGS('/export'), ...SPELLINGS('/rows')]) {
    const answer = await get(path)
    const cost = costs[answer.body as keyof typeof costs] ?? 1
    left -= cost
    expect([path, answer.body.slice(0, 9), answer.left]).toEqual([path, answer.body.slice(0, 9), left])
    reached.set(answer.body, (reached.get(answer.body) ?? 0) + 1)
  }
  for (const body of Object.keys(costs)) expect(reached.get(body)).toBeGreaterThan(5)
})

test('the route that is not counted is that in every spelling, and nothing else is', async () => {
  for (const path of SPELLINGS('/health')) {
    const { body, left } = await get(path)
    expect([path, left === undefined]).toEqual([path, body === 'ok'])
  }
})
