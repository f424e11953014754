import { type DevOptions, routeKeysOf } from '../cli/dev-options'
import { counted, limitText } from '../cli/terminal/output'
import { ANONYMOUS } from '../lambda/config-table/items/tiers'
import { checkTiersFile, type TiersFile } from '../provisioning/tiers-file'
import { TABLES } from './dynamodb'
import type { Engine } from './engines/engine'
import type { Route } from './gateway/routes'
import { keysOf } from './seed'

/** The fields of a tier that are printed here. */
interface Tier {
  readonly policies?: readonly { readonly name: string; readonly limit: number; readonly window?: string }[]
}

export interface Running {
  readonly url: string
  readonly engine: Engine
  readonly options: DevOptions
  /** Sort keys of items that were kept because they were edited. @default none */
  readonly kept?: readonly string[]
  readonly tiers: TiersFile
  /** @default those of the sample API */
  readonly routes?: readonly Route[]
}

/** The text after the ready line: callers and their limits, where decisions are made, and commands to try. */
export function welcome({ url, engine, options, kept = [], tiers: file, routes }: Running): string {
  const tiers = file.tiers as unknown as Readonly<Record<string, Tier>>
  const header = keyHeader(file)
  const keys = new Map(header === undefined ? [] : keysOf(file).map(({ tier, apiKey }) => [tier, apiKey]))
  const named = Object.keys(tiers)
  return [
    ...(options.api === 'websocket'
      ? []
      : [`Open ${url}/_local/ to see what a limit does, and ${url}/_local/lab to compare the algorithms`]),
    '',
    header === undefined
      ? 'Tiers'
      : `Tiers and their keys, to send as ${header} (without a known one the tier is ${ANONYMOUS}, by IP address)`,
    ...table(named.map((name) => [name, keys.get(name) ?? '', limitsOf(tiers[name]!)])),
    ...(kept.length > 0
      ? [
          `Edited by hand and kept, unlike ${options.tiers}: ${kept.map((sk) => sk.replace('#', ' ')).join(', ')}`,
          'All tiers in force: npx sluice tiers list',
        ]
      : []),
    '',
    `Routes: ${options.api === 'websocket' ? keysText(options) : routes === undefined ? 'GET /hello, GET /search, GET /export (5 a minute), POST /batch (cost 5), POST /chat (settled), and any other path' : routesText(routes, options)}`,
    `Backend: ${options.backend ?? options.handler ?? 'a sample, in this process'}`,
    `API: ${API_NAMES[options.api]}, ${counted(options.instances, 'authorizer instance')}`,
    `DynamoDB: ${engine.name} at ${engine.endpoint}, tables ${TABLES.state} and ${TABLES.config}`,
    `Save ${options.tiers}, and it is in force.`,
    '',
    'Try, in another terminal',
    ...calls(url, options, keys, header, tiers).map((line) => `  ${line}`),
    `  npx sluice top --gateway ${url.replace(/^ws/, 'http')}        # who is denied, and by which policy`,
    `All commands: npx sluice --help, with --endpoint ${engine.endpoint} for these tables. A tour: docs/tutorial.md`,
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n')
}

/** One caller up to its limit where that is near, and one with a key; over WebSocket with `wscat`, or any client. */
function calls(
  url: string,
  options: DevOptions,
  keys: ReadonlyMap<string, string>,
  header: string | undefined,
  tiers: Readonly<Record<string, Tier>>,
): string[] {
  const [[key] = [], [route] = []] = [[...keys.values()], routeKeysOf(options)]
  const isSocket = options.api === 'websocket'
  const path = options.backend === undefined ? '/hello' : '/'
  const enough = Math.min(...(tiers[ANONYMOUS]?.policies ?? []).map(({ limit }) => limit)) + 5
  const [program, target] = isSocket ? ['wscat', `-c ${url}`] : ['curl -i', `${url}${path}`]
  const first = isSocket
    ? `${target}        # then type ${route === undefined ? 'hello' : `{"action":"${route}"}`}`
    : enough <= 1000
      ? `"${target}?[1-${enough}]"        # that many requests: the last ones are denied`
      : target
  return [`${program} ${first}`, ...(key === undefined ? [] : [`${program} -H "${header}: ${key}" ${target}`])]
}

const keysText = (options: DevOptions): string =>
  ['$connect', ...routeKeysOf(options), '$default', '$disconnect'].join(', ')

const API_NAMES = {
  rest: 'REST',
  http: 'HTTP (a denial is a plain 403)',
  websocket: 'WebSocket (a connection is denied with a plain 403)',
} as const

/** The header in which an API key is sent; `undefined` if the tiers read none. */
export function keyHeader(file: TiersFile): string | undefined {
  const source = checkTiersFile(file, '').settings.identity.find((one) => one.source === 'api-key')
  return source?.header.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}

const routesText = (routes: readonly Route[], { openapi }: DevOptions): string =>
  openapi === undefined ? 'one for all paths' : `${counted(routes.length, 'method')} of ${openapi}`

function limitsOf({ policies = [] }: Tier): string {
  return policies.map(({ name, limit, window }) => `${limitText(limit, window)} (${name})`).join(', ')
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
}
