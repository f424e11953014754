import { lockingOut } from '../algorithms/lockout'
import { nonBlocking } from '../algorithms/non-blocking'
import { queued } from '../algorithms/queued'
import { type Mistake, printed } from '../errors'
import { parseDuration } from './duration'
import type { Acting, AnyPolicyInput, Counting, DelayIn } from './policy'
import { type Place, report } from './report'

/** Who waits for a request's turn, and for how many milliseconds at most. */
export type Waiters = Readonly<Record<DelayIn, { readonly who: string; readonly longestMs: number }>>

/** An HTTP API gives an authorizer 10 s, a REST API an integration 29 s; either wants some of it for its own work. */
export const GATEWAY_WAITERS: Waiters = {
  authorizer: { who: 'authorizer', longestMs: 5000 },
  backend: { who: 'backend', longestMs: 25_000 },
}

/** A program decides by itself how long it waits; after an hour a turn is better asked for again. */
const CALLER = { who: 'caller', longestMs: 3_600_000 }
export const CALLER_WAITS: Waiters = { authorizer: CALLER, backend: CALLER }

const DEFAULT_DELAY = '1s'

type Fields = Pick<
  Partial<AnyPolicyInput>,
  'action' | 'mode' | 'maxDelay' | 'delayIn' | 'overrun' | 'overage' | 'countDenied' | 'blockFor' | 'after' | 'extend'
>

/** A counter, with what happens past the limit around it. */
export function acting(counting: Counting, fields: Fields): Acting {
  const { counter, quota } = counting
  const { action = 'deny', maxDelay = DEFAULT_DELAY } = fields
  const acts = {
    ...counting,
    nonBlocking: action === 'observe' || action === 'deprioritize',
    waits: isDelaying(fields) && waiter(fields) === 'authorizer',
  }
  if (action === 'deny') return withLockout(acts, fields)
  if (action !== 'delay') return { ...acts, counter: nonBlocking(counter, action) }
  const maxWaitMs = parseDuration(maxDelay)! // checked before
  return withLockout({ ...acts, counter: queued(counter, maxWaitMs), quota: { ...quota, maxWaitMs } }, fields)
}

function withLockout(acting: Acting, { blockFor, after = 1, extend = false }: Fields): Acting {
  if (blockFor === undefined) return acting
  const { counter, quota, windowMs } = acting
  const lockout = { forMs: parseDuration(blockFor)!, after, windowMs, extend }
  return { ...acting, counter: lockingOut(counter, lockout), quota: { ...quota, lockout } }
}

/**
 * Reports what contradicts each other of what happens past the limit; fields that are wrong by themselves are not
 * looked at.
 */
export function checkOverLimit(fields: Fields, place: Place, issues: Mistake[]): void {
  const { action = 'deny', mode, maxDelay, delayIn, overrun, overage, countDenied, blockFor, after, extend } = fields
  const apart = (both: unknown, one: string, other: string) =>
    void (both && report(issues, 'fields_conflict', `${one} does not go with ${other}`, place))
  const [metered, queue, delays] = [overage === 'allow', mode === 'queue', isDelaying(fields)]
  const [acts, queues, admits] = [`action "${action}"`, 'mode "queue"', 'overage "allow"']
  apart(metered && action !== 'deny', acts, admits)
  apart(metered && overrun, 'overrun', admits)
  apart(queue && overrun, 'overrun', queues)
  apart(queue && action !== 'deny' && action !== 'observe', acts, queues)
  apart(blockFor && countDenied, 'blockFor', 'countDenied')
  apart(blockFor && metered, 'blockFor', admits)
  apart(blockFor && (action === 'observe' || action === 'deprioritize'), 'blockFor', acts)
  const alone = (field: string) => report(issues, 'field_not_applicable', `${field} needs blockFor`, place)
  if (!blockFor && after) alone('after')
  if (!blockFor && extend !== undefined) alone('extend')
  apart(countDenied && action === 'delay', 'countDenied', acts)
  apart(delayIn && !delays, 'delayIn', `${acts}, which never delays a request`)
  apart(maxDelay && !queue && !delays, 'maxDelay', `${acts}, which never delays a request`)
}

/** Reports a wait that is longer than who waits can. */
export function checkLongestDelay(fields: Fields, waiters: Waiters, place: Place, issues: Mistake[]): void {
  const { mode, maxDelay } = fields
  const queue = mode === 'queue'
  const { who, longestMs } = waiters[waiter(fields)]
  if (!isDelaying(fields) || (queue && waiter(fields) === 'backend')) return
  const delayMs = parseDuration(maxDelay ?? (queue ? '' : DEFAULT_DELAY)) ?? Infinity
  if (delayMs > longestMs)
    report(
      issues,
      'unsuitable_number',
      `maxDelay must be at most "${longestMs / 1000}s" where the ${who} waits, got ${printed(maxDelay)}`,
      place,
    )
}

const isDelaying = ({ action = 'deny', mode }: Fields): boolean =>
  action === 'delay' || (mode === 'queue' && action === 'deny')

const waiter = ({ delayIn, mode }: Fields): DelayIn => delayIn ?? (mode === 'queue' ? 'backend' : 'authorizer')
