import fc from 'fast-check'
import { type LeftOut, stories } from './generate'
import { judge, type Law } from './judge'
import { report } from './replay'
import { World, type WorldOptions } from './world'

/** Steps and faults that find known mistakes, until those are repaired. */
const KNOWN_MISTAKES: LeftOut = {}

/** How many stories share a seed by default. */
const PER_SEED = 500

/** The seed of the next stories after so many, a multiple of 500. */
export const seedAfter = (seed: number, done: number): number => seed + 1_000_003 * (done / PER_SEED)

/** How long a story that breaks a law is shrunk. */
const SHRINK_MS = 60_000

/**
 * Runs random stories and judges each; fails with the shortest one that breaks a law.
 *
 * If the time is over before all have run, it ends after those that have begun: a story that is given up would leave
 * its virtual time installed.
 *
 * @returns how many have run.
 */
export async function runStories(numRuns: number, telling: RunOptions = {}): Promise<number> {
  const {
    seed = 1,
    leftOut: leaving = KNOWN_MISTAKES,
    arbitrary = stories(leaving),
    world = () => ({}),
    endAfterMs = Infinity,
    endOnFailure = false,
    only,
    atOnce = PER_SEED,
  } = telling
  const endsAt = performance.now() + endAfterMs
  let brokenAt: number | undefined
  const property = fc.asyncProperty(arbitrary, async (story) => {
    if (brokenAt !== undefined && performance.now() > brokenAt + SHRINK_MS) return
    const chronicle = await new World(story, world()).run()
    const breaches = judge(chronicle).filter(({ law }) => only === undefined || law === only)
    if (breaches.length === 0) return
    brokenAt ??= performance.now()
    throw new Error(report(chronicle, breaches))
  })
  let told = 0
  for (let round = 0; told < numRuns && performance.now() < endsAt; round++) {
    const count = Math.min(atOnce, numRuns - told)
    await fc.assert(property, { numRuns: count, seed: seedAfter(seed, PER_SEED * round), endOnFailure })
    told += count
  }
  return told
}

export interface RunOptions {
  /** @default 1 */
  readonly seed?: number
  readonly leftOut?: LeftOut
  readonly arbitrary?: ReturnType<typeof stories>
  readonly world?: () => WorldOptions
  /** Starts no more stories after so much time. */
  readonly endAfterMs?: number
  /** Checks only this law. */
  readonly only?: Law
  /** Does not shrink a story that breaks a law. */
  readonly endOnFailure?: boolean
  /** How many stories share a seed; these are all run, whatever the time. @default 500 */
  readonly atOnce?: number
}
