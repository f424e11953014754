import type { Verdict, Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import { type Units, unitsOf } from '../request'
import type { Item } from '../stores/store'

/** What an instance last saw of a subject that others may compete for. */
export interface Seen {
  readonly item: Item
  readonly seenAt: EpochMs
  /** How hard others compete for what becomes free; absent where nobody was found to. */
  contention?: Contention | undefined
  /** Since the item was found without room that others were faster to take. */
  heldBack?: HeldBack | undefined
}

/** How hard others compete for what becomes free of a subject, as this instance finds it when it asks for units. */
export interface Contention {
  /** How often others had taken what had become free, less `relief` for each success. */
  readonly level: number
  /** By how much a success lowers the level: the slower units become free, the more. */
  readonly relief: number
  /** The level from which the instance is held back. */
  readonly from: number
  /** How long it is held back once the denial is over, in milliseconds; 0 where it may ask at once. */
  readonly waitMs: number
}

/** A subject that is not asked for, though there may be room for it. */
interface HeldBack {
  /** The policy that denied the request for the longest time, and what the request takes of it. */
  readonly policy: CompiledPolicy
  readonly units: number
  readonly from: EpochMs
  readonly until: EpochMs
}

/** What a request takes, and of which policies. */
type Asked = Units & { readonly policies: readonly CompiledPolicy[] }

/** What a loss tells: how the policy that denies for the longest time gives units back. */
interface Loss {
  /** How many such requests a second become free. */
  readonly perSecond: number
  /** How many of them can be free at once. */
  readonly atOnce: number
  /** How long the denial lasts, in milliseconds. */
  readonly denialMs: number
}

/** Refusals a second that all instances together settle at, unless they are too many to wait so long. */
const REFUSALS_PER_SECOND = 300
/** Of the units that become free one in so many may be lost, since nobody asks before there is room for no more. */
const LOST_UNITS = 100
/** How long an instance is held back at first: at least, and as a share of the denial. How much longer each time. */
const FIRST_WAIT_MS = 20
const FIRST_SHARE = 1 / 50
const GROWTH = 1.35
const MAX_WAIT_MS = 5000
/** By so much of its wait an instance asks earlier than another. */
const SPREAD = 0.2

/**
 * After others had taken what became free: the level rises.
 *
 * Of the asks of all instances a share p = f / (f + r) finds one of the f requests a second that have become free,
 * where r are refused. The level stays where p of successes lower it by as much as the others raise it. r is larger
 * where few units can be free at once, which are lost unless somebody asks often enough.
 *
 * Waiting begins after so many losses in a row as a small fleet, that is refused less than r, hardly ever has.
 */
function afterLoss(before: Contention | undefined, { perSecond, atOnce, denialMs }: Loss): Contention {
  const level = (before?.level ?? 0) + 1
  const relief = Math.max(REFUSALS_PER_SECOND / perSecond, LOST_UNITS ** (1 / atOnce) - 2)
  const from = Math.min(36, Math.max(3, relief / 2 / Math.max(1, denialMs / 1000)))
  const first = Math.max(FIRST_WAIT_MS, denialMs * FIRST_SHARE)
  const waits = level < from ? 0 : Math.min(MAX_WAIT_MS, first * GROWTH ** (level - from))
  return { level, relief, from, waitMs: waits && waits * (1 - SPREAD * Math.random()) }
}

/** After a success, which is the end of losses in a row. */
export const afterSuccess = (before: Contention): Contention | undefined =>
  before.level >= before.from && before.level > before.relief
    ? { ...before, level: before.level - before.relief }
    : undefined

const retryAfterMs = ({ allowed, retryAfterMs }: Verdict): number => (allowed ? 0 : retryAfterMs)

/**
 * Notes that the item was found without room for a request.
 *
 * @param isLost the view before had shown room, which others took.
 * @param ttlMs how long a view is trusted: nobody is held back for longer.
 */
export function noteDenial(view: Seen, asked: Asked, verdicts: Verdicts, isLost: boolean, ttlMs: number): void {
  const denialMs = Math.max(...verdicts.map(retryAfterMs))
  const slowest = verdicts.findIndex((verdict) => retryAfterMs(verdict) === denialMs)
  const policy = asked.policies[slowest]!
  const units = unitsOf(asked, policy)
  const from = view.seenAt
  if (isLost) {
    const perSecond = (policy.limit * 1000) / policy.windowMs / units
    const atOnce = policy.counter.step({}, 0, from).verdict.remaining / units
    view.contention = afterLoss(view.contention, { perSecond, atOnce, denialMs })
  }
  const over = from + denialMs
  const until = Math.ceil(Math.min(over + (view.contention?.waitMs ?? 0), Math.max(over, from + ttlMs)))
  const isHeldBack = until > over && !asked.isPaced && !asked.holds && !policy.counter.isEndedByOthers
  if (isHeldBack) view.heldBack = { policy, units, from, until }
}

/** Whether a request takes as much of the policy that holds it back. */
const isHeldBack = ({ policy, units, from, until }: HeldBack, asked: Asked, now: EpochMs): boolean =>
  now >= from &&
  now < until &&
  !asked.isPaced &&
  !asked.holds &&
  asked.policies.includes(policy) &&
  unitsOf(asked, policy) >= units

/**
 * The denial of a request that is held back, with `known` for what is known of it where there is no room, either;
 * `undefined` where it is not, or its denial has to be written down.
 */
export function heldBackNow(view: Seen, asked: Asked, now: EpochMs, known?: Verdicts): Verdicts | undefined {
  const { heldBack } = view
  if (!heldBack || !isHeldBack(heldBack, asked, now)) return undefined
  const waitMs = heldBack.until - now
  const verdicts = known ?? verdictsByView(view, asked, now)
  return verdicts?.map((verdict, i): Verdict => {
    if (asked.policies[i] !== heldBack.policy) return verdict
    const { allowed, remaining, resetAfterMs } = verdict
    if (!allowed) return { ...verdict, retryAfterMs: Math.max(verdict.retryAfterMs, waitMs) }
    const left = Math.min(remaining, unitsOf(asked, heldBack.policy) - 1)
    return { allowed: false, remaining: left, resetAfterMs: Math.max(resetAfterMs, waitMs), retryAfterMs: waitMs }
  })
}

/** What policies say of a denied request; `undefined` where that has to be written down. */
function verdictsByView({ item }: Seen, asked: Asked, now: EpochMs): Verdicts | undefined {
  const verdicts: Verdict[] = []
  for (const policy of asked.policies) {
    const fields = fieldsOf(item, policy)
    const { verdict, write } = policy.counter.step(fields, unitsOf(asked, policy), now)
    if (!verdict.allowed && write) return undefined
    verdicts.push(verdict.allowed ? policy.counter.step(fields, 0, now).verdict : verdict)
  }
  return verdicts
}
