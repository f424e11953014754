import fc from 'fast-check'
import { type Leaving, stories } from './generate'
import { judge, type Law } from './judge'
import { report } from './replay'
import { World, type WorldOptions } from './world'

/** What is known and being mended: the list gets shorter. */
const LEFT_OUT: Leaving = {}

/** So many have a seed in common, unless told otherwise. */
const AT_ONCE = 500

/** The seed by which others go on after so many stories, a multiple of 500. */
export const seedAfter = (seed: number, told: number): number => seed + 1_000_003 * (told / AT_ONCE)

/** For so long a shorter story that breaks a law is looked for. */
const SHRINK_MS = 60_000

/**
 * Tells so many stories and judges each; fails with the shortest that breaks a law.
 *
 * Where the time is over before all are told, it ends after those that have begun: a story that is given up in the
 * middle would leave its virtual time behind.
 *
 * @returns how many were told.
 */
export async function tellStories(numRuns: number, telling: Telling = {}): Promise<number> {
  const {
    seed = 1,
    leaving = LEFT_OUT,
    arbitrary = stories(leaving),
    world = () => ({}),
    endAfterMs = Infinity,
    endOnFailure = false,
    only,
    atOnce = AT_ONCE,
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
    await fc.assert(property, { numRuns: count, seed: seedAfter(seed, AT_ONCE * round), endOnFailure })
    told += count
  }
  return told
}

export interface Telling {
  /** @default 1 */
  readonly seed?: number
  readonly leaving?: Leaving
  readonly arbitrary?: ReturnType<typeof stories>
  readonly world?: () => WorldOptions
  /** Begins no more of them when so much time is over. */
  readonly endAfterMs?: number
  /** Holds them to one law alone. */
  readonly only?: Law
  /** Does not look for the shortest story. */
  readonly endOnFailure?: boolean
  /** So many have a seed in common, and are told to their end whatever the time. @default 500 */
  readonly atOnce?: number
}
