import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildSync } from 'esbuild'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { createStateTable } from '../../limiter'
import { CountingProxy } from '../../local/console/counting-proxy'
import { itemsOf, type PolicySetItem } from '../../provisioning/tiers-file'
import { keyServer, pair, token } from '../../test/identity/issuer'
import { createConfigTable } from '../../tiered/create-config-table'
import { eventOf } from '../authorizer-event'
import { lambdaEnvironment } from '../cold-start'
import { apiKeyOf, clientItems, putAll } from '../config-tables'
import { CountingClient } from '../engine'
import { toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { PLENTY } from '../policies'
import { interleaved, median, ratios, summary } from '../statistics'

const STATE_TABLE = 'bench-bundle-state'

/** How much later each call is answered than by an engine of this machine, as DynamoDB's first answers are. */
const NETWORK_MS = 10

/** A function that uses the default client and nothing else, as a first draft of an authorizer would. */
const MINIMAL = `
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
const client = new DynamoDBClient({})
export const handler = (event) => client.send(new UpdateItemCommand({
  TableName: '${STATE_TABLE}',
  Key: { pk: { S: event.key } },
  UpdateExpression: 'ADD used :one',
  ExpressionAttributeValues: { ':one': { N: '1' } },
}))
`

/**
 * Loads a bundle as Lambda does, has it answer one event at once, and says how long that took and how much code it has
 * loaded, first and in all.
 */
const SCRIPT = `
const [, file, event] = process.argv
const start = performance.now()
const { handler } = require(file)
const loadMs = performance.now() - start
const files = () => Object.keys(require.cache)
const sizeOf = (paths) => paths.reduce((sum, path) => sum + require('node:fs').statSync(path).size, 0)
const before = files()
const asked = performance.now()
handler(JSON.parse(event)).then((answer) => {
  const firstMs = performance.now() - asked
  if (answer.isAuthorized === false || answer.context?.degraded) throw new Error(JSON.stringify(answer))
  process.stdout.write('\\n' + JSON.stringify({
    loadMs, firstMs, coldMs: loadMs + firstMs, bytes: sizeOf(before), allBytes: sizeOf(files()), files: files().length,
  }), () => process.exit())
})
`

interface Started {
  readonly loadMs: number
  readonly firstMs: number
  /** The sum of both. */
  readonly coldMs: number
  /** Of code: what the first file needs, and all that was loaded when the function has answered, in so many files. */
  readonly bytes: number
  readonly allBytes: number
  readonly files: number
}

type Arm = 'keys only' | 'JWT' | 'everything' | 'minimal'

/** What a cold start has to load, and its first decision, for three deployments. */
export const bundle: Part = {
  title: 'Authorizer bundle',

  async run(bench) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    const client = new CountingClient(bench.engine)
    const key = pair('bench')
    const keys = await keyServer([key])
    const far = new CountingProxy(bench.engine.endpoint)
    far.trouble = 'slow'
    far.slowMs = NETWORK_MS
    try {
      const distant = { ...bench, engine: { ...bench.engine, endpoint: await far.listen() } }
      const ours = buildAuthorizerBundle(folderIn(folder, 'ours'))
      const minimal = buildMinimal(folderIn(folder, 'minimal'))
      await createStateTable(client, STATE_TABLE)
      const bearer = `Bearer ${token({ ...CLAIMS, exp: Date.now() / 1000 + 3600 }, key)}`
      const tables: Record<Exclude<Arm, 'minimal'>, readonly PolicySetItem[]> = {
        'keys only': itemsOf({ tiers: TIERS }),
        JWT: itemsOf({ tiers: TIERS, settings: { defaultTier: 'free', identity: [jwt(keys.url)] } }),
        everything: itemsOf({
          tiers: { ...TIERS, free: EVERYTHING },
          settings: { defaultTier: 'free', identity: [jwt(keys.url)] },
        }),
      }
      const runs: Record<Arm, () => Promise<Started>> = {
        minimal: () => start(distant, minimal, { key: 'bench' }, 'none'),
        'keys only': () => start(distant, ours, eventOf({ ...ASKED, apiKey: apiKeyOf(0) }), nameOf('keys only')),
        JWT: () => start(distant, ours, withToken(bearer), nameOf('JWT')),
        everything: () => start(distant, ours, withToken(bearer), nameOf('everything')),
      }
      for (const [arm, items] of Object.entries(tables)) {
        await createConfigTable(client, nameOf(arm as Arm))
        await putAll(client, nameOf(arm as Arm), [...items, ...clientItems(1, () => 'free')])
      }
      return await measured(runs, bench.quick, statSync(minimal).size)
    } finally {
      await keys.close()
      await far.close()
      client.destroy()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

const ASKED = { path: '/hello', ip: '198.51.100.7' }
const CLAIMS = { iss: 'https://issuer.example', aud: 'bench', sub: 'alice' }
const TIERS = {
  anonymous: { by: 'ip', policies: [{ name: 'per-minute', limit: PLENTY, window: '1m' }] },
  free: { policies: [{ name: 'per-minute', limit: PLENTY, window: '1m' }] },
}
/** Every way of counting, running requests, and units that are settled. */
const EVERYTHING = {
  policies: [
    { name: 'per-minute', limit: PLENTY, window: '1m', settle: true },
    { name: 'running', algorithm: 'concurrency', limit: 1000, timeout: '1m' },
    { name: 'per-hour', limit: PLENTY, window: '1h', consistency: 'leased' },
    { name: 'per-day', limit: PLENTY, window: '1d', consistency: 'eventual' },
  ],
}
const jwt = (jwksUri: string) => ({ source: 'jwt', issuer: CLAIMS.iss, audience: [CLAIMS.aud], jwksUri })

const nameOf = (arm: Arm): string => `bench-bundle-${arm.replace(' ', '-')}`

function withToken(authorization: string): object {
  const event = eventOf(ASKED)
  return { ...event, headers: { ...event.headers, authorization } }
}

async function measured(runs: Record<Arm, () => Promise<Started>>, quick: boolean, minimalBytes: number) {
  const seen = Object.fromEntries(Object.keys(runs).map((arm) => [arm, []])) as unknown as Record<Arm, Started[]>
  const arms = Object.fromEntries(
    Object.entries(runs).map(([arm, run]) => [
      arm,
      async () => {
        const started = await run()
        seen[arm as Arm].push(started)
        return started.loadMs
      },
    ]),
  ) as Record<Arm, () => Promise<number>>
  const loads = await interleaved(
    arms,
    quick ? { most: 3, least: 3, budgetMs: 0 } : { most: 25, least: 15, budgetMs: 40_000 },
  )
  const of = (arm: Arm, field: keyof Started) => median(seen[arm].map((one) => one[field]))
  const cold = (arm: Arm) => seen[arm].slice(1).map(({ coldMs }) => coldMs) // the first is the warm-up
  const kilobytes = (bytes: number) => Math.round(bytes / 1000)
  return {
    figures: [
      toFigure('code that is loaded before the config table is asked', {
        measured: of('keys only', 'bytes') / 1000,
        unit: 'KB',
        goal: { atMost: 160 },
      }),
      toFigure('its load time against the minimal bundle', {
        ...summary(ratios(loads['keys only'], loads.minimal)),
        unit: '×',
        goal: { atMost: 0.28 },
      }),
      toFigure('load and first decision against the minimal bundle, by keys', {
        ...summary(ratios(cold('keys only'), cold('minimal'))),
        unit: '×',
      }),
      toFigure('all code that a first decision needs', { measured: of('keys only', 'allBytes') / 1000, unit: 'KB' }),
    ],
    details: [
      ...Object.keys(seen).map((name) => {
        const arm = name as Arm
        return `${arm}: ${kilobytes(of(arm, 'bytes'))} KB loaded in ${of(arm, 'loadMs').toFixed(1)} ms, first answer ${of(arm, 'firstMs').toFixed(1)} ms later with ${kilobytes(of(arm, 'allBytes'))} KB in ${of(arm, 'files')} files: ${of(arm, 'coldMs').toFixed(1)} ms in all.`
      }),
      `Minimal: ${kilobytes(minimalBytes)} KB, a handler that makes the default client and one UpdateItem, esbuild's defaults for Node, minified.`,
      `Medians of ${seen.minimal.length} fresh processes each, in turns, on an engine of this machine that answers each call ${NETWORK_MS} ms later. 1 KB = 1000 bytes.`,
    ],
  }
}

function folderIn(folder: string, name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

function buildMinimal(folder: string): string {
  const outfile = join(folder, 'index.js')
  buildSync({
    stdin: { contents: MINIMAL, resolveDir: __dirname },
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    logLevel: 'silent',
  })
  return outfile
}

async function start({ engine }: Bench, file: string, event: object, config: string): Promise<Started> {
  const env = { ...lambdaEnvironment(engine, { state: STATE_TABLE, config }), AWS_ENDPOINT_URL: engine.endpoint }
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', SCRIPT, file, JSON.stringify(event)], {
    env,
  })
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1)) as Started
}
