import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatMarkdown } from '../../lib/format-markdown'
import { StartError } from '../../local/start-error'
import { findingsText, ratesText, withFindings } from './document'
import { RATES, type Sweep } from './findings'
import { simulateSecond } from './fleet'
import { plotOf } from './plot'
import { SCENARIOS, type Scenario } from './scenarios'

const DOCS = join(__dirname, '..', '..', 'docs')

const HELP = `Simulates fleets of function instances on DynamoDB's published limits, and shows what breaks first.

  npm run bench:scale [-- options]

  --only <id>,<id>     ${SCENARIOS.map(({ id }) => id).join(', ')} (default: all)
  --up-to <rps>        highest rate; --up-to 20000 takes seconds, all rates a quarter of an hour (default: 1000000)
  --write              writes docs/scale.md, docs/scale.svg and bench/scale/rates.md; else tables are printed
  --help               this text

Each run gives the same figures, but for chance.
`

async function main(): Promise<void> {
  const { help, write, scenarios, upTo } = parse()
  if (help) return void process.stdout.write(HELP)
  const sweeps: Sweep[] = []
  for (const scenario of scenarios) sweeps.push(await sweep(scenario, upTo))
  if (!write) return console.log(`${findingsText(sweeps)}\n${ratesText(sweeps)}`)
  const file = join(DOCS, 'scale.md')
  writeFileSync(file, formatMarkdown(withFindings(readFileSync(file, 'utf8'), sweeps)))
  writeFileSync(join(__dirname, 'rates.md'), formatMarkdown(ratesText(sweeps)))
  writeFileSync(join(DOCS, 'scale.svg'), plotOf(sweeps))
}

async function sweep(scenario: Scenario, upTo: number): Promise<Sweep> {
  const points = []
  for (const rps of RATES.filter((rate) => rate <= Math.min(upTo, scenario.upTo))) {
    console.error(`${scenario.id} at ${rps.toLocaleString('en')}/s …`)
    points.push({ rps, second: await simulateSecond(scenario, rps) })
  }
  return { id: scenario.id, title: scenario.title, points }
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
