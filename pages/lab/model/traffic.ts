import { exponential, seeded } from '../../../bench/random'

/** Requests before any answer. */
export interface Traffic {
  /** When each comes, in whole milliseconds from the start, the first one first. */
  readonly times: readonly number[]
  /** Who sends each. @default all are client 0 */
  readonly clients?: readonly number[]
  readonly durationMs: number
  /** All clients count together; `fair` holds each to its share. @default each has the limit for itself */
  readonly shared?: 'first-come' | { readonly fair: true; readonly seed: number }
  /** What a client does that was denied. @default it gives up */
  readonly retry?: Retry
}

interface Retry {
  /** Milliseconds from a denial to the next try, or as long as the denial says. */
  readonly afterMs: number | 'as-told'
  /** After so many retries a client gives up. */
  readonly most: number
}

/** So many moments, evenly over `[from, from + lengthMs)`, each in the middle of its part. */
export const evenly = (count: number, from: number, lengthMs: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.floor(from + ((i + 0.5) * lengthMs) / count))

/** Poisson arrivals: each moment is as likely as any other, whenever the last one was. */
export function poisson(count: number, lengthMs: number, seed: number): number[] {
  const random = seeded(seed)
  const times: number[] = []
  for (let at = exponential(random, lengthMs / count); at < lengthMs; at += exponential(random, lengthMs / count))
    times.push(Math.floor(at))
  return times
}

/** Requests that follow a curve: `amounts` of them in equal parts of the time, fractions carried on. */
export function along(amounts: readonly number[], lengthMs: number): number[] {
  const partMs = lengthMs / amounts.length
  const times: number[] = []
  let reached = 0
  for (const [part, amount] of amounts.entries()) {
    for (let next = Math.floor(reached) + 1; next <= reached + amount; next++)
      times.push(Math.min(lengthMs - 1, Math.floor((part + (next - reached) / amount) * partMs)))
    reached += amount
  }
  return times
}

/** Streams of several clients as one, in the order of time. */
export function together(streams: readonly (readonly number[])[]): Pick<Traffic, 'times' | 'clients'> {
  const all = streams.flatMap((times, client) => times.map((at) => ({ at, client })))
  all.sort((one, other) => one.at - other.at || one.client - other.client)
  return { times: all.map(({ at }) => at), clients: all.map(({ client }) => client) }
}

/** Where clients of a steady pace begin. */
export const phases = (count: number, seed: number): number[] => Array.from({ length: count }, seeded(seed))
