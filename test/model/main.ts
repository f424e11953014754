import { parseArgs } from 'node:util'
import { OLD } from '../compatibility/old-library'
import { rollingStories } from '../compatibility/rolling-stories'
import { crowdedStories, looserStories, stories } from './generate'
import { runStories } from './run'
import { NEW } from './world'

const KINDS = { strict: stories, looser: looserStories, crowded: crowdedStories, rolling: rollingStories }

/** Runs random stories for as long as you like: `npm run model -- --minutes 60 --seed 7 --kind strict`. */
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
  const world = () => ({ libraries: { new: NEW, old: OLD } })
  const told = await runStories(Number(values.count), {
    seed,
    arbitrary: kind(),
    world,
    endAfterMs: Number(values.minutes) * 60_000,
  })
  process.stdout.write(`${told} stories of ${values.kind} policies, seed ${seed}: every law holds\n`)
}

void main()
