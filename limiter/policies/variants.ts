import type { Mistake } from '../errors'
import { acting } from './over-limit'
import type { AnyPolicyInput, Policy, PolicyInput } from './policy'
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
