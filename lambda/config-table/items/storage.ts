import { type Mistake, printed } from '../../../limiter/errors'
import { idAt, type Stored, tooLarge } from '../../../limiter/policies/item-size'
import type { Policy } from '../../../limiter/policies/policy'
import { type Place, report } from '../../../limiter/policies/report'
import { RESERVATIONS } from '../../../limiter/reservations/reserved'
import { elsewhere, prefixOf } from '../../../limiter/stores/attribute-prefix'
import { possibleSubjects } from './counted-by'
import { ANONYMOUS, placeOf, type Route, type Tier, type TierPolicy } from './tiers'

/** All policies by which subjects are counted. */
export interface Shared {
  readonly tiers: readonly Tier[]
  readonly routes: readonly Route[]
  readonly global: readonly TierPolicy[]
  /** The tier of callers whose own tier does not exist. @default 'anonymous' */
  readonly defaultTier?: string
}

/**
 * Reports subjects whose state could exceed the size of an item, over all routes and tiers whose policies count them.
 */
export function checkItemSizes(set: Shared, place: Place, issues: Mistake[]): void {
  const told = new Set<string>()
  const reservations = reservationsIn(set)
  for (const [who, stored] of itemsOf(set)) {
    const wrong = tooLarge([...stored, ...reservations])
    if (wrong && !told.has(wrong))
      report(issues, 'state_too_large', `${who === '' ? 'a route' : `a subject by ${who}`} ${wrong}`, place)
    if (wrong) told.add(wrong)
  }
}

/** The open reservations of a subject, which are stored beside its policies where anything is settled. */
const reservationsIn = ({ tiers, routes, global }: Shared): readonly Stored[] =>
  [...routes, ...global, ...[...tiers, ...routes].flatMap(({ policies }) => policies)].some(
    ({ settleMs }) => settleMs !== undefined,
  )
    ? [{ policy: RESERVATIONS, scope: '' }]
    : []

/**
 * Policies that are stored under another attribute prefix, because theirs is that of another policy: how often each was
 * given another one, by `idAt` of the policy and its place.
 */
export type Displaced = ReadonlyMap<string, number>

/**
 * How often policies whose prefixes collide get another one, which may collide, too. Prefixes are short enough that two
 * may collide by chance, and long enough that this is very unlikely to happen several times in a row.
 */
const MAX_ROUNDS = 5

/**
 * Reports policies of one subject whose attribute prefixes collide, and gives one of each pair another prefix. All
 * instances that read a set give the same ones, so each policy is enforced in every request.
 *
 * @param most places that are compared, where there is no time for all.
 */
export function checkAttributePrefixes(set: Shared, place: Place, issues: Mistake[], most = Infinity): Displaced {
  const displaced = new Map<string, number>()
  const told = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const given: string[] = []
    let left = most
    for (const [, stored] of itemsOf(set)) {
      left -= stored.length
      if (left < 0) break
      for (const [one, other] of collisions(stored, displaced)) {
        given.push([idAt(one), idAt(other)].sort()[1]!) // the same one in whatever order they are read
        const sentence = `policies ${described(other)} and ${described(one)} happen to share an attribute prefix, rename one of them`
        if (round === 0 && !told.has(sentence)) report(issues, 'state_collision', sentence, place)
        told.add(sentence)
      }
    }
    if (given.length === 0) break
    for (const id of new Set(given)) displaced.set(id, (displaced.get(id) ?? 0) + 1)
  }
  return displaced
}

/**
 * What separates a policy's state within a subject: its route or its scope's word (`@shop`), and whether it got another
 * prefix.
 */
export function scopeIn({ displaced }: { readonly displaced?: Displaced }, policy: TierPolicy, route: string): string {
  const scope = placeOf(policy, route)
  const times = displaced?.get(idAt({ policy, scope }))
  return times === undefined ? scope : elsewhere(scope, times)
}

/** Why a client's overrides do not fit into an item, over all routes; `undefined` where they do. */
export function tooLargeWith(set: Shared, own: (policy: TierPolicy) => Policy): string | undefined {
  const numbered = (policy: TierPolicy): TierPolicy => ({ ...policy, ...own(policy) })
  const ofClient: Shared = {
    tiers: set.tiers.map((tier) => ({ ...tier, policies: tier.policies.map(numbered) })),
    routes: set.routes.map((route) => ({ ...route, policies: route.policies.map(numbered) })),
    global: set.global.map(numbered),
  }
  const reservations = reservationsIn(set)
  for (const [, stored] of itemsOf(ofClient)) {
    const wrong = tooLarge([...stored, ...reservations])
    if (wrong) return wrong
  }
  return undefined
}

