import { execFileSync } from 'node:child_process'
import type { BenchEngine } from './engine'

/** What the first decision of a fresh process took. */
export interface FirstDecision {
  /** From the event to the answer; the bundle is loaded beforehand. */
  readonly ms: number
  /** Processor time from the event to the answer, over all threads, without the engine's. */
  readonly cpuMs: number
  /** Each call to DynamoDB, in order. */
  readonly calls: readonly { readonly operation: string; readonly bytes: number }[]
}

/**
 * Loads the bundle as Lambda does, decides one request, and prints how long that took. A diagnostics channel of
 * Node reports each call.
 */
const SCRIPT = `
const calls = []
require('node:diagnostics_channel').subscribe('http.client.response.finish', ({ request, response }) => {
  calls.push({ operation: String(request.getHeader('x-amz-target')).split('.').pop(), bytes: Number(response.headers['content-length']) })
})
const { handler } = require(process.argv[1])
const event = JSON.parse(process.argv[2])
const cpu = process.cpuUsage()
const start = performance.now()
handler(event).then((answer) => {
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  const { isAuthorized, context } = answer
  if (!isAuthorized || context.reason !== 'ok' || context.degraded) throw new Error('not decided as it should be: ' + JSON.stringify(answer))
  process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1000, calls }), () => process.exit())
})
`

interface Tables {
  readonly state: string
  readonly config: string
}

/** What a process needs to run the bundle on an engine. */
export const lambdaEnvironment = ({ endpoint }: BenchEngine, tables: Tables) => ({
  PATH: process.env.PATH,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  SLUICE_DYNAMODB_ENDPOINT: endpoint,
  SLUICE_STATE_TABLE: tables.state,
  SLUICE_CONFIG_TABLE: tables.config,
})

/** @param tables must be there, and have room for the request. */
export function firstDecision(bundle: string, engine: BenchEngine, tables: Tables, event: object): FirstDecision {
  const output = execFileSync(process.execPath, ['--eval', SCRIPT, bundle, JSON.stringify(event)], {
    env: lambdaEnvironment(engine, tables),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // The lines before it are the authorizer's metrics.
  return JSON.parse(output.slice(output.lastIndexOf('\n') + 1)) as FirstDecision
}
