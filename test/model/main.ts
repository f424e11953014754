import { parseArgs } from 'node:util'
import { OLD } from '../compatibility/old-library'
import { rolling } from '../compatibility/rolling-scenarios'
import { costsScenarios, crowdedScenarios, holdingScenarios, looserScenarios, scenarios } from './generate'
import { runScenarios } from './run'
import { NEW } from './simulation'

const KINDS = {
  strict: scenarios,
  looser: looserScenarios,
  costs: costsScenarios,
  crowded: crowdedScenarios,
  holding: holdingScenarios,
  rolling: () => rolling(scenarios()),
}

/** Runs random scenarios for as long as you like: `npm run model -- --minutes 60 --seed 7 --kind strict`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string' },
      kind: { type: 'string', default: 'strict' },
      count: { type: 'string', default: '100000000' },
    },
  })
  const kind = KINDS[values.kind as keyof typeof KINDS]
  if (!kind) throw new Error(`--kind must be one of ${Object.keys(KINDS).join(', ')}, got ${values.kind}`)
  const seed = values.seed === undefined ? Math.floor(performance.timeOrigin) % 2 ** 31 : Number(values.seed)
  const simulation = () => ({ libraries: { new: NEW, old: OLD } })
  const count = await runScenarios(Number(values.count), {
    seed,
    arbitrary: kind(),
    simulation,
    endAfterMs: Number(values.minutes) * 60_000,
  })
  process.stdout.write(`${count} scenarios of ${values.kind} policies, seed ${seed}: every law holds\n`)
}

void main()
