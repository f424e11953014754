import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authorizerBundleOptions, bundle } from '../../lib/authorizer-bundle'
import { createStateTable } from '../../limiter'
import { eventOf } from '../authorizer-event'
import { lambdaEnvironment } from '../cold-start'
import { apiKeyOf, fillConfigTable } from '../config-tables'
import { CountingClient } from '../engine'
import { toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { interleaved, median, ratios, summary } from '../statistics'

type Alias = keyof typeof authorizerBundleOptions.alias

interface StandIn {
  readonly aliases?: readonly Alias[]
  readonly files?: readonly string[]
  /** Another stand-in, without which this one's original does not build: both bundles are without that. */
  readonly without?: string
}

/** What the SDK would be asked for, were a stand-in of lib/authorizer-bundle not there: aliases, and replaced files. */
const STAND_INS: Readonly<Record<string, StandIn>> = {
  'item-calls': {
    aliases: ['@aws-sdk/core/protocols', '@aws-sdk/dynamodb-codec', '@smithy/core/schema'],
    files: ['@aws-sdk/client-dynamodb/dist-es/schemas/schemas_0.js'],
  },
  'environment-credentials': { aliases: ['@aws-sdk/credential-provider-node'], without: 'item-calls' },
  'environment-settings': {
    files: [
      '@smithy/core/dist-es/submodules/config/node-config-provider/configLoader.js',
      '@smithy/core/dist-es/submodules/config/config-resolver/regionConfig/getInstanceMetadataRegion.js',
    ],
  },
  'region-endpoints': {
    files: [
      '@aws-sdk/client-dynamodb/dist-es/endpoint/endpointResolver.js',
      '@aws-sdk/core/dist-es/submodules/client/util-endpoints/aws.js',
    ],
  },
  'no-retries': {
    aliases: ['@smithy/core/retry'],
    files: ['@smithy/core/dist-es/submodules/config/defaults-mode/resolveDefaultsModeConfig.js'],
  },
  'no-event-streams': {
    aliases: ['@smithy/core/event-streams'],
    files: ['@smithy/signature-v4/dist-es/HeaderFormatter.js'],
    without: 'node-sha256',
  },
  'no-endpoint-discovery': { aliases: ['@aws-sdk/middleware-endpoint-discovery'] },
  'node-sha256': { aliases: ['@smithy/core/checksum'] },
}

const DECISIONS = 400
const TABLES = { state: 'bench-stand-ins-state', config: 'bench-stand-ins-config' }

/** Loads a bundle, decides once, and then many times; each in milliseconds of processor time. */
const SCRIPT = `
const cpuMs = (since) => { const { user, system } = process.cpuUsage(since); return (user + system) / 1000 }
const [file, event, decisions] = [process.argv[1], JSON.parse(process.argv[2]), Number(process.argv[3])]
const start = process.cpuUsage()
const { handler } = require(file)
const loadCpuMs = cpuMs(start)
const decide = async () => {
  const { isAuthorized, context } = await handler(event)
  if (!isAuthorized || context.reason !== 'ok' || context.degraded) throw new Error(JSON.stringify(context))
}
const main = async () => {
  const first = process.cpuUsage()
  await decide()
  const firstCpuMs = cpuMs(first)
  const rest = process.cpuUsage()
  for (let i = 0; i < decisions; i++) await decide()
  const told = JSON.stringify({ loadCpuMs, firstCpuMs, decisionCpuMs: cpuMs(rest) / decisions })
  process.stdout.write('\\n' + told, () => process.exit())
}
main().catch((error) => { console.error(error); process.exit(1) })
`

interface Measured {
  readonly loadCpuMs: number
  readonly firstCpuMs: number
  readonly decisionCpuMs: number
}

/** What each stand-in for a part of the SDK saves: the bundle without it compared with the bundle as it is. */
export const standIns: Part = {
  title: 'Stand-ins for parts of the SDK',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, TABLES.state)
    await fillConfigTable(client, TABLES.config, { tiers: 4, clients: 3, routes: 0 })
    client.destroy()
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    try {
      const rows = []
      for (const [name, standIn] of Object.entries(STAND_INS)) {
        const others = standIn.without === undefined ? [] : [STAND_INS[standIn.without]!]
        const ours = build(join(folder, 'ours'), others)
        rows.push(await rowOf(bench, name, ours, build(join(folder, 'without'), [...others, standIn])))
      }
      return {
        figures: rows.flatMap(({ figures }) => figures),
        details: [
          'Each row: the bundle without that one stand-in against the bundle as it is, in fresh processes, in turns; above 1 the',
          `stand-in pays. Processor time of require(), of the first decision, and of each of ${DECISIONS} after it.`,
          ...rows.map(({ detail }) => detail),
        ],
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function build(outdir: string, without: readonly StandIn[]): string {
  const aliases = without.flatMap(({ aliases = [] }) => aliases)
  const files = without.flatMap(({ files = [] }) => files)
  const alias = Object.fromEntries(
    Object.entries(authorizerBundleOptions.alias).filter(([name]) => !aliases.some((one) => one === name)),
  )
  bundle({ ...authorizerBundleOptions, alias, outdir }, files)
  return join(outdir, 'index.js')
}

async function rowOf(bench: Bench, name: string, ours: string, without: string) {
  const runs: Record<'ours' | 'without', Measured[]> = { ours: [], without: [] }
  const arm = (which: 'ours' | 'without', file: string) => async () => {
    const measured = measure(bench, file)
    runs[which].push(measured)
    return measured.loadCpuMs
  }
  const rounds = bench.quick ? { most: 2, least: 2, budgetMs: 1000 } : { most: 25, least: 15, budgetMs: 25_000 }
  await interleaved({ ours: arm('ours', ours), without: arm('without', without) }, rounds)
  const of = (field: keyof Measured) => {
    const [own, other] = [runs.ours, runs.without].map((all) => all.slice(1).map((one) => one[field])) // warmed up
    return summary(ratios(other!, own!))
  }
  const kilobytes = (statSync(without).size - statSync(ours).size) / 1000
  const [load, first, decision] = [of('loadCpuMs'), of('firstCpuMs'), of('decisionCpuMs')]
  return {
    figures: [
      toFigure(`without ${name}: larger by`, { measured: kilobytes, unit: 'KB' }),
      toFigure(`without ${name}: load time`, { ...load, unit: '×' }),
    ],
    detail: `${name}: ${kilobytes.toFixed(1)} KB; load ${load.measured.toFixed(2)}×; first decision ${first.measured.toFixed(2)}×; each decision ${decision.measured.toFixed(2)}× (${runs.ours.length - 1} pairs; load ${median(runs.ours.map(({ loadCpuMs }) => loadCpuMs)).toFixed(1)} ms as it is).`,
  }
}

function measure({ engine }: Bench, file: string): Measured {
  const event = eventOf({ path: '/hello', ip: '198.51.100.7', apiKey: apiKeyOf(0) })
  const output = execFileSync(process.execPath, ['--eval', SCRIPT, file, JSON.stringify(event), String(DECISIONS)], {
    env: lambdaEnvironment(engine, TABLES),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return JSON.parse(output.slice(output.lastIndexOf('\n') + 1)) as Measured
}
