import * as v from 'valibot'
import { type Mistake, printed } from '../../../limiter/errors'
import { checkFair, MAX_WEIGHT } from '../../../limiter/policies/fair'
import { isLeasable, parsePolicies } from '../../../limiter/policies/parse-policies'
import type { Policy } from '../../../limiter/policies/policy'
import { checkFields, type FieldRules, type Place, report } from '../../../limiter/policies/report'
import { parseRoutePattern, type RoutePattern } from '../../routing/route-pattern'
import { COST_FIELD, COSTS_FIELD, type Costs, parseCost, parseCosts } from './cost'
import { BY_FIELD, type CountedBy, isOfEverybody, toCountedBy } from './counted-by'
import { APIS_FIELD, type Scope, type Scoped, scopeOfInvalid, splitVariant, toScope } from './scopes'
import { checkSettled, SETTLE_FIELD, type Settling, toSettleMs } from './settling'
import { type ItemFields, withPresentNames } from './stored-names'

export interface TierPolicy extends Policy, Settling {
  readonly by: CountedBy
  /** On a route or a global policy: the tiers whose callers it holds for. @default all */
  readonly tiers?: readonly string[]
  /** Separates its counts from those of others, where its item is for some APIs only. @default none */
  readonly variant?: string
}

/** A named plan that callers have. */
export interface Tier extends Scoped {
  readonly name: string
  /** Whether callers in this tier must show credentials; those who do not get a 401. */
  readonly credentials: CredentialsInForce
  /** What happens to its callers' requests while the state table is unavailable. @default the function's */
  readonly failureMode?: FailureMode
  /** What each of its callers gets of fair policies, as a part of what is shared out. */
  readonly weight: number
  readonly policies: readonly TierPolicy[]
}

/** Rules for requests of one route, in addition to the caller's tier. */
export interface Route extends Scoped, Costs, Settling {
  readonly pattern: RoutePattern
  readonly credentials: CredentialsInForce
  readonly policies: readonly TierPolicy[]
}

type Credentials = 'required' | 'optional'
/** `unknown`: the item that says so is invalid, and has no valid version. */
type CredentialsInForce = Credentials | 'unknown'
type FailureMode = 'local' | 'allow' | 'deny'

/** The tier of anonymous callers. */
export const ANONYMOUS = 'anonymous'

const TIER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const BY_CLIENT: CountedBy = { who: ['client'], perRoute: false }
const BY_CLIENT_AND_ROUTE: CountedBy = { who: ['client'], perRoute: true }
const BY_EVERYBODY: CountedBy = { who: ['global'], perRoute: false }

const unchecked = { schema: v.unknown(), wanted: 'a list of policies' } as const

const by = BY_FIELD
const credentials = {
  schema: v.picklist(['required', 'optional']),
  wanted: '"required" or "optional"',
  optional: true,
} as const

/**
 * The fields of a tier, a route, the global policies, and of a policy inside them, from which their JSON Schema is
 * made, too.
 */
export const TIER_FIELDS = {
  apis: APIS_FIELD,
  by,
  credentials,
  failureMode: {
    schema: v.picklist(['local', 'allow', 'deny']),
    wanted: 'one of local, allow, deny',
    optional: true,
    storedAs: 'onStoreError',
  },
  weight: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_WEIGHT)),
    wanted: `an integer from 1 to ${MAX_WEIGHT}`,
    optional: true,
  },
  policies: unchecked,
} as const satisfies ItemFields
export const ROUTE_FIELDS = {
  apis: APIS_FIELD,
  cost: COST_FIELD,
  costs: COSTS_FIELD,
  settle: SETTLE_FIELD,
  by,
  credentials,
  policies: { ...unchecked, optional: true },
} as const satisfies FieldRules
export const GLOBAL_FIELDS = { by, policies: unchecked } as const satisfies FieldRules
export const POLICY_EXTRAS = { by, settle: SETTLE_FIELD } as const satisfies FieldRules
export const SHARED_POLICY_EXTRAS = {
  ...POLICY_EXTRAS,
  tiers: {
    schema: v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.minLength(1), v.maxLength(200)),
    wanted: 'a list of names of tiers',
    optional: true,
  },
} as const satisfies FieldRules

export function parseTier(text: string, input: unknown, place: Place, issues: Mistake[]): Tier | undefined {
  const here = [...place, `tier ${printed(text)}`]
  const before = issues.length
  const [name, word] = splitVariant(text)
  if (!TIER_NAME.test(name))
    report(
      issues,
      'invalid_name',
      `a tier's name must be 1 to 64 letters, digits, ".", "_" or "-", got ${printed(name)}`,
      place,
    )
  const fields = checkFields(withPresentNames(TIER_FIELDS, input), TIER_FIELDS, 'a tier', here, issues)
  if (!fields) return undefined
  const scope = toScope(text, input, here, issues)
  if (scope && name === ANONYMOUS && word === undefined)
    report(
      issues,
      'field_not_applicable',
      `apis must not be here: "${ANONYMOUS}" is for all APIs, and "${ANONYMOUS} @word" for some of them`,
      here,
    )
  const policies = parseTierPolicies(fields.policies, toCountedBy(fields.by) ?? BY_CLIENT, scope, here, issues)
  if (issues.length > before) return undefined
  const { failureMode, weight = 1 } = fields as { failureMode?: FailureMode; weight?: number }
  return {
    name,
    credentials: credentialsOf(fields),
    ...(failureMode && { failureMode }),
    weight,
    policies,
    ...(scope && { scope }),
  }
}

