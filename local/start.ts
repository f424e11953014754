import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
import { buildAuthorizerBundle } from '../lib/authorizer-bundle'
import { awsEnvironment, connect, TABLES } from './dynamodb'
import { startEngine } from './engines/start-engine'
import { createAuthorizerPool } from './gateway/authorizer-pool'
import { createBackend } from './gateway/backend'
import { startGateway } from './gateway/gateway'
import { httpApi } from './gateway/http-api'
import { restApi } from './gateway/rest-api'
import { warmUp } from './gateway/warm-up'
import { HELP, parseOptions } from './options'
import { seed } from './seed'
import { Shutdown, stopOnSignals } from './shutdown'
import { reasonOf, StartError, toUser } from './start-error'
import { welcome } from './welcome'

/** Longer than the authorizer's timeout. */
const FINISH_WITHIN_MS = 12_000
const TIERS_FILE = join(__dirname, '..', 'tiers.yaml')

/**
 * Starts engine, tables, bundle, authorizer instances and gateway, in this order; prints the ready line when a request
 * would be served.
 */
async function start(shutdown: Shutdown): Promise<void> {
  const options = parseOptions(process.argv.slice(2), process.env)
  if (options.help) return void process.stdout.write(HELP)
  stopOnSignals(shutdown)

  const engine = await startEngine(options)
  shutdown.add(() => engine.stop())
  const kept = await seedTables(engine.endpoint)

  const api = { rest: restApi, http: httpApi }[options.api]
  const pool = createAuthorizerPool(options.instances, {
    bundle: buildAuthorizerBundle(temporaryFolder()),
    env: lambdaEnvironment(engine.endpoint),
    log: (text) => log(process.env.SLUICE_METRICS_FLUSH_MS === undefined ? text.replace(METRICS, '') : text),
  })
  shutdown.add(() => pool.stop())
  await warmUp(pool, api)

  const gateway = await startGateway({
    api,
    authorize: pool.authorize,
    backend: createBackend(),
    port: options.port,
    log,
  }).catch((error) => {
    throw listenError(error, options.port)
  })
  shutdown.add(() => gateway.close(FINISH_WITHIN_MS))

  const url = `http://localhost:${gateway.port}`
  process.stdout.write(`Sluice is listening on ${url}\n`)
  process.stdout.write(welcome({ url, engine, options, kept, tiersYaml: readFileSync(TIERS_FILE, 'utf8') }))
}

async function seedTables(endpoint: string): Promise<string[]> {
  const client = connect(endpoint)
  try {
    return await seed(client, TABLES)
  } catch (error) {
    throw error instanceof DynamoDBServiceException
      ? new StartError(`cannot create the tables at ${endpoint}: ${reasonOf(error)}`)
      : error
  } finally {
    client.destroy()
  }
}

/** Lines of metrics for CloudWatch, which are printed only on request. */
const METRICS = /^\{"_aws":.*\n/gm

/** Variables by which the user may configure the log and the metrics. */
const TELEMETRY = /^SLUICE_(LOG|METRICS)_/

/** The whole environment of the authorizer, as in Lambda. */
function lambdaEnvironment(endpoint: string): Record<string, string> {
  return {
    ...awsEnvironment(),
    ...MUTED,
    SLUICE_STATE_TABLE: TABLES.state,
    SLUICE_CONFIG_TABLE: TABLES.config,
    SLUICE_DYNAMODB_ENDPOINT: endpoint,
    SLUICE_LOG_LEVEL: 'warn',
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => TELEMETRY.test(name))),
    ...(process.env.SLUICE_DEADLINE_MS && { SLUICE_DEADLINE_MS: process.env.SLUICE_DEADLINE_MS }),
  }
}

/** Removed when the process exits by itself. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function listenError(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new StartError(`port ${port} is taken: choose another, as in PORT=3001 npm start`)
  if (error.code === 'EACCES')
    return new StartError(`port ${port} needs privileges: choose another, as in PORT=3001 npm start`)
  return error
}

function log(text: string): void {
  process.stderr.write(text)
}

/**
 * Otherwise every thread would print the SDK's warning about Node versions; in Lambda the stack chooses the runtime.
 */
const MUTED = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' }
Object.assign(process.env, MUTED)

/** The reader of a pipe may close it, as `head` does. */
process.stdout.on('error', () => {})

const shutdown = new Shutdown()
start(shutdown).catch(async (error: unknown) => {
  if (shutdown.begun) return // what was still starting lost what it stands on
  process.stderr.write(`${toUser(error)}\n`)
  await shutdown.run()
  process.exit(1)
})
