import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatMarkdown } from '../../lib/format-markdown'
import { StartError } from '../../local/start-error'
import { findingsText, ratesText, withFindings } from './document'
import { RATES } from './findings'
import { simulateGrowth, simulateSecond } from './fleet'
import { costPlotOf, plotOf } from './plot'
import { SCENARIOS, type Scenario } from './scenarios'
import type { Point, Sweep } from './second'

const DOCS = join(__dirname, '..', '..', 'docs')
/** What was simulated last of each scenario, from which the documents are written. */
const MEASURED = join(__dirname, 'measured.json')

const HELP = `Simulates fleets of function instances on DynamoDB's published limits, and shows what breaks first.

  npm run bench:scale [-- options]

  --only <id>,<id>     ${SCENARIOS.map(({ id }) => id).join(', ')}
                       (default: all)
  --from <rps>         lowest rate (default: 1000)
  --up-to <rps>        highest rate (default: 1000000); --up-to 20000 takes ten minutes, --from 1000000 about an hour
                       for each configuration, and 10 GB
  --write              writes docs/scale.md, its plots and bench/scale/rates.md, with what was measured before at other
                       rates and of other configurations; else tables are printed
  --help               this text

Each run gives the same figures, but for chance.
`

async function main(): Promise<void> {
  const { help, write, scenarios, from, upTo } = parse()
  if (help) return void process.stdout.write(HELP)
  const sweeps: Sweep[] = []
  for (const scenario of scenarios) {
    sweeps.push(await sweep(scenario, from, upTo))
    if (write) writeFileSync(MEASURED, `${JSON.stringify(merged(sweeps), undefined, 2)}\n`)
  }
  if (!write) return console.log(`${findingsText(sweeps)}\n${ratesText(sweeps)}`)
  const all = merged(sweeps)
  const file = join(DOCS, 'scale.md')
  writeFileSync(file, formatMarkdown(withFindings(readFileSync(file, 'utf8'), all)))
  writeFileSync(join(__dirname, 'rates.md'), formatMarkdown(ratesText(all)))
  writeFileSync(join(DOCS, 'scale.svg'), plotOf(all))
  writeFileSync(join(DOCS, 'scale-cost.svg'), costPlotOf(all))
}

/** What was measured now, and before at other rates and of other scenarios. */
function merged(sweeps: readonly Sweep[]): Sweep[] {
  const before: Sweep[] = existsSync(MEASURED) ? JSON.parse(readFileSync(MEASURED, 'utf8')) : []
  return SCENARIOS.map(({ id, title }) => {
    const points = [...before, ...sweeps].filter((sweep) => sweep.id === id).flatMap((sweep) => sweep.points)
    const latest = new Map(points.map((point) => [point.rps, point]))
    return { id, title, points: [...latest.values()].sort((one, other) => one.rps - other.rps) }
  }).filter(({ points }) => points.length > 0)
}

async function sweep(scenario: Scenario, from: number, upTo: number): Promise<Sweep> {
  const { id, title } = scenario
  const [least, most] = [Math.max(from, scenario.from ?? 0), Math.min(upTo, scenario.upTo)]
  const rates = RATES.filter((rate) => rate >= least && rate <= most)
  console.error(`${id} at ${rates.map((rps) => rps.toLocaleString('en')).join(', ')}/s …`)
  if (scenario.grows && rates.length > 0) return { id, title, points: await simulateGrowth(scenario, rates) }
  const points: Point[] = []
  for (const rps of rates) points.push({ rps, second: await simulateSecond(scenario, rps) })
  return { id, title, points }
}

function parse() {
  const options = {
    only: { type: 'string' },
    from: { type: 'string', default: String(RATES[0]) },
    'up-to': { type: 'string', default: String(RATES.at(-1)) },
    write: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const
  const { values } = parseArgs({ options })
  const wanted = values.only?.split(',')
  const unknown = wanted?.find((id) => !SCENARIOS.some((scenario) => scenario.id === id))
  if (unknown !== undefined) {
    throw new StartError(`--only must be some of ${SCENARIOS.map(({ id }) => id).join(', ')}, got "${unknown}"`)
  }
  const [from, upTo] = [Number(values.from), Number(values['up-to'])]
  if (!(from <= RATES.at(-1)!))
    throw new StartError(`--from must be a number up to ${RATES.at(-1)}, got "${values.from}"`)
  if (!(upTo >= RATES[0])) throw new StartError(`--up-to must be a number from ${RATES[0]}, got "${values['up-to']}"`)
  const scenarios = SCENARIOS.filter(({ id }) => !wanted || wanted.includes(id))
  return { help: values.help ?? false, write: values.write ?? false, scenarios, from, upTo }
}

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `bench:scale: ${error.message}` : error)
  process.exitCode = 1
})
