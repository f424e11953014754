import type { Run } from './run'

/** The highest value that any row's line reaches, and some room above the limit. */
export const highestOf = ({ rows, windowMs, setting }: Run): number =>
  rows.reduce((most, { passes }) => Math.max(most, mostIn(passes, windowMs)), setting.limit * 1.25)

function mostIn(passes: Float64Array, windowMs: number): number {
  let [from, most] = [0, 0]
  for (let i = 0; i < passes.length; i++) {
    while (passes[from]! <= passes[i]! - windowMs) from++
    most = Math.max(most, i - from + 1)
  }
  return most
}

/** The most requests in the last window, at any moment of each of so many parts of the time. */
export function lineOf(passes: Float64Array, windowMs: number, durationMs: number, parts: number): Float64Array {
  const line = new Float64Array(parts)
  let [from, until] = [0, 0]
  for (let part = 0; part < parts; part++) {
    const [begins, ends] = [(part * durationMs) / parts, ((part + 1) * durationMs) / parts]
    while (passes[from]! <= begins - windowMs) from++
    let most = until - from
    let oldest = from
    for (; passes[until]! < ends; until++) {
      while (passes[oldest]! <= passes[until]! - windowMs) oldest++
      most = Math.max(most, until - oldest + 1)
    }
    line[part] = most
  }
  return line
}