/**
 * Everything that an item may hold, for each kind of subject; where a subject has one tier at a time, apart for each
 * tier. Some of it is yielded twice.
 */
function* itemsOf({ tiers, routes, global, defaultTier }: Shared): Iterable<[who: string, stored: Stored[]]> {
  const scopes = [...new Set([...routes.map(({ pattern }) => pattern.text), '*'])]
  const shared = [
    ...global.flatMap((policy) => placesOf(policy, scopes, true)),
    ...routes.flatMap(({ policies, pattern }) => policies.flatMap((policy) => placesOf(policy, [pattern.text], true))),
  ]
  const byName = new Map<string, Placed[]>()
  for (const { name, policies } of tiers) {
    const places = policies.flatMap((policy) => placesOf(policy, scopes, name === ANONYMOUS))
    byName.set(name, [...(byName.get(name) ?? []), ...places])
  }
  const everywhere = new Set(tiers.flatMap(({ name, scope }) => (scope ? [] : [name])))
  const ofTiers = [...byName].map(([name, places]) => {
    const others = everywhere.has(name)
      ? []
      : [...new Set([defaultTier ?? ANONYMOUS, ANONYMOUS])].filter((other) => other !== name)
    return { name, places: [...places, ...others.flatMap((other) => byName.get(other) ?? [])] }
  })
  const kinds = new Set([...shared, ...ofTiers.flatMap(({ places }) => places)].flatMap(({ subjects }) => subjects))
  for (const who of kinds) {
    const isMeant = ({ subjects }: Placed) => subjects.includes(who)
    const common = shared.filter(isMeant)
    const own = ofTiers.map(({ name, places }) => ({ name, places: places.filter(isMeant) }))
    // A caller has one tier at a time; an address, a tenant or everybody may be counted by all of them.
    const hasOneTier = /(^|,)(client|user)(,|$)/.test(who)
    if (!hasOneTier || own.length === 0) yield [who, [...common, ...own.flatMap(({ places }) => places)]]
    else
      for (const { name, places } of own) {
        yield [who, [...common.filter(({ tiers: of }) => !of || of.includes(name)), ...places]]
      }
  }
}

interface Placed extends Stored {
  readonly subjects: readonly string[]
  readonly tiers?: readonly string[]
}

function placesOf(policy: TierPolicy, scopes: readonly string[], anonymous: boolean): Placed[] {
  const { by, tiers } = policy
  const subjects = [...new Set(possibleSubjects(by.who, anonymous).map((dimensions) => dimensions.join()))]
  return (by.perRoute ? scopes : ['']).map((scope) => ({ policy, scope: placeOf(policy, scope), subjects, tiers }))
}

function* collisions(stored: readonly Stored[], displaced: Displaced): Iterable<readonly [one: Stored, other: Stored]> {
  const byPrefix = new Map<string, Stored>()
  for (const one of stored) {
    const times = displaced.size === 0 ? undefined : displaced.get(idAt(one))
    const prefix = prefixAt(times === undefined ? one : { ...one, scope: elsewhere(one.scope, times) })
    const other = byPrefix.get(prefix)
    if (!other) byPrefix.set(prefix, one)
    else if (idAt(other) !== idAt(one)) yield [one, other]
  }
}

const prefixes = new WeakMap<Policy, Map<string, string>>()

/** Cached, because the command line checks a set again and again while it puts its changes in order. */
function prefixAt({ policy, scope }: Stored): string {
  const known = prefixes.get(policy) ?? new Map<string, string>()
  prefixes.set(policy, known)
  const prefix = known.get(scope) ?? prefixOf(policy.name, policy.stateSchema, scope)
  known.set(scope, prefix)
  return prefix
}

const described = ({ policy, scope }: Stored): string =>
  printed(policy.name) + (scope === '' ? '' : ` of ${scope.startsWith(' ') ? '' : 'route '}${printed(scope.trim())}`)
