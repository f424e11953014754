import type { EpochMs } from '../../facade/values'
import type { Side } from '../side'
import type { Change, Simulation } from '../simulation'
import type { ClientTally, Denials } from './tally'

/** How an item of the rules differs: `+ …` and `- …` for each of its policies and fields that does. */
export interface ItemChange {
  /** `tier free`, `route GET /search`. */
  readonly item: string
  readonly lines: readonly string[]
}

/** What one set of rules changes for callers, compared with another. */
export interface Comparison {
  readonly changes: readonly ItemChange[]
  /** Clients that are denied or refused something, and that were denied nothing before. */
  readonly newlyDenied: readonly ChangeSummary[]
  readonly newlyDeniedClients: number
  /** Clients that were denied or refused something, and are denied nothing any more. */
  readonly noLongerDenied: readonly ChangeSummary[]
  readonly noLongerDeniedClients: number
  /** Requests denied by these rules only, of all clients; and by the others only. */
  readonly newlyDeniedRequests: number
  readonly noLongerDeniedRequests: number
  /** When the first of them came. */
  readonly firstNewlyDeniedAt: string | null
}

export interface ChangeSummary {
  readonly client: string
  readonly requests: number
  readonly firstDeniedAt: string
  /** The policy that denies the first of them, or why it is refused. */
  readonly policy: string
  /** All that the client is denied by these rules, or was by the others. */
  readonly denials: readonly DenialsSummary[]
}

export interface DenialsSummary {
  readonly policy: string
  readonly limit: number
  readonly window: string | null
  readonly requests: number
  readonly firstAt: string
  readonly lastAt: string
}

/** @param top entries of each list. */
export function comparisonOf(
  { newlyDenied, noLongerDenied }: Simulation,
  now: Side,
  before: Side,
  changes: readonly ItemChange[],
  top: number,
): Comparison {
  const newly = [...newlyDenied.values()].filter(({ client }) => isUntouched(before.tally.clients.get(client)))
  const noLonger = [...noLongerDenied.values()].filter(({ client }) => isUntouched(now.tally.clients.get(client)))
  const listed = (all: readonly Change[], { tally }: Side) =>
    largest(all, top, ({ requests }) => requests).map((one) => toChange(one, tally.clients.get(one.client)))
  const first = [...newlyDenied.values()].reduce((least, { firstAt }) => Math.min(least, firstAt), Infinity)
  return {
    changes,
    newlyDenied: listed(newly, now),
    newlyDeniedClients: newly.length,
    noLongerDenied: listed(noLonger, before),
    noLongerDeniedClients: noLonger.length,
    newlyDeniedRequests: requestsOf(newlyDenied),
    noLongerDeniedRequests: requestsOf(noLongerDenied),
    firstNewlyDeniedAt: first === Infinity ? null : isoTime(first),
  }
}

const isUntouched = (client: ClientTally | undefined): boolean => !client || client.denied + client.refused === 0

const requestsOf = (changes: ReadonlyMap<string, Change>): number =>
  [...changes.values()].reduce((sum, { requests }) => sum + requests, 0)

const toChange = ({ client, requests, firstAt, policy }: Change, tally: ClientTally | undefined): ChangeSummary => ({
  client,
  requests,
  firstDeniedAt: isoTime(firstAt),
  policy,
  denials: toDenials(tally?.denials),
})

/** `2026-11-25T09:00:10.942Z`. */
export const isoTime = (at: EpochMs): string => new Date(at).toISOString()

export const toDenials = (denials: readonly Denials[] = []): DenialsSummary[] =>
  denials.map(({ firstAt, lastAt, window = null, ...others }) => ({
    ...others,
    window,
    firstAt: isoTime(firstAt),
    lastAt: isoTime(lastAt),
  }))

/** The first `count` of these, the largest first. */
export function largest<T>(all: Iterable<T>, count: number, sizeOf: (one: T) => number): T[] {
  return [...all].sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, count)
}
