import { reasonOf, StartError } from '../local/start-error'
import { startBenchEngine } from './engine'
import { machine } from './machine'
import { HELP, type Options, parseOptions } from './options'
import type { Bench, Outcome } from './part'
import { PARTS, type PartName } from './parts'
import { loadProduct } from './product'
import { type PartReport, partText, type Report, reportHead } from './report'

/** Runs the parts one after another on one engine. */
async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) return void process.stdout.write(HELP)
  const engine = await startBenchEngine(options.engine)
  try {
    const head = { ...machine(), engine: engine.name, quick: options.quick, notes: fallbackNotes(options, engine.name) }
    const bench = { engine, product: loadProduct(), quick: options.quick }
    const parts: PartReport[] = []
    if (!options.json) console.log(reportHead(head))
    for (const part of options.only) {
      const started = performance.now()
      if (options.json || process.stderr.isTTY) console.error(`measuring ${part} …`)
      const outcome = await runPart(part, bench)
      parts.push({
        part,
        title: PARTS[part].title,
        seconds: Math.round((performance.now() - started) / 100) / 10,
        ...outcome,
      })
      if (!options.json) console.log(partText(parts.at(-1)!))
    }
    if (options.json) console.log(JSON.stringify({ ...head, parts } satisfies Report, undefined, 2))
    else console.log(summaryLine(parts))
  } finally {
    await engine.stop()
  }
}

/** The report of a part that fails is its error; the other parts still run. */
async function runPart(part: PartName, bench: Bench): Promise<Outcome> {
  try {
    return await PARTS[part].run(bench)
  } catch (error) {
    console.error(error)
    process.exitCode = 1
    return { figures: [], details: [`failed: ${reasonOf(error)}`] }
  }
}

function fallbackNotes({ engine: wish }: Options, engine: string): string[] {
  if (engine === 'dynoxide' || wish !== undefined) return []
  return [
    'dynoxide does not run here (it needs Linux on x64), so this is dynalite, in JavaScript: slower, and a call more where a condition fails.',
  ]
}

function summaryLine(parts: readonly PartReport[]): string {
  const judged = parts.flatMap(({ figures }) => figures).filter(({ met }) => met !== null)
  const missed = judged.filter(({ met }) => !met)
  const seconds = Math.round(parts.reduce((sum, part) => sum + part.seconds, 0))
  const misses = missed.length === 0 ? '' : `; missed: ${missed.map(({ figure }) => figure).join(' · ')}`
  return `${judged.length - missed.length} of ${judged.length} goals met in ${seconds} s${misses}`
}

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `bench: ${error.message}` : error)
  process.exitCode = 1
})
