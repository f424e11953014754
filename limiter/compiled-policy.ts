import { MAX_UNITS } from './algorithms/algorithm'
import type { Fields } from './algorithms/conditional-write'
import type { Counter } from './algorithms/counter'
import { ConfigError, Mistake, printed } from './errors'
import { parseDuration } from './policies/duration'
import { sharedFor, shareOf } from './policies/fair'
import { isLeasable, syncMsOf } from './policies/parse-policies'
import { type AnyPolicyInput, type Consistency, drains, type Policy, RUNNING } from './policies/policy'
import { givingTurns, isSpaced, withoutLimit, withShare } from './policies/variants'
import { elsewhere, prefixOf } from './stores/attribute-prefix'
import type { Item } from './stores/store'

/** Writes that DynamoDB takes of one item in a second. */
const ITEM_WRITES = 1000

/** A policy and the place of its state in a subject's item: what the limiter works with. */
export interface CompiledPolicy {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  /** The name of the cost that it counts; absent where it counts requests. */
  readonly costName: string | undefined
  /** The limiter's own, which is named only when it denies. */
  readonly isInternal?: boolean
  readonly counter: Counter
  /** The numbers that the counter is bound to, to compare. */
  readonly quota: object
  /** What it stores: policies of one name and one state schema share a count. */
  readonly stateSchema: string
  /** Prefix of its stored attributes. */
  readonly prefix: string
  /**
   * The smaller the stricter, number by number: whether it is non-blocking, its limit, its burst, its overrun in
   * percent; its lock-out, the longer the stricter.
   */
  readonly strictness: readonly number[]
  /** Never denies: it observes, or only lowers the priority. */
  readonly nonBlocking: boolean
  /** Whoever asks for the decision waits until it is a request's turn. */
  readonly waits: boolean
  /** A request may be charged at a later turn than it came: `action: delay`. */
  readonly chargesAtTurn: boolean
  readonly consistency: Consistency
  /**
   * Whether units are leased when the item gets more writes than the store takes: where it admits as many. Otherwise
   * those are requests that it denies, and instances that know that are held back.
   */
  readonly autoLease: boolean
  /** Consistency `eventual`: milliseconds from one sync to the next. */
  readonly syncMs: number
  /** As it was configured. */
  readonly written: AnyPolicyInput
  /** What each caller may take of it while it is contended. Absent where callers have no shares. */
  readonly fair?: Fair | undefined
  /** The same policy, stored in another place. */
  readonly elsewhere: () => CompiledPolicy
  /** The same policy with that share of its units. */
  readonly shareOf: (share: number) => CompiledPolicy
  /** The same policy without a limit. */
  readonly unlimited: () => CompiledPolicy
  /** Its units come back one by one, evenly, and its state says when. */
  readonly drains: boolean
  /** Whether what it admits is spaced, so that it keeps to the limit where it arrives, if all of it arrives later. */
  readonly isSpaced: boolean
  /** The same policy, which gives turns so many milliseconds ahead; `undefined` where it cannot, see `givingTurns`. */
  readonly givingTurns: (aheadMs: number) => CompiledPolicy | undefined
}

/** How a policy is shared among callers. */
export interface Fair {
  /** The window of shares, and what all callers together may take in it. */
  readonly windowMs: number
  readonly limit: number
  /**
   * The policy that counts a caller's share of one subject, of so many units or `Infinity`: it is stored with the
   * caller, apart for each subject.
   */
  readonly share: (units: number, subject: string) => CompiledPolicy
}

/**
 * Gives a policy the place of its state.
 *
 * @param scope what the policy counts apart within a subject, such as a route.
 * @param autoLease whether its units may be leased where the item is throttled.
 */
export function compile(policy: Policy, scope = '', autoLease = true): CompiledPolicy {
  const { name, limit, windowMs, counter, quota, stateSchema, nonBlocking, waits, consistency, written } = policy
  let unlimited: CompiledPolicy | undefined
  const shared = 'fair' in written && written.fair && !nonBlocking ? sharedFor(policy) : undefined
  return {
    name,
    limit,
    windowMs,
    costName: counter.isEndedByOthers ? RUNNING : written.cost,
    counter,
    quota,
    stateSchema,
    prefix: prefixOf(name, stateSchema, scope),
    strictness: [
      Number(nonBlocking),
      limit,
      written.burst ?? limit,
      Number.parseInt(written.overrun ?? '0', 10),
      -(parseDuration(written.blockFor) ?? 0),
    ],
    nonBlocking,
    waits,
    chargesAtTurn: written.action === 'delay',
    consistency,
    autoLease: autoLease && isLeasable(policy) && mostInASecond(policy) >= ITEM_WRITES,
    syncMs: syncMsOf(policy),
    written,
    ...(shared && {
      fair: {
        ...shared,
        share: (units: number, subject: string) => {
          const counted = shareOf(policy, shared.windowMs, Math.min(units, MAX_UNITS))
          const share = compile(counted, `${scope} of ${subject}`, autoLease)
          return units === Infinity ? { ...share, isInternal: true } : share
        },
      },
    }),
    elsewhere: () => compile(policy, elsewhere(scope), autoLease),
    shareOf: (share) => compile(withShare(policy, share), scope),
    unlimited: () => (unlimited ??= compile(withoutLimit(policy), scope)),
    drains: drains(written),
    isSpaced: isSpaced(policy),
    givingTurns: (aheadMs) => {
      const turns = givingTurns(policy, aheadMs)
      return turns && { ...compile(turns, scope), chargesAtTurn: drains(written) }
    },
  }
}

