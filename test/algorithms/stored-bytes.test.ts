import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { meteredWindow } from '../../limiter/algorithms/metered-window'
import { slidingBuckets } from '../../limiter/algorithms/sliding-buckets'
import { slidingWindow } from '../../limiter/algorithms/sliding-window'
import { epochGrid } from '../../limiter/algorithms/window-grid'

const grid = epochGrid(60_000)

/** Of a prefix, a name, and 17 digits. */
const NUMBER_BYTES = 26
/** Expired slots that stand: 32 that nobody removes yet, and 16 more while other policies' are removed first. */
const EXPIRED = 48

test.each([
  ['a fixed window its number, and a count', fixedWindow.storedBytes({ limit: 9, grid }), 1 + 1],
  ['a sliding window its number, and two counts', slidingWindow.storedBytes({ limit: 9, windowMs: 60_000 }), 1 + 2],
  [
    'sliding buckets four numbers, and counts for two windows and the present bucket',
    slidingBuckets.storedBytes({ limit: 9, windowMs: 60_000, buckets: 60 }),
    4 + 121,
  ],
  [
    'a metered window its number, and two counts for each of thirteen',
    meteredWindow.storedBytes({ limit: 9, grid } as never),
    1 + 26,
  ],
])('%s take their bytes, with the expired slots that may stand', (_, bytes, numbers) => {
  expect(bytes).toBe((numbers + EXPIRED) * NUMBER_BYTES)
})
