/** How hard others compete for what becomes free of a subject, as this instance finds it when it asks for units. */
export interface Contention {
  /** How often others had taken what had become free, less `relief` for each success. */
  readonly level: number
  /** By how much a success lowers the level: the slower units become free, the more. */
  readonly relief: number
  /** How long the denial lasts that came of the last loss, in milliseconds. */
  readonly denialMs: number
}

/**
 * The level from which an instance is held back: the higher, the slower units become free and the more often it asks,
 * since a few instances that compete for one unit a second have no need to wait.
 */
const heldBackFrom = ({ relief, denialMs }: Contention): number =>
  Math.min(36, Math.max(3, relief / 8 / Math.max(1, denialMs / 1000)))
/** Refusals a second that all instances together settle at, unless they are too many to wait so long. */
const REFUSALS_PER_SECOND = 300
/** How long an instance is held back at first: at least, and as a share of the denial. How much longer each time. */
const FIRST_WAIT_MS = 20
const FIRST_SHARE = 1 / 50
const GROWTH = 1.35
const MAX_WAIT_MS = 5000
/** By so much of its wait an instance asks earlier than another. */
const SPREAD = 0.2

/**
 * After others had taken what became free: the level rises.
 *
 * Of the asks of all instances a share p = f / (f + `REFUSALS_PER_SECOND`) finds one of the f requests a second that
 * have become free. The level stays where p of successes lower it by as much as the others raise it.
 *
 * @param freedPerSecond f.
 */
export const lost = (before: Contention | undefined, freedPerSecond: number, denialMs: number): Contention => ({
  level: (before?.level ?? 0) + 1,
  relief: REFUSALS_PER_SECOND / freedPerSecond,
  denialMs,
})

/** After a success. */
export const won = (before: Contention): Contention | undefined =>
  before.level > before.relief ? { ...before, level: before.level - before.relief } : undefined

/** How long an instance is held back once a denial is over, in milliseconds; 0 where it may ask at once. */
export function waitMs(contention: Contention): number {
  const from = heldBackFrom(contention)
  if (contention.level < from) return 0
  const first = Math.max(FIRST_WAIT_MS, contention.denialMs * FIRST_SHARE)
  return Math.min(MAX_WAIT_MS, first * GROWTH ** (contention.level - from)) * (1 - SPREAD * Math.random())
}
