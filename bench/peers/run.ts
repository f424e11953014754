import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../../lib/format-markdown'
import { StartError } from '../../local/start-error'
import { type BenchEngine, startBenchEngine } from '../engine'
import { machine } from '../machine'
import { Proxies } from '../proxies'
import { reportHead } from '../report'
import { measurePrograms, openStores, wrongPrograms } from './compare-programs'
import { type Entrant, type Present, startContenders } from './contenders'
import { EXPERIMENTS, type Experiment, type Finding } from './experiments'
import { PEERS_HELP, parsePeersOptions } from './options'
import { COLUMNS, programsTable } from './programs-table'
import { measureSpeed } from './speed'
import { howText, markdownTable, type Part, type Row, replaceGenerated, speedRows } from './table'

const DOCUMENT = join(__dirname, '..', '..', 'docs', 'comparison.md')

/** A table of the document with its notes, and in which of its questions Sluice was wrong. */
interface Compared {
  readonly text: string
  readonly wrong: readonly string[]
}

async function main(): Promise<void> {
  const { help, smoke, write, programs, engine: wish } = parsePeersOptions(process.argv.slice(2))
  if (help) return void process.stdout.write(PEERS_HELP)
  const engine = await startBenchEngine(wish)
  try {
    const head = reportHead({ ...machine(), engine: engine.name, quick: smoke, notes: [] }).trim()
    const wrong: string[] = []
    const report = (part: Part, compared: Compared): void => {
      const generated = `${head}\n\n${compared.text}`
      console.log(`${generated}\n`)
      if (write)
        writeFileSync(DOCUMENT, formatMarkdown(replaceGenerated(readFileSync(DOCUMENT, 'utf8'), part, generated)))
      wrong.push(...compared.wrong)
    }
    if (!programs) report('bench:peers', await compareContenders(engine, smoke))
    report('bench:peers programs', await comparePrograms(engine))
    if (wrong.length > 0) process.exitCode = 1
    console.log(wrong.length === 0 ? 'Sluice was right in every experiment.' : `Sluice was wrong: ${wrong.join('; ')}`)
  } finally {
    await engine.stop()
  }
}

async function comparePrograms({ endpoint }: BenchEngine): Promise<Compared> {
  const stores = await openStores(endpoint)
  try {
    const all = await measurePrograms(stores, console.error)
    return { text: `${programsTable(all)}\n\n${howText(COLUMNS)}`, wrong: wrongPrograms(all) }
  } finally {
    await stores.stop()
  }
}

async function compareContenders({ endpoint }: BenchEngine, smoke: boolean): Promise<Compared> {
  const stops: (() => Promise<void>)[] = []
  try {
    const proxies = new Proxies()
    stops.push(() => proxies.stop())
    const entrants = await startContenders(proxies, endpoint, smoke ? 10_000 : 60_000)
    const present = entrants.filter((entrant) => 'contender' in entrant)
    stops.push(...present.map((entrant) => () => entrant.contender.stop()))
    console.error('decisions in turns …')
    const speeds = speedRows(await measureSpeed(present, smoke))
    const { rows, wrong } = await ask(present)
    for (const text of missingTexts(entrants)) console.log(text)
    return { text: `${markdownTable(entrants, [...speeds, ...rows])}\n\n${howText(EXPERIMENTS)}`, wrong }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

/** Runs every experiment on every contender. A cell has the message of one that fails; Sluice must be right. */
async function ask(present: readonly Present[]): Promise<{ rows: Row[]; wrong: string[] }> {
  const found = new Map<Experiment, Map<string, Finding>>()
  const put = async (experiment: Experiment, entrant: Present): Promise<void> => {
    const finding = await experiment.run(entrant).catch((error: Error) => ({ cell: error.message, right: false }))
    found.set(experiment, (found.get(experiment) ?? new Map<string, Finding>()).set(entrant.name, finding))
  }
  for (const experiment of EXPERIMENTS) {
    console.error(`${experiment.question} …`)
    await Promise.all(present.map((entrant) => put(experiment, entrant)))
  }
  return {
    rows: EXPERIMENTS.map((experiment) => ({
      question: experiment.question,
      cells: new Map([...found.get(experiment)!].map(([name, { cell }]) => [name, cell])),
    })),
    wrong: EXPERIMENTS.filter((experiment) =>
      [...found.get(experiment)!].some(([name, { right }]) => name.startsWith('sluice') && !right),
    ).map(({ question }) => question),
  }
}

const missingTexts = (entrants: readonly Entrant[]): string[] =>
  entrants.flatMap((entrant) => ('missing' in entrant ? [`${entrant.name} did not run: ${entrant.missing}`] : []))

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `bench:peers: ${error.message}` : error)
  process.exitCode = 1
})
