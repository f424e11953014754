import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DynamoDBClient, DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
import { type DevIo, type DevOptions, enginePort } from '../cli/dev-options'
import { failureOf, UserError } from '../cli/exit'
import { announceGateway } from '../cli/tables/gateway-files'
import { isLoopback } from '../cli/tables/local-engine'
import { parseTiers } from '../cli/tiers/tiers-yaml'
import { AccessLogFile } from './access-log-file'
import { type Console, createConsole } from './console/console'
import { samplesOf } from './console/samples'
import { decisionLine } from './decision-line'
import { awsEnvironment, connect, TABLES } from './dynamodb'
import { assertFree, portError } from './engines/free-port'
import { startGuardedEngine } from './engines/guarded-engine'
import { createAuthorizerPool } from './gateway/authorizer-pool'
import { BackendCalls } from './gateway/backend-calls'
import { httpApi } from './gateway/http-api'
import { readOpenApi } from './gateway/openapi-routes'
import { backendUrl } from './gateway/proxy-backend'
import { createReplaceablePool, type ReplaceablePool } from './gateway/replaceable-pool'
import { restApi } from './gateway/rest-api'
import { CATCH_ALL } from './gateway/routes'
import { warmUp } from './gateway/warm-up'
import { checkApi, openGateway } from './open-gateway'
import { replaceTiers, seed } from './seed'
import { Shutdown } from './shutdown'
import { reasonOf, StartError } from './start-error'
import { watchText } from './watched-file'
import { keyHeader, welcome } from './welcome'

/** Longer than the authorizer's timeout. */
const FINISH_WITHIN_MS = 12_000

/**
 * Starts engine, tables, authorizer instances and gateway, in this order; prints the ready line when a request would be
 * served, and returns when it is stopped.
 *
 * @throws StartError, UserError or ConfigError for mistakes that the user can correct. Then nothing keeps running.
 */
export async function runDev(options: DevOptions, io: DevIo): Promise<void> {
  const shutdown = new Shutdown()
  const stopped = new Promise<void>((resolve) => {
    if (io.stop.aborted) resolve()
    else io.stop.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    const started = start(options, io, shutdown)
    started.catch(() => {}) // what was still starting loses what it stands on
    await Promise.race([started, stopped])
    await stopped
  } finally {
    await shutdown.run()
  }
}

async function start(options: DevOptions, io: DevIo, shutdown: Shutdown): Promise<void> {
  checkApi(options)
  const text = readTiers(options.tiers)
  const tiers = parseTiers(text, options.tiers)
  const url = options.backend === undefined ? undefined : backendUrl(options.backend)
  const routes = options.openapi === undefined ? url && CATCH_ALL : readOpenApi(options.openapi)
  await assertFree(options.port, '--port')
  const accessLog = options.accessLog === undefined ? undefined : new AccessLogFile(options.accessLog, io.note)
  if (accessLog) shutdown.add(() => accessLog.close()) // after the gateway, since its last requests end with it

  const engine = await startGuardedEngine({
    ...{ engine: options.engine, endpoint: options.endpoint, port: enginePort(options) },
    allowHosts: options.allowHost,
  })
  shutdown.add(() => engine.stop())
  const client = connect(engine.direct)
  shutdown.add(() => client.destroy())
  const kept = await seed(client, TABLES, tiers).catch((error) => {
    throw error instanceof DynamoDBServiceException
      ? new StartError(`cannot create the tables at ${engine.endpoint}: ${reasonOf(error)}`)
      : error
  })

  const calls = new BackendCalls()
  let port = 0
  const page =
    options.api === 'websocket'
      ? undefined
      : createConsole({
          ...{ engine, client, env: io.env, tiers, calls, api: options.api },
          keyHeader: keyHeader(tiers) ?? null,
          samples: samplesOf(tiers, routes),
          instances: options.instances,
          replaceInstances: () => pool.replace(),
          port: () => port,
        })
  if (page) shutdown.add(() => page.close())
  const bundle = authorizerBundle(shutdown)
  const log = (printed: string) => io.note(printed.replace(/\n$/, ''))
  const pool = await createReplaceablePool(async () => {
    const instances = createAuthorizerPool(options.instances, {
      bundle,
      env: {
        ...lambdaEnvironment(page?.dynamodb ?? engine.direct, io.env),
        ...(page?.isWatched && io.env.SLUICE_LOG_LEVEL === undefined && { SLUICE_LOG_LEVEL: 'info' }),
      },
      log: (printed) => {
        const lines = io.env.SLUICE_METRICS_FLUSH_MS === undefined ? printed.replace(METRICS, '') : printed
        const shown = page ? withoutPagesOwn(lines, page, io.env) : lines
        if (shown !== '') log(shown)
      },
    })
    shutdown.add(() => instances.stop())
    await warmUp(instances, options.api === 'http' ? httpApi : restApi) // a WebSocket’s connection would be counted
    page?.logged('replaced')
    return instances
  })

  const gateway = await openGateway(options, {
    authorize: pool.authorize,
    url,
    routes,
    engine,
    log,
    calls,
    ...(accessLog && { accessLog: (line) => accessLog.add(line) }),
    ...(page && { endpoints: page.endpoints }),
    decided(decided) {
      page?.decided(decided)
      if (!options.quiet) io.line(decisionLine(decided))
    },
  }).catch((error) => {
    throw portError(error, options.port, '--port')
  })
  shutdown.add(() => gateway.close(FINISH_WITHIN_MS))
  if (page) shutdown.add(() => page.stop())
  port = gateway.port
  if (shutdown.begun) return

  const gatewayUrl = `${options.api === 'websocket' ? 'ws' : 'http'}://localhost:${gateway.port}`
  if (isLoopback(engine.endpoint)) {
    const address = `http://localhost:${gateway.port}`
    const withdraw = announceGateway({ address, dynamodb: engine.endpoint }, io.env)
    if (withdraw) shutdown.add(withdraw)
    else io.line(`no command finds this gateway without --endpoint ${engine.endpoint}: its folder cannot be written`)
  }
  io.line(`Sluice is listening on ${gatewayUrl}`)
  for (const text of welcome({ url: gatewayUrl, engine, options, kept, tiers, routes }).split('\n')) io.line(text)
  if (isLoopback(engine.endpoint)) shutdown.add(watchTiers(text, options, { client, pool, io }))
  else io.line(`${options.tiers} is not watched, since that DynamoDB is not on this machine`)
}

interface InForce {
  readonly client: DynamoDBClient
  readonly pool: ReplaceablePool
  readonly io: DevIo
}

/** Applies the tiers file whenever it is saved. @returns a function that stops this. */
function watchTiers(text: string, { tiers: path }: DevOptions, { client, pool, io }: InForce): () => void {
  let last = parseTiers(text, path)
  return watchText(path, text, {
    gone: () => io.note(`${path} is gone: the tiers stay as they are until it exists again`),
    async saved(now) {
      try {
        const tiers = parseTiers(now, path)
        const { removed, kept } = await replaceTiers(client, TABLES, tiers, last)
        last = tiers
        if (removed.length > 0) io.line(`removed, as from ${path}: ${removed.join(', ')}`)
        if (kept.length > 0) io.line(`kept, since others made it: ${kept.join(', ')}`)
      } catch (error) {
        return io.note(`${failureOf(error).message}\n${path} is not in force: the tiers stay as they are`)
      }
      try {
        await pool.replace()
        io.line(`${path} is in force`)
      } catch (error) {
        io.note(`${failureOf(error).message}\n${path} is in force within half a minute`)
      }
    },
  })
}

function readTiers(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new UserError(`${path} cannot be read: ${reasonOf(error)}`)
    throw new UserError(`there is no file ${path}: name yours with --tiers, or make one with sluice init`)
  }
}

