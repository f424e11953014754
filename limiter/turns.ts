import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { type Units, unitsOf } from './request'
import type { Item } from './stores/store'

/** How many turns ahead a request may get its own; more processes than that compete for the last one. */
const MAX_TURNS = 32
const MIN_AHEAD_MS = 1000
const MAX_AHEAD_MS = 3_600_000

type Policies = readonly CompiledPolicy[]

/** What a request takes, and from which policies. */
interface Taking extends Units {
  readonly policies: Policies
}

const lists = new WeakMap<Policies, Map<number, Policies | undefined>>()

/**
 * The same charge by policies that give it a turn ahead, at most `withinMs` from now; `undefined` where they cannot.
 * The lists are the same arrays for the same time, of which there are two dozen.
 */
export function inTurns<C extends Taking>(charge: C, withinMs: number): C | undefined {
  const { policies } = charge
  const wantedMs = Math.max(MIN_AHEAD_MS, MAX_TURNS * turnMs(charge))
  const aheadMs = 2 ** Math.floor(Math.log2(Math.min(withinMs, wantedMs, MAX_AHEAD_MS)))
  if (!(aheadMs >= 1) || !policies.some(({ drains }) => drains)) return undefined
  const known = lists.get(policies) ?? new Map<number, Policies | undefined>()
  lists.set(policies, known)
  if (!known.has(aheadMs)) {
    const turning = policies.flatMap((policy) => policy.givingTurns(aheadMs) ?? [])
    known.set(aheadMs, turning.length === policies.length ? turning : undefined)
  }
  const list = known.get(aheadMs)
  return list && { ...charge, policies: list }
}

/** How long the slowest of its limits takes for what a request takes, in milliseconds. */
export const turnMs = (charge: Taking): number =>
  Math.max(...charge.policies.map((policy) => (unitsOf(charge, policy) * policy.windowMs) / policy.limit))

/** How long the strictest of its limits takes from empty to full, in milliseconds. */
export const fullMs = ({ policies }: Taking): number =>
  Math.min(...policies.map((policy) => (burstOf(policy) * policy.windowMs) / policy.limit))

/** How long it takes until so many requests would fit, one after another, if nobody else came; in milliseconds. */
export function roundMs(charge: Taking, requests: number, item: Item | undefined, now: EpochMs): number {
  const waits = charge.policies.map((policy) => {
    const units = Math.max(1, unitsOf(charge, policy) * requests)
    const before = Math.floor((units - 1) / burstOf(policy)) * burstOf(policy)
    const { retryAfterMs } = policy.counter.step(fieldsOf(item, policy), units - before, now).verdict
    return retryAfterMs + (before * policy.windowMs) / policy.limit
  })
  return Math.max(...waits)
}

/** Units that a policy admits at once after a pause. */
const burstOf = ({ limit, drains, written }: CompiledPolicy): number =>
  drains && 'burst' in written ? (written.burst ?? limit) : limit
