import type { Spread } from './figure'

/** Median and extremes of several rounds. */
export interface Summary {
  readonly measured: number
  readonly spread: Spread
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2
}

/** The value that a share of all values does not exceed: 0.99 for the 99th percentile. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!
}

export function summary(values: readonly number[]): Summary {
  return { measured: median(values), spread: { min: Math.min(...values), max: Math.max(...values) } }
}

/** Compared round by round: what slowed the machine down in one round slowed both. */
export const ratios = (values: readonly number[], to: readonly number[]): number[] =>
  values.map((value, round) => value / to[round]!)

/** What to run, and for how long. */
export interface Rounds {
  readonly most: number
  /** Rounds that are run even if the time is over. */
  readonly least: number
  readonly budgetMs: number
}

/**
 * Measures each arm once a round, in turns A B C, C B A, …, so that a drift of the machine favours none. One round
 * of warm-up comes first.
 */
export async function interleaved<Arm extends string>(
  arms: Readonly<Record<Arm, () => Promise<number>>>,
  { most, least, budgetMs }: Rounds,
): Promise<Record<Arm, number[]>> {
  const names = Object.keys(arms) as Arm[]
  const measured = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Arm, number[]>
  for (const name of names) await arms[name]()
  const endsAt = performance.now() + budgetMs
  for (let round = 0; round < most && (round < least || performance.now() < endsAt); round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) measured[name].push(await arms[name]())
  }
  return measured
}
