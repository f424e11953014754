/**
 * Numbers from 0 to 1 that are the same in every run: mulberry32. @see
 * https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Time to the next event of a Poisson process, in the unit of `mean`. */
export const exponential = (random: () => number, mean: number): number => -Math.log(1 - random()) * mean

export const below = (random: () => number, count: number): number => Math.floor(random() * count)
