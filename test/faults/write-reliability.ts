import { startEngine } from '../../local/engines/start-engine'
import { findings, runMatrices } from './matrix'
import { tablesOf, writeTables } from './report'
import { World } from './world'

/** Runs the matrix, and writes its results into results.md. */
async function main(): Promise<void> {
  const world = await World.open(await startEngine({}))
  try {
    const matrices = await runMatrices(world)
    writeTables(tablesOf(matrices))
    for (const finding of findings(matrices)) {
      console.error(finding)
      process.exitCode = 1
    }
  } finally {
    await world.close()
  }
}

void main()
