import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** This process's use of memory and descriptors. */
export interface Health {
  /** After garbage collection, in bytes. */
  readonly heap: number
  readonly rss: number
  /** Open descriptors; `undefined` where they cannot be counted. */
  readonly descriptors: number | undefined
}

/** Growth since the warm-up that counts as a leak. */
const MOST_GROWTH = 0.05
/** By how many bytes a heap differs between two collections, and a process because its allocator keeps memory. */
const HEAP_NOISE = 512 * 1024
const RSS_NOISE = 8 * 2 ** 20
/** The SDK keeps as many connections, up to 50, as were busy at once in a busy moment. */
const DESCRIPTOR_NOISE = 50

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export function healthNow(): Health {
  for (let i = 0; i < 3; i++) collect()
  const { heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed, rss, descriptors: openDescriptors() }
}

/** What has grown, in sentences. @param settled as it stood after the warm-up. */
export function growth(settled: Health, now: Health): string[] {
  const grown = (name: string, before: number, after: number, noise: number) =>
    after - before > Math.max(before * MOST_GROWTH, noise)
      ? [`${name} grew from ${megabytes(before)} to ${megabytes(after)} MB`]
      : []
  return [
    ...grown('the heap', settled.heap, now.heap, HEAP_NOISE),
    ...grown('the process', settled.rss, now.rss, RSS_NOISE),
    ...(now.descriptors !== undefined && now.descriptors > settled.descriptors! + DESCRIPTOR_NOISE
      ? [`${now.descriptors} descriptors are open, there were ${settled.descriptors}`]
      : []),
  ]
}

export const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined // not on Linux
  }
}
