import * as v from 'valibot'
import { ConfigError, printed } from '../errors'
import { MOST_POLICIES, type Policy, parsePolicies } from './policy'
import { checkFields, type FieldRules, mistake, type Place } from './report'
import { bySpecificity, matchesRoute, parseRoutePattern, type RoutePattern, segmentsOf } from './route-pattern'

/** Whom a policy counts: the caller, whoever that is; the caller's address; and either of them for each route apart. */
type CountedBy = { readonly subject: 'client' | 'ip'; readonly perRoute: boolean }

export interface TierPolicy extends Policy {
  readonly by: CountedBy
}

/** A named plan that clients have. */
export interface Tier {
  readonly name: string
  readonly policies: readonly TierPolicy[]
}

/** What holds for requests of one route, beside the caller's tier. */
export interface Route {
  readonly pattern: RoutePattern
  /** Units that a request takes; 0 is not counted at all. */
  readonly cost: number
  readonly policies: readonly TierPolicy[]
}

/** Everything that an operator has configured. */
export interface PolicySet {
  readonly tiers: ReadonlyMap<string, Tier>
  /** The most specific first. */
  readonly routes: readonly Route[]
}

/** The tier of callers who are not known. */
export const ANONYMOUS = 'anonymous'

const TIER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const WORDS = ['client', 'ip', 'route'] as const

const byWord = v.picklist(WORDS)
const by = {
  schema: v.pipe(
    v.union([byWord, v.array(byWord)]),
    v.check((words) => toCountedBy(words) !== undefined),
  ),
  wanted: '"client" or "ip", or a list such as [client, route]',
  optional: true,
} as const
const unchecked = { schema: v.unknown(), wanted: 'a list of policies' } as const

const TIER_FIELDS = { by, policies: unchecked } as const satisfies FieldRules
const ROUTE_FIELDS = {
  cost: { schema: v.pipe(v.number(), v.safeInteger(), v.minValue(0)), wanted: 'an integer from 0', optional: true },
  by,
  policies: { ...unchecked, optional: true },
} as const satisfies FieldRules
const POLICY_EXTRAS = { by } as const satisfies FieldRules

export function parseTier(name: string, input: unknown, place: Place, issues: string[]): Tier | undefined {
  const here = [...place, `tier ${printed(name)}`]
  const before = issues.length
  if (!TIER_NAME.test(name))
    issues.push(mistake(`a tier's name must be 1 to 64 letters, digits, ".", "_" or "-", got ${printed(name)}`, place))
  const fields = checkFields(input, TIER_FIELDS, 'a tier', here, issues)
  if (!fields) return undefined
  const policies = parseTierPolicies(fields.policies, toCountedBy(fields.by) ?? { subject: 'client', perRoute: false }, here, issues)
  return issues.length === before ? { name, policies } : undefined
}

export function parseRoute(text: string, input: unknown, place: Place, issues: string[]): Route | undefined {
  const here = [...place, `route ${printed(text)}`]
  const before = issues.length
  const pattern = parseRoutePattern(text)
  if ('wrong' in pattern) issues.push(mistake(`a route ${pattern.wrong}`, here))
  const fields = checkFields(input, ROUTE_FIELDS, 'a route', here, issues)
  if (!fields) return undefined
  const policies = parseTierPolicies(fields.policies, toCountedBy(fields.by) ?? { subject: 'client', perRoute: true }, here, issues)
  return issues.length === before
    ? { pattern: pattern as RoutePattern, cost: (fields.cost as number | undefined) ?? 1, policies }
    : undefined
}

/** Puts tiers and routes together, and reports where they contradict each other. */
export function toPolicySet(tiers: readonly Tier[], routes: readonly Route[], place: Place, issues: string[]): PolicySet {
  const sorted = [...routes].sort((a, b) => bySpecificity(a.pattern, b.pattern))
  for (const [i, { pattern }] of sorted.entries()) {
    const next = sorted[i + 1]
    if (next && bySpecificity(pattern, next.pattern) === 0) {
      issues.push(mistake(`routes "${pattern.text}" and "${next.pattern.text}" match the same requests, keep one`, place))
    }
  }
  checkTogether(tiers, routes, place, issues)
  return { tiers: new Map(tiers.map((tier) => [tier.name, tier])), routes: sorted }
}

