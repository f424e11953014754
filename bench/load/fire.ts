import autocannon = require('autocannon')

import { percentile } from '../statistics'

/** Requests to send, in order, each with the client that sends it. */
export interface Volley {
  readonly url: string
  readonly path: string
  /** The key that each request carries. */
  readonly keys: readonly string[]
}

/** The answers, counted. */
export interface Answers {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Requests answered with 200 and with 429, by key. */
  readonly admitted: ReadonlyMap<string, number>
  readonly denied: ReadonlyMap<string, number>
}

/** Requests under way at a time. */
export const CONNECTIONS = 16

/**
 * Sends all requests, `CONNECTIONS` at a time: each connection sends its next as soon as its last is answered. Request
 * `i` leaves by connection `i mod CONNECTIONS`, so neighbours in the list are under way together.
 *
 * @throws when a request has no answer, or one other than 200 and 429.
 */
export async function fire({ url, path, keys }: Volley): Promise<Answers> {
  const tallies: Record<number, Map<string, number>> = { 200: new Map(), 429: new Map() }
  const strange = new Set<number>()
  const requests = new Map(
    [...new Set(keys)].map((key) => {
      const onResponse = (status: number): void => {
        const tally = tallies[status]
        if (tally) tally.set(key, (tally.get(key) ?? 0) + 1)
        else strange.add(status)
      }
      return [key, { path, headers: { 'x-api-key': key }, onResponse }]
    }),
  )
  const times: number[] = []
  let connection = 0
  let endedAt = 0
  const startedAt = performance.now()
  const { errors, timeouts, resets } = await autocannon({
    url,
    connections: CONNECTIONS,
    amount: keys.length,
    sampleInt: 10,
    setupClient: (client) => {
      const first = connection++
      client.setRequests(keys.filter((_, i) => i % CONNECTIONS === first).map((key) => requests.get(key)!))
    },
  }).on('response', (_client, _status, _bytes, milliseconds) => {
    times.push(milliseconds)
    endedAt = performance.now()
  })
  if (errors + timeouts + resets > 0 || strange.size > 0 || times.length !== keys.length)
    throw new Error(
      `${keys.length} requests got ${times.length} answers, ${errors} errors, ${timeouts} timeouts, ${resets} resets and the statuses ${[...strange].join(', ') || '200 and 429 only'}`,
    )
  return {
    perSecond: (1000 * keys.length) / (endedAt - startedAt),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    admitted: tallies[200]!,
    denied: tallies[429]!,
  }
}

export const sum = (tally: ReadonlyMap<string, number>): number =>
  [...tally.values()].reduce((total, count) => total + count, 0)
