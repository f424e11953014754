import fc from 'fast-check'
import { type Leaving, stories } from './generate'
import { judge, type Law } from './judge'
import { report } from './replay'
import { World, type WorldOptions } from './world'

/** What is known and being mended: the list gets shorter. */
const LEFT_OUT: Leaving = {}

/** So many at a time, each with a seed of its own: between them is when to end. */
const AT_ONCE = 500

/**
 * Tells so many stories and judges each; fails with the shortest that breaks a law.
 *
 * Where the time is over before all are told, it ends after those that have begun: a story that is given up in the middle would leave its virtual time behind.
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
  } = telling
  const endsAt = performance.now() + endAfterMs
  const property = fc.asyncProperty(arbitrary, async (story) => {
    const chronicle = await new World(story, world()).run()
    const breaches = judge(chronicle).filter(({ law }) => only === undefined || law === only)
    if (breaches.length > 0) throw new Error(report(chronicle, breaches))
  })
  let told = 0
  for (let round = 0; told < numRuns && performance.now() < endsAt; round++) {
    const count = Math.min(AT_ONCE, numRuns - told)
    await fc.assert(property, { numRuns: count, seed: seed + 1_000_003 * round, endOnFailure })
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
}
