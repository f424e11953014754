import { type Algorithm, MAX_UNITS } from '../algorithms/algorithm'
import { anchoredWindow } from '../algorithms/anchored-window'
import { bind } from '../algorithms/counter'
import { fixedWindow } from '../algorithms/fixed-window'
import { gcra } from '../algorithms/gcra'
import { holds } from '../algorithms/holds'
import { leakyBucket } from '../algorithms/leaky-bucket'
import { meteredWindow } from '../algorithms/metered-window'
import { overrun } from '../algorithms/overrun'
import { slidingBuckets } from '../algorithms/sliding-buckets'
import { slidingLog } from '../algorithms/sliding-log'
import { slidingWindow } from '../algorithms/sliding-window'
import { tokenBucket } from '../algorithms/token-bucket'
import { epochGrid, type WindowGrid } from '../algorithms/window-grid'
import type { Mistake } from '../errors'
import { CALENDAR_WINDOW_MS, calendarGrid, isCalendarUnit } from './calendar'
import { parseDuration, parseHold } from './duration'
import { checkOverLimit } from './over-limit'
import {
  ALGORITHM_NAMES,
  type AlgorithmName,
  type AnyPolicyInput,
  CONCURRENCY,
  type ConcurrencyInput,
  type Counting,
  type PolicyInput,
  READ_BY,
} from './policy'
import { type Place, report } from './report'

type Build = (input: PolicyInput, windowMs: number, wrong: (sentence: string) => void) => Omit<Counting, 'windowMs'>

const BUILD = {
  'fixed-window': ({ limit, window, timezone = 'UTC', overage = 'deny' }, windowMs) => {
    const grid = gridOf({ window, timezone })
    // Of one state schema, so that switching loses no count.
    const algorithm = overage === 'allow' ? meteredWindow : fixedWindow
    return counting(algorithm, { limit, grid }, isCalendarUnit(window) ? `${window} ${timezone}` : windowMs)
  },

  'anchored-window': ({ limit }, windowMs) => counting(anchoredWindow, { limit, windowMs }, windowMs),

  'sliding-window': ({ limit }, windowMs) => counting(slidingWindow, { limit, windowMs }, windowMs),

  'sliding-buckets': ({ limit, window, buckets }, windowMs, wrong) => {
    const count = buckets ?? 60
    if (windowMs % count !== 0) {
      wrong(
        `buckets must divide the window into whole milliseconds, got ${buckets ?? 'the default of 60'} for window "${window}"`,
      )
    }
    return counting(slidingBuckets, { limit, windowMs, buckets: count }, `${windowMs}/${count}`)
  },

  'sliding-log': ({ limit, countDenied = false }, windowMs, wrong) => {
    if (limit > MAX_LOG_ENTRIES)
      wrong(`limit must be at most ${MAX_LOG_ENTRIES} for a sliding-log, which stores every unit, got ${limit}`)
    return counting(slidingLog, { limit, windowMs, countDenied }, windowMs)
  },

  'token-bucket': ({ limit, burst = limit, refill = 'greedy' }, windowMs, wrong) => {
    if (refill === 'greedy') checkPace(limit, burst, windowMs, wrong)
    else checkRefill(limit, burst, windowMs, wrong)
    return counting(tokenBucket, { limit, windowMs, burst, refill }, `${windowMs} ${refill}`)
  },

  'leaky-bucket': ({ limit, burst = limit, mode = 'meter', maxDelay }, windowMs, wrong) => {
    checkPace(limit, burst, windowMs, wrong)
    return counting(leakyBucket, { limit, windowMs, burst, mode, maxDelayMs: parseDuration(maxDelay) }, windowMs)
  },

  gcra: ({ limit, burst = limit }, windowMs, wrong) => {
    checkPace(limit, burst, windowMs, wrong)
    return counting(gcra, { limit, windowMs, burst }, windowMs)
  },
} as const satisfies Record<AlgorithmName, Build>

/** The windows of a policy with fixed windows. */
export const gridOf = ({ window, timezone = 'UTC' }: Pick<PolicyInput, 'window' | 'timezone'>): WindowGrid =>
  isCalendarUnit(window) ? calendarGrid(window, timezone) : epochGrid(parseDuration(window)!)

const hasBurst = (algorithm: AlgorithmName): boolean => (READ_BY.burst as readonly AlgorithmName[]).includes(algorithm)

/** Requests of one subject that hold something at one time: 37 KB of its item. */
export const MAX_SLOTS = 1000

/** An item of DynamoDB holds 400 KB; a log this long takes a quarter of it, and a hundred write units a request. */
const MAX_LOG_ENTRIES = 10_000

