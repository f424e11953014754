import type { Algorithm } from '../algorithms/algorithm'
import type { Fields } from '../algorithms/conditional-write'
import { ConfigError } from '../errors'
import type { Policy } from '../policies/policy'
import { codeOf } from '../state/codes'
import type { Item } from '../state/store'

/** A policy with the place of its state: what the take loop works with. */
export interface CompiledPolicy {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly algorithm: Algorithm<unknown>
  readonly quota: unknown
  /** Prefix of its stored fields. */
  readonly code: string
  /** How long its state can matter, in milliseconds. */
  readonly lifeMs: number
}

/**
 * @param scope what the policy counts apart within a subject, such as a route.
 */
export function compile({ name, limit, windowMs, algorithm, quota, form }: Policy, scope = ''): CompiledPolicy {
  return { name, limit, windowMs, algorithm, quota, code: codeOf(name, form, scope), lifeMs: algorithm.lifeMs(quota) }
}

/**
 * Leaves out what stands twice, and throws when two different policies of one subject would store under one code: one in ten thousand
 * configurations of thirty policies, and silent if it were not looked for.
 */
export function distinct(policies: readonly CompiledPolicy[]): CompiledPolicy[] {
  const byCode = new Map<string, CompiledPolicy>()
  for (const policy of policies) {
    const other = byCode.get(policy.code)
    if (other && other.name !== policy.name) {
      throw new ConfigError([`policies "${other.name}" and "${policy.name}" happen to share a storage code, rename one of them`])
    }
    if (!other) byCode.set(policy.code, policy)
  }
  return [...byCode.values()]
}

/** What an item holds for a policy; `undefined` when nothing is known of the item. */
export const fieldsOf = (item: Item | undefined, { code }: CompiledPolicy): Fields | undefined => item && (item.policies[code] ?? {})