/** The file that Lambda would load: prebuilt in the package, built from the source in a clone. */
function authorizerBundle(shutdown: Shutdown): string {
  const published = join(__dirname, '..', 'authorizer', 'index.js')
  if (existsSync(published)) return published
  const { buildAuthorizerBundle } = require('../lib/authorizer-bundle') as typeof import('../lib/authorizer-bundle')
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  shutdown.add(() => rmSync(folder, { recursive: true, force: true }))
  return buildAuthorizerBundle(folder)
}

/** Passes log events to the page, and drops the lines that are only for it. */
function withoutPagesOwn(printed: string, page: Console, env: DevIo['env']): string {
  const lines = printed.split(/(?<=\n)/).filter((line) => {
    const { event, level } = parsed(line)
    if (typeof event === 'string') page.logged(event)
    return !(page.isWatched && env.SLUICE_LOG_LEVEL === undefined && String(level).toLowerCase() === 'info')
  })
  return lines.join('')
}

function parsed(line: string): { readonly event?: unknown; readonly level?: unknown } {
  if (!line.startsWith('{')) return {}
  try {
    return JSON.parse(line)
  } catch {
    return {}
  }
}

/** Lines of metrics for CloudWatch, which are printed only on request. */
const METRICS = /^\{"_aws":.*\n/gm

/** Variables by which the user may configure the log and the metrics. */
const TELEMETRY = /^SLUICE_(LOG|METRICS)_/

/** The complete environment of the authorizer, as in Lambda. */
function lambdaEnvironment(endpoint: string, env: DevIo['env']): Record<string, string> {
  const telemetry = Object.entries(env).filter(([name, value]) => TELEMETRY.test(name) && value !== undefined)
  return {
    ...awsEnvironment(env),
    // The SDK's warning about Node versions, once for each thread; in Lambda the stack chooses the runtime.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    SLUICE_STATE_TABLE: TABLES.state,
    SLUICE_CONFIG_TABLE: TABLES.config,
    SLUICE_DYNAMODB_ENDPOINT: endpoint,
    SLUICE_LOG_LEVEL: 'warn',
    ...(Object.fromEntries(telemetry) as Record<string, string>),
    ...(env.SLUICE_DEADLINE_MS && { SLUICE_DEADLINE_MS: env.SLUICE_DEADLINE_MS }),
  }
}
