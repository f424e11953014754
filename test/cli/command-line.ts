import { PassThrough } from 'node:stream'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { run } from '../../bin/main'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { Interrupts, type Io } from '../../cli/terminal/io'
import { createStateTable } from '../../limiter/stores/state-table'
import type { Engine, EngineName } from '../../local/engines/engine'
import { createConfigTable } from '../../tiered/create-config-table'
import { ENGINES, type OpenEngine, openEngine, openOn } from '../stores'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface Situation {
  readonly env?: Readonly<Record<string, string>>
  /** What is typed; there is a terminal to type on only with this. */
  readonly typed?: string
  /** Whether standard output is a terminal. */
  readonly terminal?: boolean
  readonly now?: number
  readonly interrupts?: Interrupts
  readonly onOut?: (text: string) => void
  readonly onErr?: (text: string) => void
  /** The command line to run. @default this release's */
  readonly run?: typeof run
}

/**
 * No test asks AWS whose credentials it has, nor a local gateway that somebody else runs: `fetch` refuses to connect to
 * this port, and no gateway can say in this folder that it runs.
 */
export const NOBODY = { AWS_ENDPOINT_URL_STS: 'http://127.0.0.1:9', XDG_RUNTIME_DIR: '/dev/null' }

/** Runs a command line in this process. */
export async function sluice(args: readonly string[], situation: Situation = {}): Promise<Said> {
  let [out, err] = ['', '']
  const { typed, terminal = false, now } = situation
  const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined })
  stdin.end(typed ?? '')
  const io: Io = {
    stdin,
    stdout: {
      isTTY: terminal,
      columns: 120,
      write: (text) => {
        out += text
        situation.onOut?.(text)
      },
    },
    stderr: {
      write: (text) => {
        err += text
        situation.onErr?.(text)
      },
    },
    env: { ...NOBODY, ...situation.env },
    clock: () => now ?? Date.now(),
    interrupts: situation.interrupts ?? new Interrupts(),
  }
  const code = await (situation.run ?? run)(args, io, '1.2.3')
  return { code, out, err }
}

/** An engine with both tables under the names of `npm start`, and the command line pointed at it. */
export interface Deployment extends OpenEngine {
  readonly engine: string
  sluice(args: readonly string[], situation?: Situation): Promise<Said>
  /** The JSON that a command prints; throws when it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: what it is stands in the test
  json(args: readonly string[], situation?: Situation): Promise<any>
  /** Puts items into the config table as somebody with a console would. */
  put(...items: readonly Record<string, unknown>[]): Promise<void>
}

export async function deploy(engine: EngineName | Engine = ENGINES[0]!): Promise<Deployment> {
  const opened = await (typeof engine === 'string' ? openEngine(engine) : openOn(engine))
  await createStateTable(opened.client, LOCAL_TABLES.state)
  await createConfigTable(opened.client, LOCAL_TABLES.config)
  const at = (args: readonly string[], situation?: Situation) =>
    sluice([...args, '--endpoint', opened.endpoint], situation)
  return {
    ...opened,
    engine: typeof engine === 'string' ? engine : engine.name,
    sluice: at,
    async json(args, situation) {
      const { code, out, err } = await at([...args, '--json'], situation)
      if (code !== 0) throw new Error(`exit code ${code}: ${err}`)
      return JSON.parse(out)
    },
    put: (...items) => put(opened.client, items),
  }
}

async function put(client: DynamoDBClient, items: readonly Record<string, unknown>[]): Promise<void> {
  const documents = DynamoDBDocumentClient.from(client)
  for (const Item of items) await documents.send(new PutCommand({ TableName: LOCAL_TABLES.config, Item }))
}

/** Tiers to start from. */
export const TIERS = [
  { pk: 'policy-set', sk: 'tier#anonymous', by: 'ip', policies: [{ name: 'per-minute', limit: 20, window: '1m' }] },
  {
    pk: 'policy-set',
    sk: 'tier#free',
    policies: [
      { name: 'per-minute', limit: 60, window: '1m' },
      { name: 'per-day', limit: 1000, window: '1d', algorithm: 'fixed-window' },
    ],
  },
  { pk: 'policy-set', sk: 'tier#pro', policies: [{ name: 'per-minute', limit: 600, window: '1m' }] },
] as const