/** Reports fields that the algorithm does not read. Fields that are absent or invalid by themselves are not checked. */
export function checkFit(input: Partial<AnyPolicyInput>, place: Place, issues: Mistake[]): void {
  const wrong = (sentence: string) => void report(issues, 'field_not_applicable', sentence, place)
  const { algorithm = 'sliding-window', window, timezone } = input
  for (const [field, readers] of Object.entries<readonly AnyPolicyInput['algorithm'][]>(READ_BY)) {
    if (input[field as keyof PolicyInput] !== undefined && !readers.includes(algorithm)) {
      const others = readers === ALGORITHM_NAMES ? '' : `, only to ${readers.join(', ')}`
      wrong(`${field} does not apply to algorithm "${algorithm}"${others}`)
    }
  }
  if (algorithm === CONCURRENCY) {
    const { action = 'deny' } = input
    if (action !== 'deny' && action !== 'observe')
      wrong(`action must be "deny" or "observe" for algorithm "${CONCURRENCY}", got "${action}"`)
    return
  }
  checkOverLimit(input, place, issues)
  const fixed = algorithm === 'fixed-window'
  if (isCalendarUnit(window)) {
    if (!fixed) wrong(`window "${window}" needs algorithm "fixed-window", got "${algorithm}"`)
  } else if (fixed && window !== undefined && timezone !== undefined) {
    wrong(`timezone applies to the windows day, week, month and year only, got "${window}"`)
  }
}

/** Puts a policy whose fields are right by themselves together, or says which numbers go too far. */
export function toCounting(input: AnyPolicyInput, place: Place, issues: Mistake[]): Counting | undefined {
  const before = issues.length
  const wrong = (sentence: string): undefined => void report(issues, 'unsuitable_number', sentence, place)
  if (input.algorithm === CONCURRENCY) return running(input, wrong)
  const { algorithm = 'sliding-window', window, limit, cost, overrun: share } = input
  if (limit > MAX_UNITS) return wrong(`limit must be at most ${MAX_UNITS}, got ${limit}`)

  const windowMs = isCalendarUnit(window) ? CALENDAR_WINDOW_MS[window] : parseDuration(window)!
  const { stateSchema, ...others } = BUILD[algorithm](input, windowMs, wrong)
  // what counts tokens shares no count with what counts requests
  const built = { ...others, stateSchema: cost === undefined ? stateSchema : `${stateSchema} ${cost}` }
  if (issues.length > before || !share) return issues.length > before ? undefined : { ...built, windowMs }

  const more = Math.max(1, Math.floor((limit * Number.parseInt(share, 10)) / 100))
  const raised = hasBurst(algorithm) ? { burst: (input.burst ?? limit) + more } : { limit: limit + more }
  if (limit + more > MAX_UNITS) return wrong(`limit must be at most ${MAX_UNITS} with its overrun, got ${limit + more}`)
  const over = BUILD[algorithm]({ ...input, ...raised }, windowMs, (sentence) => wrong(`with its overrun ${sentence}`))
  if (issues.length > before) return undefined
  return {
    ...built,
    windowMs,
    counter: overrun(built.counter, over.counter),
    quota: { ...built.quota, raised: over.quota },
  }
}

/** Slots stand with the time when they are over, so that other timeouts count in the same state. */
function running({ limit, timeout }: ConcurrencyInput, wrong: (sentence: string) => undefined): Counting | undefined {
  const windowMs = parseHold(timeout)
  if (limit > MAX_SLOTS) return wrong(`limit must be at most ${MAX_SLOTS} for algorithm "${CONCURRENCY}", got ${limit}`)
  if (windowMs === undefined) return wrong(`timeout must be from "1s" to "24h", got "${timeout}"`)
  const quota = { limit, timeoutMs: windowMs, keptMs: 0, longestMs: windowMs }
  return { counter: bind(holds, quota), quota, windowMs, stateSchema: CONCURRENCY }
}

function counting<Quota extends object>(
  algorithm: Algorithm<Quota>,
  quota: Quota,
  layout: string | number,
): Omit<Counting, 'windowMs'> {
  return { counter: bind(algorithm, quota), quota, stateSchema: `${algorithm.name} ${layout}` }
}

/** The largest numbers with which a policy still counts in the same way. */
export function mostNumbers(input: AnyPolicyInput, windowMs: number): Pick<PolicyInput, 'limit' | 'burst'> {
  if (input.algorithm === CONCURRENCY) return { limit: MAX_SLOTS }
  const { algorithm = 'sliding-window', limit, refill } = input
  if (!hasBurst(algorithm)) return { limit: MAX_UNITS }
  return { limit, burst: refill === 'interval' ? mostRefilled(limit, windowMs) : mostAtPace(limit, windowMs) }
}

const mostAtPace = (limit: number, windowMs: number): number =>
  Math.floor(2 ** 52 / Math.ceil((windowMs * 1000) / limit))
const mostRefilled = (limit: number, windowMs: number): number =>
  Math.min(MAX_UNITS, limit * Math.floor(2 ** 52 / (windowMs * 1000)))

/** Paces count in whole microseconds: a unit takes at least one, and a full bucket stays an exact number. */
function checkPace(limit: number, burst: number, windowMs: number, wrong: (sentence: string) => void): void {
  if (limit > windowMs * 1000)
    wrong(`limit must be at most ${windowMs * 1000} for this window, a unit per microsecond, got ${limit}`)
  const most = mostAtPace(limit, windowMs)
  if (burst > most) wrong(`burst must be at most ${most} at this pace, which takes 142 years to refill, got ${burst}`)
}

/** The same bound for a bucket that is refilled once a window, which keeps its state's time to live a date. */
function checkRefill(limit: number, burst: number, windowMs: number, wrong: (sentence: string) => void): void {
  const most = mostRefilled(limit, windowMs)
  if (burst > most) wrong(`burst must be at most ${most} at this pace, which takes 142 years to refill, got ${burst}`)
}