/** Reports when the tier of callers who are not known is not among these. */
export function checkAnonymous(names: Iterable<string>, place: Place, issues: string[]): void {
  if (![...names].includes(ANONYMOUS))
    issues.push(mistake(`tiers must have "${ANONYMOUS}", the tier of callers without a known key`, place))
}

/** One request is held to its route's policies and to its tier's: all must fit into one write, and none may be another's double. */
function checkTogether(tiers: readonly Tier[], routes: readonly Route[], place: Place, issues: string[]): void {
  const [longest] = [...tiers].sort((a, b) => b.policies.length - a.policies.length)
  const counts = new Map(
    tiers.flatMap((tier) => tier.policies.flatMap((policy) => countsOf(policy, tier).map((count) => [count, tier.name]))),
  )
  for (const { pattern, policies } of routes) {
    const here = [...place, `route ${printed(pattern.text)}`]
    const together = policies.length + (longest?.policies.length ?? 0)
    if (longest && together > MOST_POLICIES) {
      issues.push(mistake(`policies must be at most ${MOST_POLICIES} with those of tier "${longest.name}", got ${together}`, here))
    }
    for (const policy of policies) {
      const tier = countsOf(policy)
        .map((count) => counts.get(count))
        .find((name) => name !== undefined)
      if (tier === undefined) continue
      issues.push(
        mistake(`name must differ from that of a policy of tier "${tier}", or both would count as one`, [
          ...here,
          `policy "${policy.name}"`,
        ]),
      )
    }
  }
}

/** Whom a policy counts under what, one text for each; two policies with the same would share stored state. Unknown callers count by address. */
function countsOf({ name, form, by: { subject, perRoute } }: TierPolicy, tier?: Tier): string[] {
  const subjects = tier === undefined ? [subject, ANONYMOUS] : [tier.name === ANONYMOUS ? ANONYMOUS : subject]
  return subjects.map((one) => `${one} ${perRoute} ${name} ${form}`)
}

const named = v.custom<Readonly<Record<string, unknown>>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
const FILE_FIELDS = {
  tiers: { schema: named, wanted: 'tiers by name' },
  routes: { schema: named, wanted: 'routes by method and path', optional: true },
} as const satisfies FieldRules

/**
 * Reads what `tiers.yaml` holds.
 *
 * @throws ConfigError with every mistake, each with the file, the tier, the policy and the field.
 */
export function parseTiersFile(input: unknown, file: string): PolicySet {
  const issues: string[] = []
  const fields = checkFields(input, FILE_FIELDS, 'the file', [file], issues)
  const tiers = Object.entries((fields?.tiers ?? {}) as object).flatMap(([name, tier]) => parseTier(name, tier, [file], issues) ?? [])
  const routes = Object.entries((fields?.routes ?? {}) as object).flatMap(([text, route]) => parseRoute(text, route, [file], issues) ?? [])
  if (fields?.tiers) checkAnonymous(Object.keys(fields.tiers), [file], issues)
  const set = toPolicySet(tiers, routes, [file], issues)
  if (issues.length > 0) throw new ConfigError(issues)
  return set
}

/** The rules for a request, or `undefined` where no route is configured for it. */
export function routeOf({ routes }: PolicySet, method: string, path: string): Route | undefined {
  const segments = segmentsOf(path)
  return routes.find(({ pattern }) => matchesRoute(pattern, method, segments))
}

function parseTierPolicies(input: unknown, otherwise: CountedBy, place: Place, issues: string[]): TierPolicy[] {
  if (input === undefined) return []
  return parsePolicies(input, place, issues, POLICY_EXTRAS).map(({ extra, ...policy }) => ({
    ...policy,
    by: toCountedBy(extra.by) ?? otherwise,
  }))
}

/** `undefined` for words that do not name exactly one subject. A route by itself would be one subject for everybody. */
function toCountedBy(words: unknown): CountedBy | undefined {
  const list: unknown[] = Array.isArray(words) ? words : [words]
  const subjects = list.filter((word) => word === 'client' || word === 'ip')
  if (subjects.length !== 1 || new Set(list).size !== list.length) return undefined
  return { subject: subjects[0] as 'client' | 'ip', perRoute: list.includes('route') }
}
