import { inTurn } from '../algorithms/queued'
import type { Mistake } from '../errors'
import { acting } from './over-limit'
import { type AnyPolicyInput, drains, type Policy, type PolicyInput } from './policy'
import { checkFit, mostNumbers, toCounting } from './quota'
import type { Place } from './report'

/** The same policy, which counts on in the same state and never denies: to record what was admitted already. */
export function withoutLimit(policy: Policy): Policy {
  const { overrun: _, blockFor: __, after: ___, extend: ____, ...others } = policy.written
  const written = others as AnyPolicyInput
  return withNumbers({ ...policy, written }, mostNumbers(written, policy.windowMs), [], []) ?? policy
}

/**
 * The same policy, which admits that share of its units, and at least one. It keeps who is locked out, and locks nobody
 * out: what a share denies, the policy may not.
 */
export function withShare(policy: Policy, share: number): Policy {
  const part = (units: number): number => Math.max(1, Math.floor(units * share))
  const { limit, burst, blockFor } = policy.written
  const numbers = {
    limit: part(limit),
    ...(burst !== undefined && { burst: part(burst) }),
    ...(blockFor !== undefined && { after: Infinity }),
  }
  return withNumbers(policy, numbers, [], []) ?? policy
}

/**
 * Whether requests keep to the limit when each arrives the same time after its charge: no interval as long as the
 * window has more, wherever it begins.
 */
export function isSpaced({ consistency, written }: Policy): boolean {
  const { algorithm, limit, burst = limit, mode, action = 'deny', overrun } = written as PolicyInput
  if (action !== 'deny' || overrun || consistency !== 'strict') return false
  return algorithm === 'sliding-log' || (drains(written) && (burst === 1 || mode === 'queue'))
}

/**
 * The same policy, which gives requests that wait a turn up to so many milliseconds ahead; `undefined` where its state
 * would not tell others of those turns. That of a bucket that drains does. Windows that begin anew give no turns
 * ahead; a request that gets its turn in the same window is charged to them when it asks.
 */
export function givingTurns(policy: Policy, aheadMs: number): Policy | undefined {
  const { windowMs, consistency, counter } = policy
  const { maxDelay: _, ...written } = policy.written as PolicyInput
  const { algorithm, limit, burst = limit, action = 'deny', overrun, overage } = written
  if (action !== 'deny' || overrun || overage === 'allow' || consistency !== 'strict') return undefined
  if (algorithm === 'fixed-window' || algorithm === 'anchored-window') return policy
  if (!drains(written)) return undefined
  const more = Math.max(1, Math.floor((aheadMs * limit) / windowMs))
  const most = mostNumbers(written, windowMs).burst!
  const raised = withNumbers({ ...policy, written }, { limit, burst: Math.min(most, burst + more) }, [], [])
  return raised && { ...policy, counter: inTurn(counter, raised.counter) }
}

/**
 * The same policy with other numbers, which counts on in the same state; `undefined`, and why, where they do not fit
 * how it counts.
 */
export function withNumbers(
  policy: Policy,
  numbers: Pick<PolicyInput, 'limit' | 'burst'>,
  place: Place,
  issues: Mistake[],
): Policy | undefined {
  const before = issues.length
  const written = { ...policy.written, ...numbers } as AnyPolicyInput
  checkFit(written, place, issues)
  const counting = toCounting(written, place, issues)
  return counting && issues.length === before
    ? { ...policy, ...acting(counting, written), limit: numbers.limit, written }
    : undefined
}

/** The same policy, counting in the same state, while the whole service only observes. */
export function observing(policy: Policy): Policy {
  const { maxDelay, delayIn: _, ...others } = policy.written
  const queued = others.mode === 'queue' && { maxDelay }
  const written = { ...others, ...queued, action: 'observe' } as AnyPolicyInput
  return { ...policy, ...acting(toCounting(written, [], [])!, written), written }
}
