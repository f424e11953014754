import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { slidingBuckets } from '../../limiter/algorithms/sliding-buckets'
import { slidingWindow } from '../../limiter/algorithms/sliding-window'
import { epochGrid } from '../../limiter/algorithms/window-grid'
import { applyWrite } from './timeline'

const seconds: [string, (known: Fields, at: number) => ReturnType<Algorithm<never>['step']>][] = [
  ['fixed window', (known, at) => fixedWindow.step(known, { limit: 4, grid: epochGrid(1000) }, 1, at)],
  ['sliding window', (known, at) => slidingWindow.step(known, { limit: 4, windowMs: 1000 }, 1, at)],
  ['sliding bucket', (known, at) => slidingBuckets.step(known, { limit: 4, windowMs: 1000, buckets: 1 }, 1, at)],
]

test.each(seconds)('a clock that is behind charges the newest %s that it has seen, while that is stored', (_, step) => {
  const seen: Fields = { w: 6, '06': 1 }
  const { write } = step(seen, 5500)
  expect(applyWrite(write!, seen)).toMatchObject({ w: 6, '06': 2 })
  const others: Fields[] = [{ w: 7, '07': 1 }, { w: 5, '05': 1 }, {}]
  for (const stored of others) expect(holds(write!.guard, stored)).toBe(false)
})
