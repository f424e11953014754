import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { startChild } from '../child'
import { compiled } from '../product'

/** A server that answers requests with 200 or 429. */
export interface Target {
  readonly url: string
  /** Processor time that its process has used, all threads, in microseconds. */
  cpu(): Promise<number>
  stop(): Promise<void>
}

/** Longer than the default: on a busy machine decisions would miss that, and be made without the table. */
const PATIENT = { SLUICE_DEADLINE_MS: '8000' }
const READY = /listening on (http:\S+)/
const READY_WITHIN_MS = 60_000

/**
 * Starts what `npm start` runs in a process on a port of its own, with two authorizer instances and the tables at the
 * given endpoint.
 */
export async function startGatewayTarget(endpoint: string): Promise<Target> {
  const root = join(__dirname, '..', '..')
  const child = startChild(join(root, 'bin', 'sluice.js'), {
    args: ['dev', '--tiers', join(root, 'tiers.yaml'), '--port', '0', '--quiet'],
    env: { ...process.env, ...PATIENT, PORT: undefined, SLUICE_DYNAMODB_ENDPOINT: endpoint },
    preload: join(root, 'bench', 'children', 'report-cpu.ts'),
  })
  const url = await new Promise<string>((resolve, reject) => {
    let printed = ''
    const impatience = setTimeout(
      () => reject(new Error(`npm start was not ready within ${READY_WITHIN_MS / 1000} s`)),
      READY_WITHIN_MS,
    )
    child.process.stdout?.on('data', (chunk) => {
      printed += chunk
      const [, ready] = READY.exec(printed) ?? []
      if (ready === undefined) return
      clearTimeout(impatience)
      resolve(ready)
    })
    child.process.once('exit', (code) => reject(new Error(`npm start ended with code ${code}`)))
  })
  return { url, cpu: () => child.ask<number>({}), stop: () => child.stop('SIGTERM') }
}

/**
 * The bundle's handler and nothing around it but a server of twenty lines, one event at a time: one instance of the
 * function.
 */
export async function startHandlerTarget(endpoint: string): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const child = startChild(compiled('bench/children/handler.ts'), {
    args: [buildAuthorizerBundle(folder)],
    env: {
      ...PATIENT,
      PATH: process.env.PATH,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      SLUICE_DYNAMODB_ENDPOINT: endpoint,
      SLUICE_STATE_TABLE: LOCAL_TABLES.state,
      SLUICE_CONFIG_TABLE: LOCAL_TABLES.config,
    },
  })
  return {
    url: `http://127.0.0.1:${await child.ask<number>({ ask: 'port' })}`,
    cpu: () => child.ask<number>({ ask: 'cpu' }),
    stop: async () => {
      await child.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
