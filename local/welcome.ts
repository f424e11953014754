import { parse } from 'yaml'
import { TABLES } from './dynamodb'
import type { Engine } from './engines/engine'
import type { Options } from './options'
import { SAMPLE_KEYS } from './seed'

/** The fields of a tier in tiers.yaml that are printed here. */
interface Tier {
  readonly policies: readonly { readonly name: string; readonly limit: number; readonly window: string }[]
}

export interface Running {
  readonly url: string
  readonly engine: Engine
  readonly options: Options
  /** Sort keys of items that were kept because they were edited. @default none */
  readonly kept?: readonly string[]
  /** The text of tiers.yaml. */
  readonly tiersYaml: string
}

/**
 * The text after the ready line: who can call, with which limits, where decisions are made, and which commands to try.
 */
export function welcome({ url, engine, options, kept = [], tiersYaml }: Running): string {
  const tiers = (parse(tiersYaml) as { tiers: Record<string, Tier> }).tiers
  const enough = Math.min(...(tiers.anonymous?.policies ?? []).map(({ limit }) => limit)) + 5
  return [
    '',
    'Tiers and their keys, to send as X-Api-Key (without a known one the tier is anonymous, by IP address)',
    ...table(Object.entries(tiers).map(([name, tier]) => [name, keyOf(name), limitsOf(tier)])),
    ...(kept.length > 0
      ? [
          `Kept as somebody edited them, other than tiers.yaml: ${kept.map((sk) => sk.replace('#', ' ')).join(', ')}`,
          'Those in force: sluice tiers list, as below',
        ]
      : []),
    '',
    'Routes: GET /hello, GET /search, POST /batch (cost 5), and any other path',
    `API: ${API_NAMES[options.api]}, ${options.instances} authorizer instance${options.instances === 1 ? '' : 's'}`,
    `DynamoDB: ${engine.name} at ${engine.endpoint}, tables ${TABLES.state} and ${TABLES.config}`,
    '',
    'Try',
    `  curl -i ${url}/hello`,
    `  curl -i -H 'X-Api-Key: ${keyOf('free')}' '${url}/search?q=water'`,
    `  curl -i -H 'X-Api-Key: ${keyOf('pro')}' -X POST ${url}/batch`,
    ...(Number.isFinite(enough)
      ? [`  curl -i '${url}/hello?[1-${enough}]'        # that many requests: the last ones are denied`]
      : []),
    `  curl ${url}/_local/backend-calls        # what reached the backend`,
    '',
    'Manage tiers and clients, in another terminal',
    ...commandLines(engine.endpoint).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n')
}

/** Commands that work against this engine as printed; their changes are in force within half a minute. */
export function commandLines(endpoint: string): string[] {
  const [free] = SAMPLE_KEYS
  return [
    `npx sluice tiers list --endpoint ${endpoint}`,
    `npx sluice tiers export --endpoint ${endpoint} > my-tiers.yaml`,
    `npx sluice tiers apply my-tiers.yaml --endpoint ${endpoint}`,
    `npx sluice clients create acme --tier ${free.tier} --endpoint ${endpoint}`,
    `npx sluice usage ${free.id} --watch --endpoint ${endpoint}`,
    `npx sluice doctor --endpoint ${endpoint}`,
  ]
}

const API_NAMES = { rest: 'REST', http: 'HTTP (a denial is a plain 403)' } as const

function keyOf(tier: string): string {
  return SAMPLE_KEYS.find((sample) => sample.tier === tier)?.apiKey ?? ''
}

function limitsOf({ policies }: Tier): string {
  return policies.map(({ name, limit, window }) => `${limit} per ${window} (${name})`).join(', ')
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
}
