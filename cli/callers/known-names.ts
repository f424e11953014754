import { UserError } from '../exit'
import { joined } from '../facade/callers'
import { type Dimension, isOfEverybody, type PolicySet } from '../facade/policies'

/** The subjects under which a caller may be counted, as far as they follow from the given names. */
export interface KnownNames {
  /** Each once, the given ones first. */
  readonly names: readonly string[]
  /** Dimensions that may have counted the caller by a value that was not given, such as `header:x-tenant`. */
  readonly unknown: readonly Dimension[]
}

/** `api:a1b2c3`, `stage:a1b2c3/prod`: an API or stage, not a caller. */
export const PLACE = /^(api|stage):./

/** More subjects than one caller can have. */
const MAX_NAMES = 10_000

/**
 * All subjects that policies make of these: each by itself, and those of policies that count by several dimensions at
 * once, in every combination.
 *
 * @param given such as `client:acme`, `user:42`, `ip:203.0.113.7`, `header:x-tenant=north`.
 */
export function knownNames(given: readonly string[], { global, routes, tiers }: PolicySet): KnownNames {
  const policies = [
    ...global,
    ...routes.flatMap((route) => route.policies),
    ...[...tiers.values()].flatMap((tier) => tier.policies),
  ]
  const names = new Set(given.filter((name) => !PLACE.test(name))) // an API's own counter is everybody's
  for (const name of given) if (name.startsWith('ip:')) names.add(`preflight:${name}`)
  const unknown = new Set<Dimension>()
  for (const { by } of policies) {
    if (isOfEverybody(by)) continue
    const candidates = by.who.map((dimension) => given.filter((name) => canBe(dimension, name)))
    for (const [i, dimension] of by.who.entries()) {
      if (!candidates[i]!.some((name) => isOf(dimension, name))) unknown.add(dimension)
    }
    if (candidates.reduce((count, { length }) => count * length, 1) > MAX_NAMES)
      throw new UserError(`these subjects make more than ${MAX_NAMES} combinations: give fewer at once`)
    for (const parts of combinations(candidates)) names.add(joined(parts))
  }
  return { names: [...names], unknown: [...unknown].sort() }
}

/** Whether a policy by this dimension is meant to count by such a name. */
function isOf(dimension: Dimension, name: string): boolean {
  if (dimension.startsWith('header:')) return name.startsWith(`${dimension}=`)
  if (dimension.startsWith('claim:'))
    return /^claim(@[^:]+)?:/.test(name) && name.includes(`:${dimension.slice('claim:'.length)}=`)
  return name === dimension || name.startsWith(`${dimension}:`) || name.startsWith(`${dimension}@`)
}

/** Whether it can come to that: a user, a client and an address stand in for one another where a request lacks one. */
function canBe(dimension: Dimension, name: string): boolean {
  if (isOf(dimension, name)) return true
  if (dimension === 'client' || dimension === 'user')
    return isOf('client', name) || isOf('user', name) || isOf('ip', name)
  return dimension.includes(':') && isOf('ip', name)
}

function combinations(candidates: readonly (readonly string[])[]): string[][] {
  if (candidates.length === 0) return []
  return candidates.reduce<string[][]>(
    (made, those) => made.flatMap((parts) => those.map((name) => [...parts, name])),
    [[]],
  )
}
