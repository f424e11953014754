import type { Verdict, Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { type UnitsOfAll, unitsOf } from '../request'
import type { Item } from '../stores/store'

/** What an instance last saw of a subject that others may compete for. */
export interface Seen {
  readonly item: Item
  readonly seenAt: EpochMs
  /** Absent where nobody was found to compete. */
  contention?: Contention | undefined
  /** Until when its policy is not asked, though there may be room by it: since others were faster to take that. */
  heldBackUntil?: EpochMs
}

/** How hard others compete for what becomes free of a subject, as this instance finds it when it asks for units. */
export interface Contention {
  /** How often others had taken what had become free, less `relief` for each success. */
  readonly level: number
  /** The policy that denied the request for the longest time, and what the request takes of it. */
  readonly policy: CompiledPolicy
  readonly units: number
  /** When the item was last found without room for that. */
  readonly deniedAt: EpochMs
  /** By how much a success lowers the level: the slower units become free, the more. */
  readonly relief: number
  /** The level from which the instance is held back, and how long it is then, in milliseconds. */
  readonly from: number
  readonly firstMs: number
  /** How long it is held back once the denial is over, in milliseconds; 0 where it may ask at once. */
  readonly waitMs: number
}

/** By what the level rises, falls and counts. */
type Rule = Omit<Contention, 'level' | 'waitMs'>

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
/** Who finds the item throttled has lost so often: about ten times as many ask for it as are to. */
export const THROTTLED_LOSSES = 8
/** More losses make no wait longer, by as many as throttled calls count for. */
const MOST_LOSSES = Math.log(MAX_WAIT_MS / FIRST_WAIT_MS) / Math.log(GROWTH)
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
 * @param policy the one that denies the request for the longest time, for `denialMs` milliseconds.
 * @param units what the request takes of it.
 */
function ruleFor(policy: CompiledPolicy, units: number, denialMs: number, now: EpochMs): Rule {
  const perSecond = (policy.limit * 1000) / policy.windowMs / units
  const atOnce = policy.counter.step({}, 0, now).verdict.remaining / units
  const relief = Math.max(REFUSALS_PER_SECOND / perSecond, LOST_UNITS ** (1 / atOnce) - 2)
  const from = Math.min(36, Math.max(3, relief / 2 / Math.max(1, denialMs / 1000)))
  return { policy, units, deniedAt: now, relief, from, firstMs: Math.max(FIRST_WAIT_MS, denialMs * FIRST_SHARE) }
}

/** The level after so many more losses. Only a large fleet throttles an item: then waiting has begun. */
function raised(before: number, losses: number, rule: Rule): Contention {
  const { from, firstMs } = rule
  const isThrottled = losses >= THROTTLED_LOSSES
  const most = isThrottled ? Math.max(before, from + MOST_LOSSES) : Infinity
  const level = Math.min(most, losses + (isThrottled ? Math.max(before, from) : before))
  const waits = level < from ? 0 : Math.min(MAX_WAIT_MS, firstMs * GROWTH ** (level - from))
  return { ...rule, level, waitMs: waits && Math.ceil(waits * (1 - SPREAD * Math.random())) }
}

/** After a success, which is the end of losses in a row. */
export const afterSuccess = (before: Contention): Contention | undefined =>
  before.level >= before.from && before.level > before.relief
    ? { ...before, level: before.level - before.relief }
    : undefined

/**
 * Notes that the item was found without room for a request.
 *
 * @param losses how often others took what the view before had shown to be free.
 * @param ttlMs how long a view is trusted: nobody is held back for longer.
 */
export function noteDenial(view: Seen, request: Request, verdicts: Verdicts, losses: number, ttlMs: number): void {
  const denials = verdicts.map(({ allowed, retryAfterMs }) => (allowed ? 0 : retryAfterMs))
  const denialMs = Math.max(...denials)
  const policy = request.policies[denials.indexOf(denialMs)]!
  const units = unitsOf(request, policy)
  const { seenAt } = view
  const before = view.contention
  if (losses > 0) view.contention = raised(before?.level ?? 0, losses, ruleFor(policy, units, denialMs, seenAt))
  else if (before) view.contention = { ...before, policy, units, deniedAt: seenAt }
  const over = seenAt + denialMs
  const until = Math.min(over + (view.contention?.waitMs ?? 0), Math.max(over, seenAt + ttlMs))
  if (until > over) view.heldBackUntil = until
}

/**
 * Notes that a request's item could not be asked, since it gets more calls than it takes. An instance to which it had
 * no units a moment ago, after others had been faster, takes that for more losses.
 *
 * @returns whether the request is held back: for no longer after the last denial than any is.
 */
export function noteThrottled(view: Seen, request: Request, now: EpochMs, ttlMs: number): boolean {
  const { contention } = view
  if (!contention || !isAsMuch(contention, request)) return false
  const most = contention.deniedAt + Math.min(ttlMs, MAX_WAIT_MS)
  if (isHeldBack(view, request, now)) return true // as another one was just now
  view.contention = raised(contention.level, THROTTLED_LOSSES, contention)
  view.heldBackUntil = Math.min(now + view.contention.waitMs, most)
  return isHeldBack(view, request, now)
}

/** Whether a request takes as much of the policy that holds it back, whatever room there is by what is known. */
export const isHeldBack = ({ contention, heldBackUntil, seenAt }: Seen, request: Request, now: EpochMs): boolean =>
  contention !== undefined &&
  heldBackUntil !== undefined &&
  now >= seenAt &&
  now < heldBackUntil &&
  isAsMuch(contention, request)

const isAsMuch = ({ policy, units }: Contention, request: Request): boolean =>
  !request.isPaced && !request.holds && request.policies.includes(policy) && unitsOf(request, policy) >= units

/** What is told of a request that is held back. @param verdicts what the policies say of a denied request. */
export function heldBackVerdicts(
  { contention, heldBackUntil }: Seen,
  request: Request,
  verdicts: Verdicts,
  now: EpochMs,
): Verdicts {
  const { policy } = contention!
  const waitMs = heldBackUntil! - now
  return verdicts.map((verdict, i): Verdict => {
    if (request.policies[i] !== policy) return verdict
    if (!verdict.allowed) return { ...verdict, retryAfterMs: Math.max(verdict.retryAfterMs, waitMs) }
    const remaining = Math.min(verdict.remaining, unitsOf(request, policy) - 1)
    return { allowed: false, remaining, resetAfterMs: Math.max(verdict.resetAfterMs, waitMs), retryAfterMs: waitMs }
  })
}
