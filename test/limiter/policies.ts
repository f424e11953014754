import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import { type CompiledPolicy, compile } from '../../limiter/compiled-policy'
import type { Mistake } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import type { PolicyInput } from '../../limiter/policies/policy'
import type { View } from '../../limiter/view'

/** Parses and compiles policies; a mistake in them fails the test. */
export function compiled(...inputs: readonly PolicyInput[]): CompiledPolicy[] {
  const issues: Mistake[] = []
  const policies = parsePolicies(inputs, [], issues)
  expect(issues).toEqual([])
  return policies.map((policy) => compile(policy))
}

/** A policy's fields after one charge of a new subject. */
export function chargedFields({ counter }: CompiledPolicy, units: number, at: number): Fields {
  const { write } = counter.step({}, units, at)
  return write ? apply(write, {}) : {}
}

/** The view of a subject with so many units charged to each of its policies, in order. */
export function viewOf(policies: readonly CompiledPolicy[], units: readonly number[], at: number, seenAt = at): View {
  const fields = policies.map((policy, i) => [policy.prefix, chargedFields(policy, units[i]!, at)])
  return {
    item: { policies: Object.fromEntries(fields), expiresAtSeconds: 0, marks: {} },
    seenAt,
    shared: false,
  }
}
