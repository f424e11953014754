import { StartError } from '../../local/start-error'
import { startBenchEngine } from '../engine'
import { accountFor } from './account'
import { COST_HELP, parseCostOptions } from './options'
import { accountText } from './report'

async function main(): Promise<void> {
  const options = parseCostOptions(process.argv.slice(2))
  if (options.help) return void process.stdout.write(COST_HELP)
  const engine = await startBenchEngine(options.engine)
  try {
    const account = await accountFor(engine, options)
    console.log(options.json ? JSON.stringify(account, undefined, 2) : accountText(account))
  } finally {
    await engine.stop()
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `cost: ${error.message}` : error)
  process.exitCode = 1
})