const mostInASecond = ({ limit, windowMs, nonBlocking, written }: Policy): number =>
  nonBlocking ? Infinity : Math.max(written.burst ?? limit, (limit * 1000) / windowMs)

/** Whether callers have shares of any of them. */
export const isFair = ({ policies }: { readonly policies: readonly CompiledPolicy[] }): boolean =>
  policies.some(({ fair }) => fair)

const external = new WeakMap<readonly CompiledPolicy[], readonly CompiledPolicy[]>()

/** Charges without the limiter's own policies, which are for what the store decides, unless there are no others. */
export function withoutInternal<C extends { readonly policies: readonly CompiledPolicy[] }>(
  charges: readonly C[],
): readonly C[] {
  const others = charges.flatMap((charge): C[] => {
    const policies = external.get(charge.policies) ?? charge.policies.filter(({ isInternal }) => !isInternal)
    external.set(charge.policies, policies)
    return policies.length === 0 ? [] : [policies.length === charge.policies.length ? charge : { ...charge, policies }]
  })
  return others.length > 0 ? others : charges
}

const ids = new WeakMap<readonly CompiledPolicy[], string>()

/** Identifies a list of policies by their attribute prefixes, so that equal lists are the same. */
export function idOf(policies: readonly CompiledPolicy[]): string {
  const id = ids.get(policies) ?? policies.map(({ prefix }) => prefix).join()
  ids.set(policies, id)
  return id
}

/**
 * Removes policies that share a count with a stricter one, as routes' policies may.
 *
 * Two different policies of one subject get the same prefix in one of ten thousand configurations of thirty policies.
 * The check of policies finds them. Where they come here all the same, the later one stores elsewhere, so that both
 * are enforced.
 *
 * @param onCollision is told of them, and may throw. @default throws a `ConfigError`
 */
export function distinct(policies: readonly CompiledPolicy[], onCollision = refuse): CompiledPolicy[] {
  const byPrefix = new Map<string, CompiledPolicy>()
  for (const policy of policies) {
    let placed = policy
    for (
      let other = byPrefix.get(placed.prefix);
      other && !isSame(other, policy);
      other = byPrefix.get(placed.prefix)
    ) {
      onCollision(
        `policies "${other.name}" and "${policy.name}" happen to share an attribute prefix, rename one of them`,
      )
      placed = placed.elsewhere()
    }
    const same = byPrefix.get(placed.prefix)
    if (!same || isStricter(placed, same)) byPrefix.set(placed.prefix, placed)
  }
  return [...byPrefix.values()]
}

const isSame = (one: CompiledPolicy, other: CompiledPolicy): boolean =>
  one.name === other.name && one.stateSchema === other.stateSchema

function isStricter({ strictness: one }: CompiledPolicy, { strictness: other }: CompiledPolicy): boolean {
  const differing = one.findIndex((number, i) => number !== other[i])
  return differing >= 0 && one[differing]! < other[differing]!
}

function refuse(collision: string): void {
  throw new ConfigError([new Mistake('state_collision', collision)])
}

/** What an item holds for a policy; `undefined` when nothing is known of the item. */
export const fieldsOf = (item: Item | undefined, { prefix }: CompiledPolicy): Fields | undefined =>
  item && (item.policies[prefix] ?? {})

/**
 * Finds some of the policies: the same list for the same names, so that requests can share writes; bounded by
 * forgetting all.
 */
export function policiesByName(policies: readonly CompiledPolicy[]): (names: readonly string[]) => CompiledPolicy[] {
  const found = new Map<string, CompiledPolicy[]>()
  return (names) => {
    const id = names.join('\n')
    const some = found.get(id) ?? named(policies, names)
    if (found.size >= 1000) found.clear()
    found.set(id, some)
    return some
  }
}

function named(policies: readonly CompiledPolicy[], names: readonly string[]): CompiledPolicy[] {
  const unknown = names.filter((name) => !policies.some((policy) => policy.name === name))
  if (unknown.length > 0 || names.length === 0) {
    const known = policies.map(({ name }) => printed(name)).join(', ')
    throw new ConfigError([
      new Mistake(
        'invalid_value',
        `policies must be some of ${known}, got ${unknown.map(printed).join(', ') || 'none'}`,
      ),
    ])
  }
  return policies.filter(({ name }) => names.includes(name))
}
