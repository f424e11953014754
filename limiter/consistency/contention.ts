import type { Verdict, Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { type UnitsOfAll, unitsOf } from '../request'
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

/** A policy that is not asked again before then, though there may be room by it. */
interface HeldBack {
  /** The one that denied the request for the longest time, and what the request takes of it. */
  readonly policy: CompiledPolicy
  readonly units: number
  readonly until: EpochMs
}

type Request = UnitsOfAll<CompiledPolicy>

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
 *
 * @param perSecond f.
 * @param atOnce how many such requests can be free at once.
 * @param denialMs how long the denial lasts, in milliseconds.
 */
function afterLoss(level: number, perSecond: number, atOnce: number, denialMs: number): Contention {
  const relief = Math.max(REFUSALS_PER_SECOND / perSecond, LOST_UNITS ** (1 / atOnce) - 2)
  const from = Math.min(36, Math.max(3, relief / 2 / Math.max(1, denialMs / 1000)))
  const first = Math.max(FIRST_WAIT_MS, denialMs * FIRST_SHARE)
  const waits = level < from ? 0 : Math.min(MAX_WAIT_MS, first * GROWTH ** (level - from))
  return { level, relief, from, waitMs: waits && Math.ceil(waits * (1 - SPREAD * Math.random())) }
}

/** After a success, which is the end of losses in a row. */
export const afterSuccess = (before: Contention): Contention | undefined =>
  before.level >= before.from && before.level > before.relief
    ? { ...before, level: before.level - before.relief }
    : undefined

/**
 * Notes that the item was found without room for a request.
 *
 * @param isLost the view before had shown room, which others took.
 * @param ttlMs how long a view is trusted: nobody is held back for longer.
 */
export function noteDenial(view: Seen, request: Request, verdicts: Verdicts, isLost: boolean, ttlMs: number): void {
  const denials = verdicts.map(({ allowed, retryAfterMs }) => (allowed ? 0 : retryAfterMs))
  const denialMs = Math.max(...denials)
  const policy = request.policies[denials.indexOf(denialMs)]!
  const units = unitsOf(request, policy)
  const { seenAt } = view
  if (isLost) {
    const atOnce = policy.counter.step({}, 0, seenAt).verdict.remaining / units
    const perSecond = (policy.limit * 1000) / policy.windowMs / units
    view.contention = afterLoss((view.contention?.level ?? 0) + 1, perSecond, atOnce, denialMs)
  }
  const over = seenAt + denialMs
  const until = Math.min(over + (view.contention?.waitMs ?? 0), Math.max(over, seenAt + ttlMs))
  if (until > over) view.heldBack = { policy, units, until }
}

/** Whether a request takes as much of the policy that holds it back, whatever room there is by what is known. */
export const isHeldBack = ({ heldBack, seenAt }: Seen, request: Request, now: EpochMs): boolean =>
  heldBack !== undefined &&
  now >= seenAt &&
  now < heldBack.until &&
  !request.isPaced &&
  !request.holds &&
  request.policies.includes(heldBack.policy) &&
  unitsOf(request, heldBack.policy) >= heldBack.units

/** What is told of a request that is held back. @param verdicts what the policies say of a denied request. */
export function heldBackVerdicts({ heldBack }: Seen, request: Request, verdicts: Verdicts, now: EpochMs): Verdicts {
  const { policy, until } = heldBack!
  const waitMs = until - now
  return verdicts.map((verdict, i): Verdict => {
    if (request.policies[i] !== policy) return verdict
    if (!verdict.allowed) return { ...verdict, retryAfterMs: Math.max(verdict.retryAfterMs, waitMs) }
    const remaining = Math.min(verdict.remaining, unitsOf(request, policy) - 1)
    return { allowed: false, remaining, resetAfterMs: Math.max(verdict.resetAfterMs, waitMs), retryAfterMs: waitMs }
  })
}
