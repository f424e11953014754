import { listOf, numberOf } from '../../../limiter/algorithms/conditional-write'
import { slot } from '../../../limiter/algorithms/slots'
import type { AlgorithmName } from '../../../limiter/policies/policy'
import { type Row, rowsOf } from './rows'
import { type Decided, runRow, startOf } from './run-row'
import { scenarioOf } from './scenarios'
import type { Setting } from './setting'

/** Why one algorithm decided one request as it did. */
export interface Explanation {
  readonly algorithm: AlgorithmName
  readonly allowed: boolean
  readonly sentence: string
}

/**
 * Says why each algorithm decided its request of that number as it did.
 *
 * @param indexes the request's place in each row, in the order of the rows; below 0 where none has come yet.
 */
export function explain(setting: Setting, indexes: readonly number[]): Explanation[] {
  const traffic = scenarioOf(setting).traffic(setting)
  const limits = { limit: setting.limit, windowMs: setting.window * 1000 }
  return rowsOf(setting).flatMap((row, i): Explanation[] => {
    let place = 0
    let found: Explanation | undefined
    runRow(row, traffic, limits, undefined, (decided) => {
      if (place++ !== indexes[i]) return undefined
      const sentence = sentenceOf(row, setting, decided)
      found = { algorithm: row.algorithm, allowed: decided.verdict.allowed, sentence }
      return 'stop'
    })
    return found ? [found] : []
  })
}

/** A duration as a person says it. */
export function spoken(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever'
  if (ms < 1000) return `${Math.ceil(ms)} ms`
  if (ms < 120_000) return `${rounded(ms / 1000)} s`
  if (ms < 7_200_000) return `${rounded(ms / 60_000)} min`
  return `${rounded(ms / 3_600_000)} h`
}

const rounded = (value: number): string => String(Number(value.toFixed(1)))

function sentenceOf(row: Row, setting: Setting, decided: Decided): string {
  const { at, verdict, share } = decided
  if (share !== undefined)
    return `Its share of the limit is ${share} in this window, and all of it is used. Retry-After: ${spoken(verdict.retryAfterMs)}.`
  const reason = REASONS[row.algorithm](setting, decided, startOf(setting.window * 1000) + at, row)
  if (verdict.delayMs) return `${reason} It waits ${spoken(verdict.delayMs)} for its turn.`
  if (verdict.allowed) return reason
  return `${reason} Retry-After: ${spoken(verdict.retryAfterMs)}.`
}

type Reason = (setting: Setting, decided: Decided, now: number, row: Row) => string

const of = (used: number, limit: number): string => `${used} of ${limit} ${limit === 1 ? 'is' : 'are'} used`

const filled: Reason = ({ window, burst, limit }, { fields, verdict }, now) => {
  const emissionUs = Math.ceil((window * 1_000_000) / limit)
  const owed = Math.max(0, numberOf(fields, 't') - now * 1000) / emissionUs
  const level = rounded(Math.min(burst, owed))
  return verdict.allowed
    ? `The queue has room: ${level} of ${burst} are in it.`
    : `The queue is full: ${level} of ${burst} are in it, and one leaves every ${spoken(emissionUs / 1000)}.`
}

const REASONS: Readonly<Record<AlgorithmName, Reason>> = {
  'fixed-window': ({ window, limit }, { fields }, now) => {
    const index = Math.floor(now / (window * 1000))
    return `${of(numberOf(fields, slot(index)), limit)} in the window that began ${spoken(now - index * window * 1000)} ago.`
  },

  'anchored-window': ({ window, limit }, { fields }, now) => {
    const start = numberOf(fields, 's', -Infinity)
    if (start <= now - window * 1000) return 'No window is open: this request opens one.'
    return `${of(numberOf(fields, 'c'), limit)} in the window that a request opened ${spoken(now - start)} ago.`
  },

  'sliding-window': ({ window, limit }, { fields }, now) => {
    const windowMs = window * 1000
    const index = Math.floor(now / windowMs)
    const [previous, current] = [numberOf(fields, slot(index - 1)), numberOf(fields, slot(index))]
    const share = (windowMs - (now - index * windowMs)) / windowMs
    const weighs = Math.floor(previous * share)
    return `The window before had ${previous}, which weigh ${Math.round(share * 100)} %: ${weighs}. With ${current} in this one, ${of(weighs + current, limit)}.`
  },

  'sliding-buckets': ({ limit }, { verdict }, _now, { quota }) => {
    const used = limit - verdict.remaining - (verdict.allowed ? 1 : 0)
    return `${of(used, limit)} in the ${(quota as { readonly buckets: number }).buckets} newest sub-windows.`
  },

  'sliding-log': ({ window, limit }, { fields }, now) => {
    const live = listOf(fields, 'l').filter((time) => time > now - window * 1000)
    const oldest = live.length > 0 ? `, the oldest ${spoken(now - live[0]!)} ago` : ''
    return `${of(live.length, limit)} in the last ${spoken(window * 1000)}${oldest}.`
  },

  'token-bucket': ({ window, burst, limit }, { fields }, now) => {
    const emissionUs = Math.ceil((window * 1_000_000) / limit)
    const missing = Math.max(0, numberOf(fields, 't') - now * 1000) / emissionUs
    const tokens = Math.max(0, burst - missing)
    return `The bucket has ${rounded(Math.floor(tokens * 10) / 10)} of ${burst} tokens, one comes back every ${spoken(emissionUs / 1000)}, and a request takes a whole one.`
  },

  'leaky-bucket': filled,

  gcra: ({ window, spread, limit }, { fields, verdict }, now) => {
    const emissionUs = Math.ceil((window * 1_000_000) / limit)
    const earlyMs = Math.max(0, numberOf(fields, 't') - now * 1000) / 1000
    const mayBe = (emissionUs * (spread - 1)) / 1000
    const pace = `The pace is one every ${spoken(emissionUs / 1000)}.`
    if (earlyMs === 0) return `${pace} This request is not early.`
    const permitted =
      mayBe === 0 ? 'none may be early' : `${spoken(mayBe)} ${verdict.allowed ? 'are' : 'would be'} permitted`
    return `${pace} This request is ${spoken(earlyMs)} early, and ${permitted}.`
  },
}
