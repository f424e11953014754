import { PLENTY } from '../policies'

type Policy = Readonly<Record<string, unknown>>

/** How much each client sends, and how much of it must be admitted. */
export interface Shape {
  readonly name: string
  /** The limit of each of its clients. */
  readonly policies: readonly Policy[]
  /** The limit of its route, for all clients together. */
  readonly shared: readonly Policy[]
  readonly clients: number
  readonly requests: number
  /** Which client sends request `i`. */
  readonly sender: (i: number) => number
  /** The units that may be admitted, of each client and in all. */
  readonly due: { readonly each: number; readonly all: number }
  /** The share of these that must be admitted. */
  readonly utilisation: number
  /** Most calls to the state table per decision. */
  readonly goal: { readonly atMost: number }
}

/** So long that it ends during no run. */
const WINDOW = '1h'
const LIMIT = 20

/**
 * The shapes of traffic, with so many requests each: a multiple of 400.
 *
 * Windows begin with a client's first request, and buckets do not refill during a run, so the expected number is exact
 * and not a range.
 */
export function shapes(requests: number): Shape[] {
  const base = { shared: [], requests, utilisation: 1 }
  const limited = { name: 'per-hour', limit: LIMIT, window: WINDOW }
  const limitedTo = (clients: number) => ({ clients, due: { each: LIMIT, all: LIMIT * clients } })
  return [
    {
      ...base,
      name: 'well-behaved',
      policies: [{ name: 'per-minute', limit: PLENTY, window: '1m' }],
      clients: 50,
      sender: (i) => i % 50,
      due: { each: requests, all: requests },
      goal: { atMost: 1.02 },
    },
    {
      ...base,
      ...limitedTo(requests / 25),
      name: 'bursty, 25 at once of 20',
      policies: [{ ...limited, algorithm: 'token-bucket' }],
      sender: (i) => Math.floor(i / 25),
      goal: { atMost: 0.9 },
    },
    {
      ...base,
      ...limitedTo(requests / 40),
      name: 'abusive, 50 % denied',
      policies: [{ ...limited, algorithm: 'anchored-window' }],
      sender: (i) => i % (requests / 40),
      goal: { atMost: 0.6 },
    },
    {
      ...base,
      ...limitedTo(requests / 400),
      name: 'abusive, 95 % denied',
      policies: [{ ...limited, algorithm: 'anchored-window' }],
      sender: (i) => i % (requests / 400),
      goal: { atMost: 0.1 },
    },
    { ...hot(requests, 'strict'), goal: { atMost: 0.6 } },
    { ...hot(requests, 'leased'), utilisation: 0.97, goal: { atMost: 0.15 } },
  ]
}

/**
 * A limit that everybody shares, with twice as many requests as it lets through. A day is a window on a grid, where
 * leases forfeit nothing before its end.
 */
function hot(requests: number, consistency: 'strict' | 'leased'): Omit<Shape, 'goal'> {
  const limit = requests / 2
  return {
    name: `hot global, ${consistency}`,
    policies: [],
    shared: [
      { name: `everybody-${consistency}`, by: 'global', consistency, algorithm: 'fixed-window', limit, window: '1d' },
    ],
    clients: 20,
    requests,
    sender: (i) => i % 20,
    due: { each: limit, all: limit },
    utilisation: 1,
  }
}
