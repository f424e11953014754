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
          'All tiers in force: sluice tiers list, as below',
        ]
      : []),
    '',
    `Routes: ${options.api === 'websocket' ? keysText(options) : routes === undefined ? 'GET /hello, GET /search, GET /export (5 a minute), POST /batch (cost 5), POST /chat (settled), and any other path' : routesText(routes, options)}`,
    `Backend: ${options.backend ?? options.handler ?? 'a sample, in this process'}`,
    `API: ${API_NAMES[options.api]}, ${counted(options.instances, 'authorizer instance')}`,
    `DynamoDB: ${engine.name} at ${engine.endpoint}, tables ${TABLES.state} and ${TABLES.config}`,
    `Save ${options.tiers}, and it is in force.`,
    '',
    'Try',
    ...(options.api === 'websocket'
      ? socketCalls(url, options, keys, header)
      : options.backend === undefined
        ? sampleCalls(url, keys, tiers)
        : ownCalls(url, keys, header)),
    `  curl ${url.replace(/^ws/, 'http')}/_local/backend-calls        # what reached the backend`,
    '',
    'Manage tiers and clients, in another terminal',
    ...commandLines(engine.endpoint, file).map((line) => `  ${line}`),
    '',
    'See who is denied, and what another limit would have done with these requests',
    ...watchLines(url.replace(/^ws/, 'http'), file).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n')
}

function sampleCalls(url: string, keys: ReadonlyMap<string, string>, tiers: Readonly<Record<string, Tier>>): string[] {
  const enough = Math.min(...(tiers[ANONYMOUS]?.policies ?? []).map(({ limit }) => limit)) + 5
  const [one, other = one] = [...keys.values()]
  return [
    `  curl -i ${url}/hello`,
    ...(one === undefined ? [] : [`  curl -i -H "X-Api-Key: ${one}" "${url}/search?q=water"`]),
    ...(other === undefined ? [] : [`  curl -i -H "X-Api-Key: ${other}" -X POST ${url}/batch`]),
    `  curl -i -X POST "${url}/chat?tokens=812"        # 500 tokens are reserved, and settled to 812`,
    ...(Number.isFinite(enough) && enough <= 1000
      ? [`  curl -i "${url}/hello?[1-${enough}]"        # that many requests: the last ones are denied`]
      : []),
  ]
}

function ownCalls(url: string, keys: ReadonlyMap<string, string>, header: string | undefined): string[] {
  const [key] = keys.values()
  return [`  curl -i ${url}/`, ...(key === undefined ? [] : [`  curl -i -H "${header}: ${key}" ${url}/`])]
}

/** With `wscat`, or any other client. */
function socketCalls(
  url: string,
  options: DevOptions,
  keys: ReadonlyMap<string, string>,
  header: string | undefined,
): string[] {
  const [[key] = [], [route] = []] = [[...keys.values()], routeKeysOf(options)]
  return [
    `  wscat -c ${url}        # then type ${route === undefined ? 'hello' : `{"action":"${route}"}`}`,
    ...(key === undefined ? [] : [`  wscat -H "${header}: ${key}" -c ${url}`]),
    `  curl -X POST --data hello ${url.replace(/^ws/, 'http')}/local/@connections/<connectionId>`,
  ]
}

const keysText = (options: DevOptions): string =>
  ['$connect', ...routeKeysOf(options), '$default', '$disconnect'].join(', ')

/** Commands that work against this engine as printed; their changes are in force within half a minute. */
export function commandLines(endpoint: string, file: TiersFile): string[] {
  const [sample] = keysOf(file)
  return [
    `npx sluice tiers list --endpoint ${endpoint}`,
    `npx sluice tiers export --endpoint ${endpoint} > my-tiers.yaml`,
    `npx sluice tiers apply my-tiers.yaml --endpoint ${endpoint}`,
    ...(sample
      ? [
          `npx sluice clients create acme --tier ${sample.tier} --endpoint ${endpoint}`,
          `npx sluice usage ${sample.id} --watch --endpoint ${endpoint}`,
        ]
      : []),
    `npx sluice history --endpoint ${endpoint}`,
    `npx sluice doctor --endpoint ${endpoint}`,
  ]
}

/** Commands that call this gateway, as printed. */
function watchLines(url: string, { tiers }: TiersFile): string[] {
  const all = Object.entries(tiers as unknown as Readonly<Record<string, Tier>>)
  const [tier, { policies: [policy] = [] }] = all.find(([name, one]) => name !== ANONYMOUS && one.policies?.length) ??
    all.find(([, one]) => one.policies?.length) ?? ['', {}]
  return [
    `npx sluice top --gateway ${url}`,
    ...(policy
      ? [`npx sluice simulate --set ${tier}.${policy.name}=${Math.ceil(policy.limit / 2)} --gateway ${url}`]
      : []),
  ]
}

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
