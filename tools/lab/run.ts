import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatMarkdown } from '../../lib/format-markdown'
import { run } from '../../pages/lab/model/run'
import { scenarioOf, settingOf } from '../../pages/lab/model/scenarios'
import { SCENARIO_IDS, type ScenarioId } from '../../pages/lab/model/setting'
import { figuresTable, measuredText, PLOTTED, withMeasured } from './document'
import { plotOf } from './plot'
import { speedText } from './speed'

const DOCS = join(__dirname, '..', '..', 'docs')

const HELP = `Sends the same requests through every algorithm, in virtual time, and prints what came of it.

  npm run lab [-- options]

  --only <id>,<id>     ${SCENARIO_IDS.join(', ')} (default: all)
  --write              writes docs/choosing-an-algorithm.md and its plots; else tables are printed
  --speed              how long 100,000 requests take through all algorithms, at a limit of 1,000
  --help               this text

Each run gives the same figures.
`

function main(): void {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      write: { type: 'boolean' },
      speed: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help || values.speed) return void process.stdout.write(values.help ? HELP : `${speedText()}\n`)
  if (values.write) {
    write()
    return
  }
  const wanted = values.only?.split(',') ?? SCENARIO_IDS
  const unknown = wanted.find((id) => !SCENARIO_IDS.some((known) => known === id))
  if (unknown !== undefined) throw new Error(`--only must be some of ${SCENARIO_IDS.join(', ')}, got "${unknown}"`)
  for (const id of wanted as readonly ScenarioId[]) {
    const setting = settingOf(id)
    console.log(formatMarkdown(`## ${scenarioOf(setting).title} (\`${id}\`)\n\n${figuresTable(run(setting))}`))
  }
}

function write(): void {
  const file = join(DOCS, 'choosing-an-algorithm.md')
  writeFileSync(file, formatMarkdown(withMeasured(readFileSync(file, 'utf8'), measuredText())))
  const plots = join(DOCS, 'images', 'lab')
  mkdirSync(plots, { recursive: true })
  for (const id of PLOTTED) writeFileSync(join(plots, `${id}.svg`), plotOf(run(settingOf(id))))
}

try {
  main()
} catch (error) {
  console.error(`lab: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
