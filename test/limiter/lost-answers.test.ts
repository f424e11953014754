import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'
import { COURSES, EVERY_COUNT, happen, OPERATIONS, overAdmitting, someOf } from './lost-answers'

describe.each(OPERATIONS)('with a %s whose answer may be lost,', (operation) => {
  const courses = COURSES.filter((course) => course.operation === operation)

  it('admitted minus refunded units stay within the limit', async () => {
    expect(await overAdmitting(() => new MemoryStore(), someOf(courses, runs(30, 300)))).toEqual([])
  })

  it.each(Object.entries(EVERY_COUNT))('units are exact if no answer is lost: %s', async (_name, count) => {
    const { net, most } = await happen(new MemoryStore(), 'client:a', {
      count,
      operation,
      fates: [],
      meanwhile: 'nothing',
      sameMark: false,
    })
    expect(net).toBe(operation === 'reset' ? most - 5 : most)
  })
})
