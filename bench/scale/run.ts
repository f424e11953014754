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
  --up-to <rps>        highest rate (default: 1000000); --up-to 20000 takes two minutes, all rates some hours and 10 GB
  --write              writes docs/scale.md, its plots and bench/scale/rates.md, with what was measured before of the
                       configurations that are not among these; else tables are printed
  --help               this text

Each run gives the same figures, but for chance.
`

async function main(): Promise<void> {
  const { help, write, scenarios, upTo } = parse()
  if (help) return void process.stdout.write(HELP)
  const sweeps: Sweep[] = []
  for (const scenario of scenarios) {
    sweeps.push(await sweep(scenario, upTo))
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

/** What was measured now, and before of the other scenarios. */
function merged(sweeps: readonly Sweep[]): Sweep[] {
  const before: Sweep[] = existsSync(MEASURED) ? JSON.parse(readFileSync(MEASURED, 'utf8')) : []
  return SCENARIOS.flatMap(({ id, title }) => {
    const found = sweeps.find((sweep) => sweep.id === id) ?? before.find((sweep) => sweep.id === id)
    return found ? [{ ...found, title }] : []
  })
}

async function sweep(scenario: Scenario, upTo: number): Promise<Sweep> {
  const { id, title } = scenario
  const rates = RATES.filter((rate) => rate >= (scenario.from ?? 0) && rate <= Math.min(upTo, scenario.upTo))
  console.error(`${id} at ${rates.map((rps) => rps.toLocaleString('en')).join(', ')}/s …`)
  if (scenario.grows) return { id, title, points: await simulateGrowth(scenario, rates) }
  const points: Point[] = []
  for (const rps of rates) points.push({ rps, second: await simulateSecond(scenario, rps) })
  return { id, title, points }
}

function parse() {
  const options = {
    only: { type: 'string' },
    'up-to': { type: 'string' },
    write: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const
  const { values } = parseArgs({ options })
  const wanted = values.only?.split(',')
  const unknown = wanted?.find((id) => !SCENARIOS.some((scenario) => scenario.id === id))
  if (unknown !== undefined) {
    throw new StartError(`--only must be some of ${SCENARIOS.map(({ id }) => id).join(', ')}, got "${unknown}"`)
  }
  const upTo = Number(values['up-to'] ?? RATES.at(-1))
  if (!(upTo >= RATES[0])) throw new StartError(`--up-to must be a number from ${RATES[0]}, got "${values['up-to']}"`)
  const scenarios = SCENARIOS.filter(({ id }) => !wanted || wanted.includes(id))
  return { help: values.help ?? false, write: values.write ?? false, scenarios, upTo }
}

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `bench:scale: ${error.message}` : error)
  process.exitCode = 1
})
