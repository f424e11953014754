import type { Algorithm } from './algorithms/algorithm'
import type { Fields } from './algorithms/conditional-write'
import { ConfigError } from './errors'
import { isLeasable, syncMsOf } from './policies/parse-policies'
import type { Consistency, Policy } from './policies/policy'
import { withoutLimit, withShare } from './policies/variants'
import { codeOf, elsewhere } from './stores/attribute-prefix'
import type { Item } from './stores/store'

/** A policy with the place of its state: what the take loop works with. */
export interface CompiledPolicy {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly algorithm: Algorithm<unknown>
  readonly quota: unknown
  /** What it stores: of one name and form there is one count. */
  readonly form: string
  /**
   * The smaller the stricter, number by number: whether it is lenient, its limit, its burst, what it may be overrun by.
   */
  readonly strictness: readonly number[]
  /** Prefix of its stored fields. */
  readonly code: string
  /** How long its state can matter, in milliseconds. */
  readonly lifeMs: number
  /** Never denies: it observes, or only lowers the priority. */
  readonly lenient: boolean
  /** Whoever asks for the decision waits until it is a request's turn. */
  readonly waits: boolean
  /** A request may be charged at a later turn than it came: `action: delay`. */
  readonly chargesAtTurn: boolean
  readonly consistency: Consistency
  /** Whether units may be taken ahead when the item gets more writes than the store takes. */
  readonly autoLease: boolean
  /** Consistency `eventual`: from one adding up to the next. */
  readonly syncMs: number
  /** The same, stored in another place. */
  readonly elsewhere: () => CompiledPolicy
  /** The same with that share of its units. */
  readonly shareOf: (share: number) => CompiledPolicy
  /** The same without a limit. */
  readonly unlimited: () => CompiledPolicy
}

/**
 * @param scope what the policy counts apart within a subject, such as a route.
 * @param autoLease whether its units may be taken ahead in need.
 */
export function compile(policy: Policy, scope = '', autoLease = true): CompiledPolicy {
  const { name, limit, windowMs, algorithm, quota, form, lenient, waits, consistency, written } = policy
  let unlimited: CompiledPolicy | undefined
  return {
    name,
    limit,
    windowMs,
    algorithm,
    quota,
    form,
    strictness: [Number(lenient), limit, written.burst ?? limit, Number.parseInt(written.overrun ?? '0', 10)],
    code: codeOf(name, form, scope),
    lifeMs: algorithm.lifeMs(quota),
    lenient,
    waits,
    chargesAtTurn: written.action === 'delay',
    consistency,
    autoLease: autoLease && isLeasable(policy),
    syncMs: syncMsOf(policy),
    elsewhere: () => compile(policy, elsewhere(scope), autoLease),
    shareOf: (share) => compile(withShare(policy, share), scope),
    unlimited: () => (unlimited ??= compile(withoutLimit(policy), scope)),
  }
}

const ids = new WeakMap<readonly CompiledPolicy[], string>()

/** The same for lists that store in the same places, whoever made them. */
export function idOf(policies: readonly CompiledPolicy[]): string {
  const id = ids.get(policies) ?? policies.map(({ code }) => code).join()
  ids.set(policies, id)
  return id
}

/**
 * Of policies that would count as one, the strictest; no set that was checked has any but those that several routes
 * have in common.
 *
 * Two different policies of one subject that would store under one code are one in ten thousand configurations of
 * thirty policies, and are found where policies are checked; where they come here all the same, the later one stores
 * elsewhere, so that both are held to.
 *
 * @param onCollision is told of them, and may throw. @default throws a `ConfigError`
 */
export function distinct(policies: readonly CompiledPolicy[], onCollision = refuse): CompiledPolicy[] {
  const byCode = new Map<string, CompiledPolicy>()
  for (const policy of policies) {
    let placed = policy
    for (let other = byCode.get(placed.code); other && !isSame(other, policy); other = byCode.get(placed.code)) {
      onCollision(`policies "${other.name}" and "${policy.name}" happen to share a storage code, rename one of them`)
      placed = placed.elsewhere()
    }
    const same = byCode.get(placed.code)
    if (!same || isStricter(placed, same)) byCode.set(placed.code, placed)
  }
  return [...byCode.values()]
}

const isSame = (one: CompiledPolicy, other: CompiledPolicy): boolean =>
  one.name === other.name && one.form === other.form

function isStricter({ strictness: one }: CompiledPolicy, { strictness: other }: CompiledPolicy): boolean {
  const differing = one.findIndex((number, i) => number !== other[i])
  return differing >= 0 && one[differing]! < other[differing]!
}

function refuse(collision: string): void {
  throw new ConfigError([collision])
}

/** What an item holds for a policy; `undefined` when nothing is known of the item. */
export const fieldsOf = (item: Item | undefined, { code }: CompiledPolicy): Fields | undefined =>
  item && (item.policies[code] ?? {})
