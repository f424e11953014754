import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'
import { COUNTINGS, OPERATIONS, overAdmitting, runScenario, SCENARIOS, sampleOf } from './lost-answers'

describe.each(OPERATIONS)('with a %s whose answer may be lost,', (operation) => {
  const courses = SCENARIOS.filter((course) => course.operation === operation)

  it('admitted minus refunded units stay within the limit', async () => {
    expect(await overAdmitting(() => new MemoryStore(), sampleOf(courses, runs(6, 300)))).toEqual([])
  })

  it.each(Object.entries(COUNTINGS))('units are exact if no answer is lost: %s', async (_name, count) => {
    const { net, most } = await runScenario(new MemoryStore(), 'client:a', {
      count,
      operation,
      faults: [],
      meanwhile: 'nothing',
      sameMark: false,
    })
    expect(net).toBe(operation === 'reset' ? most - 5 : most)
  })
})
