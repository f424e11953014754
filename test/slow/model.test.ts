import { DynamoDbStore } from '../../lambda/state/dynamodb-store'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { OLD, oldStoreOn } from '../compatibility/old-library'
import { rollingStories } from '../compatibility/rolling-stories'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { crowdedStories, looserStories, stories } from '../model/generate'
import { rawClient } from '../model/raw-client'
import { type Telling, tellStories } from '../model/run'
import { NEW } from '../model/world'
import { openOn, TABLE } from '../stores'

const MINUTE = 60_000

/** `MODEL=1 npm run test:slow -- test/slow/model.test.ts`: not in `.ci/run` until a whole run of it has been seen. */
const onRequest = process.env.MODEL ? describe : describe.skip

/** Says how many there was time for. */
async function tell(count: number, what: string, telling: Telling): Promise<void> {
  const told = await tellStories(count, telling)
  process.stdout.write(`# ${told} histories ${what}: every law holds\n`)
  expect(told).toBeGreaterThanOrEqual(count / 20)
}

const inMemory = () => ({ libraries: { new: NEW, old: OLD } })

onRequest('every law holds in every history', () => {
  it('of strict policies', () => tell(80_000, 'of strict policies in memory', { seed: 2, endAfterMs: 2.5 * MINUTE }))

  it('of leased and eventual ones', () =>
    tell(20_000, 'of leased and eventual ones in memory', { seed: 3, arbitrary: looserStories(), endAfterMs: 0.75 * MINUTE }))

  it('of a dozen to thirty policies on each subject', () =>
    tell(1000, 'of crowded subjects in memory', { seed: 7, arbitrary: crowdedStories(), endAfterMs: 0.25 * MINUTE }))

  it('of old instances beside new ones', () =>
    tell(10_000, 'of old beside new in memory', { seed: 4, arbitrary: rollingStories(), world: inMemory, endAfterMs: 0.5 * MINUTE }))
})

const ENGINES: readonly [string, number, () => Promise<Engine>, boolean][] = [
  ['dynoxide', 2000, () => startEngine({ engine: 'dynoxide' }), dynoxideBinary() === undefined],
  ['DynamoDB Local', 300, startDynamoDbLocal, false],
]

for (const [name, count, start, isMissing] of ENGINES) {
  const group = isMissing ? describe.skip : onRequest
  group(`every law holds on ${name}`, () => {
    let engine: Awaited<ReturnType<typeof openOn>>
    let raw: ReturnType<typeof rawClient>
    let told = 0
    beforeAll(async () => {
      engine = await openOn(await start())
      raw = rawClient(engine.endpoint)
    })
    afterAll(async () => {
      raw?.close()
      await engine?.close()
    })
    const world = () => ({
      store: new DynamoDbStore({ client: raw.client, tableName: TABLE }),
      oldStore: oldStoreOn(raw.client, TABLE),
      libraries: { new: NEW, old: OLD },
      prefix: `${name}-${told++}-`,
    })

    it('in every history of strict policies', () =>
      tell(count, `of strict policies on ${name}`, { seed: 5, world, arbitrary: stories(), endAfterMs: 1.5 * MINUTE }))

    it('in every history of a dozen to thirty policies on each subject', () =>
      tell(count / 20, `of crowded subjects on ${name}`, { seed: 8, world, arbitrary: crowdedStories(), endAfterMs: 0.5 * MINUTE }))

    it('in every history of old instances beside new ones', () =>
      tell(count / 4, `of old beside new on ${name}`, { seed: 6, world, arbitrary: rollingStories(), endAfterMs: 0.5 * MINUTE }))
  })
}
