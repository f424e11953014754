import type { Meter, Metered } from './meter'

/** What some traffic used, from which its price is computed. */
export interface Decisions extends Metered {
  readonly allowed: number
  readonly denied: number
  /** Decisions that called DynamoDB, which Lambda bills longer than those from memory. */
  readonly asked: number
}

/** Runs a limiter over requests: first those that are not counted, then the others. */
export async function decisionsOf(
  meters: readonly Meter[],
  { warmUp, requests }: { readonly warmUp: number; readonly requests: number },
  decideNext: () => Promise<boolean>,
): Promise<Decisions> {
  for (let i = 0; i < warmUp; i++) await decideNext()
  const start = sum(meters)
  const tally = { allowed: 0, denied: 0, asked: 0 }
  for (let i = 0; i < requests; i++) {
    const before = sum(meters)
    tally[(await decideNext()) ? 'allowed' : 'denied']++
    const after = sum(meters)
    if (after.writes + after.reads > before.writes + before.reads) tally.asked++
  }
  return { ...tally, ...combined([sum(meters), start], (end, begin) => end - begin) }
}

const sum = (meters: readonly Meter[]): Metered =>
  combined(
    meters.map(({ total }) => total),
    (one, other) => one + other,
  )

function combined(all: readonly Metered[], of: (one: number, other: number) => number): Metered {
  return all.reduce((one, other) => ({
    writes: of(one.writes, other.writes),
    refused: of(one.refused, other.refused),
    writeUnits: of(one.writeUnits, other.writeUnits),
    reads: of(one.reads, other.reads),
    readUnits: of(one.readUnits, other.readUnits),
  }))
}
