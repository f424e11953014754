import type { Tally } from './protocol'

/** What a bar is made of, from the ground up. Denied is hatched, decided without DynamoDB is amber. */
export const KINDS = [
  { name: 'allowed', label: 'allowed', colour: '--good', isHatched: false },
  { name: 'denied', label: 'denied', colour: '--bad', isHatched: true },
  { name: 'allowed-degraded', label: 'allowed without DynamoDB', colour: '--warn', isHatched: false },
  { name: 'denied-degraded', label: 'denied without DynamoDB', colour: '--warn', isHatched: true },
  { name: 'other', label: '401, 5xx and others', colour: '--other', isHatched: false },
] as const

export const SPAN_SECONDS = 120
export const BAR_SECONDS = 2

/** The requests of a bar, in the order of `KINDS`. `from` is its first second. */
export interface Bar {
  readonly from: number
  readonly counts: readonly number[]
  readonly total: number
}

/** Every request of the last two minutes, in the bar of its two seconds; the newest bar is the one that still grows. */
export function barsOf(tallies: Iterable<Tally>, nowMs: number): readonly Bar[] {
  const last = barOf(nowMs / 1000)
  const counts = new Map<number, number[]>()
  for (const [second, more] of tallies) {
    const from = barOf(second)
    if (from <= last - SPAN_SECONDS) continue
    const sums = counts.get(from) ?? KINDS.map(() => 0)
    counts.set(
      from,
      sums.map((sum, i) => sum + more[i]!),
    )
  }
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([from, sums]) => ({ from, counts: sums, total: sums.reduce((a, b) => a + b, 0) }))
}

const barOf = (second: number): number => Math.floor(second / BAR_SECONDS) * BAR_SECONDS

/** The values of an axis from 0 that has room for `most`: round ones, about four. */
export function ticksFor(most: number): readonly number[] {
  const rough = Math.max(4, most) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough && Number.isInteger(one))!
  return Array.from({ length: Math.ceil(Math.max(4, most) / step) + 1 }, (_, i) => i * step)
}
