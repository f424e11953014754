import { setTimeout as sleep } from 'node:timers/promises'
import { OwnTime } from '../in-time'

it('the time of a process counts its waits, and not what is taken from it', async () => {
  const time = new OwnTime()
  const startedAt = performance.now()
  await sleep(80)
  const wokenAt = performance.now()
  while (performance.now() < wokenAt + 300); // nothing else of this process runs
  await sleep(1)
  const endedAt = performance.now()
  time.stop()
  expect(time.between(startedAt, wokenAt)).toBeGreaterThan(20)
  expect(time.between(wokenAt, endedAt)).toBeLessThan(60)
})
