import { UserError } from './exit'

/** What `sluice dev` is told. */
export interface DevOptions {
  /** The tiers file. */
  readonly tiers: string
  /** URL of the server behind the gateway. @default the sample backend */
  readonly backend?: string
  /** An OpenAPI file, for the API's routes. @default one route for all paths; with the sample backend its routes */
  readonly openapi?: string
  /** 0 picks a free one. */
  readonly port: number
  /** Of the embedded engine. @default 10,000 above `port` */
  readonly dynamodbPort?: number
  readonly api: 'rest' | 'http' | 'websocket'
  /** The module whose `handler` has the routes of a WebSocket API. @default a sample that repeats messages */
  readonly handler?: string
  /** The route keys of a WebSocket API beside `$default`. @default none; with the sample `ask` */
  readonly routes?: readonly string[]
  /** By what a WebSocket API finds the route of a message. @default '$request.body.action' */
  readonly routeSelection?: string
  /** Function instances. */
  readonly instances: number
  /** @default the fastest that runs here */
  readonly engine?: 'dynoxide' | 'dynalite'
  /** An engine that already runs. @default an embedded one */
  readonly endpoint?: string
  /** Names other than this machine's by which the gateway may be asked. @default none */
  readonly allowHost?: readonly string[]
  /** The file to which the access log is appended. @default its last lines are only kept in memory */
  readonly accessLog?: string
  /** Whether the lines about decisions are left out. */
  readonly quiet?: boolean
}

/** What the local gateway sees of its process. */
export interface DevIo {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Prints a line for whoever watches. */
  line(text: string): void
  /** Prints a problem, which may have several lines. */
  note(text: string): void
  /** The user wants it to end. */
  readonly stop: AbortSignal
}

/**
 * Runs the local gateway until it is stopped.
 *
 * @throws UserError or ConfigError for what the user can correct. Nothing runs any more then.
 */
export type RunDev = (options: DevOptions, io: DevIo) => Promise<void>

/** The routes of a WebSocket API beside `$default`; the sample has one. */
export const routeKeysOf = ({ handler, routes }: Pick<DevOptions, 'handler' | 'routes'>): readonly string[] =>
  routes ?? (handler === undefined ? ['ask'] : [])

const MAX_PORT = 65_535
const ABOVE = 10_000

/** The port of the embedded engine: the same every time for the same gateway, so that a command can be repeated. */
export function enginePort({ port, dynamodbPort }: Pick<DevOptions, 'port' | 'dynamodbPort'>): number {
  if (dynamodbPort !== undefined) {
    if (dynamodbPort === port && port !== 0) throw new UserError(`--dynamodb-port must differ from --port, got ${port}`)
    return dynamodbPort
  }
  if (port === 0) return 0
  return port + ABOVE <= MAX_PORT ? port + ABOVE : port - ABOVE
}
