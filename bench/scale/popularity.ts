import { below } from '../random'

/** Picks one of so many clients: all alike, or the n-th as often as 1 ÷ n^skew (Zipf), the first the most popular. */
export function popularity(clients: number, skew: number): (random: () => number) => number {
  if (skew === 0) return (random) => below(random, clients)
  const upTo = new Float64Array(clients)
  let sum = 0
  for (let i = 0; i < clients; i++) {
    sum += 1 / (i + 1) ** skew
    upTo[i] = sum
  }
  return (random) => {
    const wanted = random() * sum
    let [low, high] = [0, clients - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (upTo[middle]! < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}
