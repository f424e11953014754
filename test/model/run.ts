import fc from 'fast-check'
import { type LeftOut, scenarios } from './generate'
import { judge } from './judge'
import type { Law } from './laws'
import { report } from './replay'
import { Simulation, type SimulationOptions } from './simulation'

/** Steps and faults that find known mistakes, until those are repaired. */
const KNOWN_MISTAKES: LeftOut = {}

/** How many scenarios share a seed by default. */
const PER_SEED = 500

/** The seed of the next scenarios after so many, a multiple of 500. */
export const seedAfter = (seed: number, done: number): number => seed + 1_000_003 * (done / PER_SEED)

/** How long a scenario that breaks a law is shrunk. */
const SHRINK_MS = 60_000

/**
 * Runs random scenarios and judges each; fails with the shortest one that breaks a law.
 *
 * If the time is over before all have run, it ends after those that have begun: a scenario that is given up would leave
 * its virtual time installed.
 *
 * @returns how many have run.
 */
export async function runScenarios(numRuns: number, options: RunOptions = {}): Promise<number> {
  const {
    seed = 1,
    leftOut: leaving = KNOWN_MISTAKES,
    arbitrary = scenarios(leaving),
    simulation = () => ({}),
    endAfterMs = Infinity,
    endOnFailure = false,
    only,
    atOnce = PER_SEED,
  } = options
  const endsAt = performance.now() + endAfterMs
  let brokenAt: number | undefined
  const property = fc.asyncProperty(arbitrary, async (scenario) => {
    if (brokenAt !== undefined && performance.now() > brokenAt + SHRINK_MS) return
    const chronicle = await new Simulation(scenario, simulation()).run()
    const breaches = judge(chronicle).filter(({ law }) => only === undefined || law === only)
    if (breaches.length === 0) return
    brokenAt ??= performance.now()
    throw new Error(report(chronicle, breaches))
  })
  let done = 0
  for (let round = 0; done < numRuns && performance.now() < endsAt; round++) {
    const count = Math.min(atOnce, numRuns - done)
    await fc.assert(property, { numRuns: count, seed: seedAfter(seed, PER_SEED * round), endOnFailure })
    done += count
  }
  return done
}

export interface RunOptions {
  /** @default 1 */
  readonly seed?: number
  readonly leftOut?: LeftOut
  readonly arbitrary?: ReturnType<typeof scenarios>
  readonly simulation?: () => SimulationOptions
  /** Starts no more scenarios after so much time. */
  readonly endAfterMs?: number
  /** Checks only this law. */
  readonly only?: Law
  /** Does not shrink a scenario that breaks a law. */
  readonly endOnFailure?: boolean
  /** How many scenarios share a seed; these are all run, whatever the time. @default 500 */
  readonly atOnce?: number
}
