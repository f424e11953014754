export const TARGETS = ['cdk', 'http-api', 'express', 'library'] as const
export const CALLERS = ['api-key', 'address'] as const

/** What `init` asks. */
export interface Starter {
  /** What is protected: an API of one's own CDK app, an existing HTTP API, an Express server, or a program's work. */
  readonly target: (typeof TARGETS)[number]
  /** By what callers are told apart. */
  readonly callers: (typeof CALLERS)[number]
  /** Requests a minute of each caller. */
  readonly limit: number
}

/** Where everybody may come, callers without a key get a part. */
const withoutKey = (limit: number): number => Math.max(1, Math.floor(limit / 3))

/** A tiers file to start from, with comments. */
export function starterTiers({ callers, limit }: Starter): string {
  const policy = (units: number) => `- { name: per-minute, limit: ${units}, window: 1m }`
  const byKey = callers === 'api-key'
  return `# yaml-language-server: $schema=./node_modules/sluice/tiers.schema.json
# Who may send how much. A tier is a named plan, a policy one limit of it: a request needs room in all of them.
tiers:
  # ${byKey ? 'Callers without a known API key' : 'All callers'}, each counted by its IP address.
  anonymous:
    by: ip
    policies:
      ${policy(byKey ? withoutKey(limit) : limit)}
${
  byKey
    ? `
  # Clients with a key in the header X-Api-Key. This makes one: npx sluice clients create acme --tier free
  free:
    policies:
      ${policy(limit)}
      # A quota by the calendar, beside the limit of each minute:
      # - { name: per-day, algorithm: fixed-window, limit: ${limit * 100}, window: day, timezone: Europe/Berlin }
`
    : `
  # Clients get limits of their own with a key, a token or a header: see settings.identity in the documentation.
  # free:
  #   policies:
  #     - { name: per-minute, limit: ${limit}, window: 1m }
`
}
# Requests that cost more, and limits of single routes:
# routes:
#   "POST /reports":
#     cost: 5
#   "GET /search":
#     policies:
#       - { name: search, limit: 10, window: 1s, by: [client, route] }
`
}

/** Whether its tiers are in a file, and not in the program. */
export const hasTiersFile = ({ target }: Pick<Starter, 'target'>): boolean => target === 'cdk' || target === 'http-api'

/** The lines that put it to work, for a terminal. @param file the tiers file. */
export function starterLines(starter: Starter, file: string): string {
  const { target, limit } = starter
  if (target === 'express') {
    return `In your server (npm install express), before its routes:

${expressLines(starter)}`
  }
  if (target === 'library') {
    return `In your program (a DynamoDbStore needs npm install @aws-sdk/client-dynamodb):

import { createLimiter, MemoryStore } from 'sluice/limiter'

const limiter = createLimiter({
  store: new MemoryStore(), // one process; new DynamoDbStore({ client, tableName }) for many
  policies: [{ name: 'per-minute', limit: ${limit}, window: '1m' }],
})
const { allowed, remaining, retryAfterMs } = await limiter.take('client:abc')
`
  }
  const limiter = `import { RateLimiter } from 'sluice'

const limiter = new RateLimiter(this, 'Limiter', { tiersFile: ${quoted(file)} })`
  const deployed =
    target === 'cdk'
      ? `In your CDK app, in the stack of the API (npm install aws-cdk-lib constructs, if it is new):

${limiter}
limiter.protect(api) // a REST, HTTP or WebSocket API; { methods } or { routes } for some
`
      : `In a stack of a CDK app (npm install aws-cdk-lib constructs, if it is new):

${limiter}

After cdk deploy, in front of the existing HTTP API:

npx sluice attach API_ID --dry-run     # shows every change, and makes none
npx sluice attach API_ID               # npx sluice detach API_ID undoes it
`
  return `Try it before, in front of your server (npm install --save-dev dynalite):

npx sluice dev --tiers ${/^[\w./-]+$/.test(file) ? file : JSON.stringify(file)} --backend http://localhost:4000

${deployed}`
}

/** A text in a program, between single quotes. */
export const quoted = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replaceAll("'", "\\'")}'`

/** A server with Express that limits its callers. */
export function expressLines({ callers, limit }: Starter): string {
  const policies = (units: number) => `[{ name: 'per-minute', limit: ${units}, window: '1m' }]`
  const store = 'store: new MemoryStore(), // one process; new DynamoDbStore({ tableName }) for many'
  if (callers === 'address') {
    return `import express from 'express'
import { createLimiter, MemoryStore } from 'sluice/limiter'
import { expressRateLimit } from 'sluice/middleware'

const limiter = createLimiter({
  ${store}
  policies: ${policies(limit)},
})

const app = express() // behind a proxy, also: app.set('trust proxy', 1)
app.use(expressRateLimit({ limiter }))
`
  }
  return `import express from 'express'
import { MemoryStore } from 'sluice/limiter'
import { expressRateLimit } from 'sluice/middleware'
import { createTieredLimiter } from 'sluice/tiered'

const limiter = createTieredLimiter({
  ${store}
  tiers: {
    anonymous: { policies: ${policies(withoutKey(limit))} }, // without a known key, by address
    free: { policies: ${policies(limit)} },
  },
  write: () => {}, // no metrics on standard output
})
const clients = new Map([['demo-free-key', { clientId: 'demo', tier: 'free' }]]) // yours: from a database

const app = express() // behind a proxy, also: app.set('trust proxy', 1)
app.use(expressRateLimit({ limiter, keyBy: (req) => clients.get(req.get('x-api-key') ?? '') }))
`
}