export function parseRoute(text: string, input: unknown, place: Place, issues: Mistake[]): Route | undefined {
  const here = [...place, `route ${printed(text)}`]
  const before = issues.length
  const pattern = parseRoutePattern(splitVariant(text)[0])
  if ('wrong' in pattern) report(issues, 'invalid_route', `a route ${pattern.wrong}`, here)
  const fields = checkFields(input, ROUTE_FIELDS, 'a route', here, issues)
  if (!fields) return undefined
  const scope = toScope(text, input, here, issues)
  const by = toCountedBy(fields.by) ?? BY_CLIENT_AND_ROUTE
  const policies = parseTierPolicies(fields.policies, by, scope, here, issues, SHARED_POLICY_EXTRAS)
  const cost = parseCost(fields.cost, here, issues)
  const costs = parseCosts(fields.costs, here, issues)
  if (issues.length > before) return undefined
  const settleMs = toSettleMs(fields.settle)
  return {
    pattern: pattern as RoutePattern,
    cost: cost!,
    ...(costs && { costs }),
    ...(settleMs !== undefined && { settleMs }),
    credentials: credentialsOf(fields),
    policies,
    ...(scope && { scope }),
  }
}

/** Policies that every request is held to, whatever its route and tier. */
export function parseGlobal(input: unknown, place: Place, issues: Mistake[]): readonly TierPolicy[] | undefined {
  const here = [...place, 'global']
  const before = issues.length
  const fields = checkFields(input, GLOBAL_FIELDS, 'global', here, issues)
  if (!fields) return undefined
  const policies = parseTierPolicies(
    fields.policies,
    toCountedBy(fields.by) ?? BY_EVERYBODY,
    undefined,
    here,
    issues,
    SHARED_POLICY_EXTRAS,
  )
  return issues.length === before ? policies : undefined
}

/**
 * Stands in for the anonymous tier while its item is invalid. Callers whose own tier is invalid are in the default tier
 * meanwhile.
 */
export function unknownTier(text: string, apis?: unknown): Tier | undefined {
  const [name] = splitVariant(text)
  return name === ANONYMOUS
    ? { name, credentials: 'unknown', weight: 1, policies: [], scope: scopeOfInvalid(text, apis) }
    : undefined
}

/** Stands in for a route while its item is invalid. */
export function unknownRoute(text: string, apis?: unknown): Route | undefined {
  const pattern = parseRoutePattern(splitVariant(text)[0])
  if ('wrong' in pattern) return undefined
  return { pattern, cost: 1, credentials: 'unknown', policies: [], scope: scopeOfInvalid(text, apis) }
}

function parseTierPolicies(
  input: unknown,
  otherwise: CountedBy,
  scope: Scope | undefined,
  place: Place,
  issues: Mistake[],
  extras: FieldRules = POLICY_EXTRAS,
): TierPolicy[] {
  if (input === undefined) return []
  return parsePolicies(input, place, issues, extras, forOtherTiers).map(({ extra, ...policy }) => {
    const by = toCountedBy(extra.by) ?? otherwise
    if (policy.written.blockFor !== undefined && isOfEverybody(by))
      report(issues, 'fields_conflict', 'blockFor does not go with a policy that callers share', [
        ...place,
        `policy "${policy.name}"`,
      ])
    const settleMs = toSettleMs(extra.settle)
    const leased =
      policy.written.consistency === undefined && settleMs === undefined && isOfEverybody(by) && isLeasable(policy)
    const own: TierPolicy = {
      ...policy,
      ...(leased && { consistency: 'leased' }),
      by,
      ...(settleMs !== undefined && { settleMs }),
      ...(extra.tiers !== undefined && { tiers: extra.tiers as string[] }),
      ...(scope && { variant: scope.variant }),
    }
    checkFair(own, isOfEverybody(by), [...place, `policy "${policy.name}"`], issues)
    checkSettled(own, [...place, `policy "${policy.name}"`], issues)
    return own
  })
}

/** The place of a policy's state within a subject: by route, and apart from items for other APIs. */
export const placeOf = ({ variant }: TierPolicy, route: string): string =>
  variant === undefined ? route : `${route} ${variant}`

/** Whether no tier is named by both. */
function forOtherTiers(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  const [some, others] = [one.tiers, other.tiers]
  return Array.isArray(some) && Array.isArray(others) && !some.some((tier) => others.includes(tier))
}

const credentialsOf = (fields: Record<string, unknown>): Credentials =>
  (fields.credentials as Credentials | undefined) ?? 'optional'
