import { below, seeded } from '../random'

/** Requests to account for. */
export interface Traffic {
  /** Requests a second, over all callers. */
  readonly rps: number
  /** Share of the requests that are over the limit, from 0 to below 1. */
  readonly abuse: number
  /** Callers that keep to half of their limit. */
  readonly clients: number
  /** Callers that never stop. Each of them gets its limit, like every caller, and is denied the rest. */
  readonly abusers: number
  /** Function instances, which requests reach at random. */
  readonly instances: number
  /** Units a minute that a caller may take. */
  readonly perMinute: number
  /** Share of the requests that come from abusers: a little more than are denied. */
  readonly abusersShare: number
}

/** What a well-behaved client uses of its limit. */
const USED = 0.5

/**
 * Requests under way at a time by Little's law, and three standard deviations more: as many instances as Lambda keeps.
 */
export const instancesFor = (rps: number, meanMs: number): number => {
  const busy = (rps * meanMs) / 1000
  return Math.ceil(busy + 3 * Math.sqrt(busy))
}

/**
 * Spreads requests over callers, each of which uses half of its limit. With `clients` given, limits follow from their
 * number; else the limit is 60 a minute, and the number of clients follows from that.
 */
export function toTraffic(wish: {
  readonly rps: number
  readonly abuse: number
  readonly instances: number
  readonly clients?: number
  readonly abusers?: number
}): Traffic {
  const { rps, abuse, instances } = wish
  const abusers = abuse === 0 ? 0 : (wish.abusers ?? 1)
  const clients = wish.clients ?? Math.max(1, Math.round((rps * (1 - abuse) - abusers) / USED))
  // What abusers are allowed is the same multiple of what a client sends: abusersShare = abuse + abusers · limit / rps.
  const each = abusers / clients / USED
  const abusersShare = abusers === 0 ? 0 : (abuse + each) / (1 + each)
  const perMinute = Math.max(1, Math.round((60 * rps * (1 - abusersShare)) / clients / USED))
  return { rps, abuse, clients, abusers, instances, perMinute, abusersShare }
}

/**
 * The same traffic with a share of its callers, each at its own rate: what one decision costs is the same, and there
 * are fewer of them.
 */
export function sampled(traffic: Traffic, share: number): Traffic {
  const clients = Math.max(1, Math.round(traffic.clients * share))
  const abusers = traffic.abusers === 0 ? 0 : Math.max(1, Math.round(traffic.abusers * share))
  const perClient = (traffic.rps * (1 - traffic.abusersShare)) / traffic.clients
  const perAbuser = traffic.abusers === 0 ? 0 : (traffic.rps * traffic.abusersShare) / traffic.abusers
  const rps = clients * perClient + abusers * perAbuser
  return { ...traffic, clients, abusers, rps, abusersShare: (abusers * perAbuser) / rps }
}

/** Which caller asks which instance, the same in every run. Callers are numbered, clients first, then abusers. */
export function* requests({ clients, abusers, instances, abusersShare }: Traffic, seed: number) {
  const random = seeded(seed)
  for (;;) {
    const caller = random() < abusersShare ? clients + below(random, abusers) : below(random, clients)
    yield { caller, instance: below(random, instances), wait: -Math.log(1 - random()) }
  }
}
