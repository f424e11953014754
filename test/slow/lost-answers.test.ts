import { MemoryStore } from '../../limiter/stores/memory-store'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { overAdmitting, SCENARIOS, sampleOf } from '../limiter/lost-answers'
import { type OpenEngine, openEngine, openOn } from '../stores'

describe('admitted minus refunded never exceeds the limit, whatever answers are lost', () => {
  test(`in 15000 of ${SCENARIOS.length} courses of events, in memory`, async () => {
    expect(await overAdmitting(() => new MemoryStore(), sampleOf(SCENARIOS, 15_000))).toEqual([])
  })

  const engines: [string, number, () => Promise<OpenEngine>][] = [
    ['dynoxide', 600, () => openEngine(dynoxideBinary() === undefined ? 'dynalite' : 'dynoxide')],
    ['DynamoDB Local', 150, async () => openOn(await startDynamoDbLocal())],
  ]
  test.each(engines)('on %s, in %d of them', async (_name, most, open) => {
    const engine = await open()
    try {
      expect(await overAdmitting(() => engine.store, sampleOf(SCENARIOS, most))).toEqual([])
    } finally {
      await engine.close()
    }
  })
})
