import * as v from 'valibot'
import { ConfigError, type Mistake, printed } from '../../../limiter/errors'
import { MOST_POLICIES } from '../../../limiter/policies/parse-policies'
import { checkFields, type FieldRules, type Place, report } from '../../../limiter/policies/report'
import { bySpecificity } from '../../routing/route-pattern'
import { headersIn, possibleSubjects } from './counted-by'
import { byVariant, checkScoped, type ScopedParts, toScopedParts } from './scoped-set'
import { type Api, Apis, checkLabels, scopedName, splitVariant } from './scopes'
import {
  DEFAULT_SETTINGS,
  type ModeSwitch,
  parseScopedSettings,
  parseSettings,
  type ScopedSettings,
  type Settings,
  switched,
} from './settings'
import { checkAttributePrefixes, checkItemSizes, type Displaced } from './storage'
import { ANONYMOUS, parseGlobal, parseRoute, parseTier, type Route, type Tier, type TierPolicy } from './tiers'

/** Everything that an operator has configured except clients. */
export interface PolicySet {
  readonly settings: Settings
  readonly tiers: ReadonlyMap<string, Tier>
  /** The most specific first. */
  readonly routes: readonly Route[]
  /** Policies that hold for every request. */
  readonly global: readonly TierPolicy[]
  /** What is known of APIs. @default nothing */
  readonly apis?: Apis
  /** The parts that hold for some APIs only, if there are any: `setFor` returns the set that holds for a request. */
  readonly scoped?: ScopedParts
  /**
   * Policies that are stored under another attribute prefix, because theirs collides with another policy's. @default
   * none
   */
  readonly displaced?: Displaced
}

/** The parts of a policy set. */
export interface PolicySetParts {
  /** Overrides the mode in the settings, for all APIs. @default none */
  readonly modeSwitch?: ModeSwitch
  readonly settings?: Settings
  readonly scopedSettings?: readonly ScopedSettings[]
  readonly tiers: readonly Tier[]
  readonly routes: readonly Route[]
  readonly global?: readonly TierPolicy[]
  readonly apis?: readonly Api[]
}

/** Makes a policy set of settings, tiers, routes and global policies, and reports where they contradict each other. */
export function toPolicySet(parts: PolicySetParts, place: Place, issues: Mistake[]): PolicySet {
  const { tiers, routes, global = [], modeSwitch } = parts
  const settings = switched(parts.settings ?? DEFAULT_SETTINGS, modeSwitch)
  const scopedSettings = (parts.scopedSettings ?? []).map((one) => switched(one, modeSwitch))
  const apis = new Apis(parts.apis)
  const sorted = [...routes].sort((a, b) => bySpecificity(a.pattern, b.pattern) || byVariant(a, b))
  for (const [i, { pattern, scope }] of sorted.entries()) {
    const next = sorted[i + 1]
    if (next && !scope && !next.scope && bySpecificity(pattern, next.pattern) === 0) {
      report(
        issues,
        'duplicate_route',
        `routes "${pattern.text}" and "${next.pattern.text}" match the same requests, keep one`,
        place,
      )
    }
  }
  checkTogether({ settings, tiers, routes, global }, place, issues)
  checkLabels(apis, place, issues)
  const scoped = toScopedParts(tiers, sorted, scopedSettings, apis)
  if (scoped) checkScoped(scoped, place, issues)
  const forAll = tiers.filter(({ scope }) => !scope)
  return {
    settings,
    tiers: new Map(forAll.map((tier) => [tier.name, tier])),
    routes: sorted,
    global,
    apis,
    ...(scoped && { scoped }),
  }
}

/** Reports a missing anonymous tier. */
export function checkAnonymous(names: Iterable<string>, place: Place, issues: Mistake[]): void {
  if (![...names].includes(ANONYMOUS))
    report(
      issues,
      'missing_anonymous_tier',
      `tiers must have "${ANONYMOUS}", the tier of callers without a known key`,
      place,
    )
}

/** Reports a default tier that does not exist. */
export function checkDefaultTier(
  { defaultTier }: Settings,
  names: Iterable<string>,
  place: Place,
  issues: Mistake[],
): void {
  if (defaultTier !== undefined && ![...names].includes(defaultTier))
    report(
      issues,
      'unknown_tier',
      `defaultTier must be the name of a tier, got ${printed(defaultTier)}, which is none`,
      [...place, 'settings'],
    )
}

/** A group of policies that a request can be held to together with those of other groups. */
interface Group {
  readonly title: string
  readonly place: Place
  readonly policies: readonly TierPolicy[]
  /** Whether anonymous callers are held to it. */
  readonly anonymous: boolean
}

/**
 * One request is held to the global policies, its route's and its tier's: all of them must fit into one write, and no
 * two of them may share stored state.
 */
function checkTogether(
  { settings, tiers, routes, global }: Required<Pick<PolicySetParts, 'settings' | 'tiers' | 'routes' | 'global'>>,
  place: Place,
  issues: Mistake[],
): void {
  const ofTiers = tiers.map(({ name, policies, scope }): Group => {
    const title = `tier ${printed(scopedName(name, scope))}`
    return { title, place: [...place, title], policies, anonymous: name === ANONYMOUS }
  })
  const ofRoutes = routes.map(({ pattern, policies, scope }): Group => {
    const title = `route ${printed(scopedName(pattern.text, scope))}`
    return { title, place: [...place, title], policies, anonymous: true }
  })
  const ofAll: Group = { title: 'global', place: [...place, 'global'], policies: global, anonymous: true }

  checkNumber(ofTiers, ofRoutes, ofAll, issues)
  checkItemSizes({ tiers, routes, global, defaultTier: settings.defaultTier }, place, issues)
  checkStateCollisions(ofTiers, [ofAll, ...ofRoutes], issues)
  checkStateCollisions(ofRoutes, [ofAll], issues)
  for (const { policies, place: here } of [...ofTiers, ...ofRoutes, ofAll])
    checkHeaders(policies, settings, here, issues)
  const names = tiers.map(({ name }) => name)
  for (const { policies, place: here } of [...ofRoutes, ofAll]) checkTierNames(policies, names, here, issues)
}

function checkNumber(tiers: readonly Group[], routes: readonly Group[], global: Group, issues: Mistake[]): void {
  const [longest] = [...tiers].sort((a, b) => b.policies.length - a.policies.length)
  if (!longest) return
  for (const route of [...routes, { ...global, policies: [] }]) {
    const total = route.policies.length + longest.policies.length + global.policies.length
    if (total > MOST_POLICIES) {
      const others =
        global.policies.length > 0 && route.title !== global.title ? `${longest.title} and global` : longest.title
      report(
        issues,
        'too_many',
        `policies must be at most ${MOST_POLICIES} with those of ${others}, got ${total}`,
        route.place,
      )
    }
  }
}

/** Reports required credentials where the deployment says that no caller has to show any. */
export function checkNoneRequired({ tiers, routes, scoped }: PolicySet, place: Place, issues: Mistake[]): void {
  const wrong = 'credentials must not be "required" where the deployment has authentication "none"'
  for (const { name, credentials, scope } of [...tiers.values(), ...(scoped ? [...scoped.tiers.values()].flat() : [])])
    if (credentials === 'required')
      report(issues, 'credentials_disabled', wrong, [...place, `tier ${printed(scopedName(name, scope))}`])
  for (const { pattern, credentials, scope } of routes)
    if (credentials === 'required')
      report(issues, 'credentials_disabled', wrong, [...place, `route ${printed(scopedName(pattern.text, scope))}`])
}

/**
 * Reports policies of `groups` that would share stored state with one of `others`: the same subject under the same
 * name.
 */
function checkStateCollisions(others: readonly Group[], groups: readonly Group[], issues: Mistake[]): void {
  const counts = new Map(
    others.flatMap((other) =>
      other.policies.flatMap((one) => countsOf(one, other).map((count) => [count, other.title])),
    ),
  )
  for (const group of groups) {
    for (const policy of group.policies) {
      const title = countsOf(policy, group)
        .map((count) => counts.get(count))
        .find((found) => found !== undefined)
      if (title === undefined) continue
      const place = [...group.place, `policy "${policy.name}"`]
      report(
        issues,
        'duplicate_name',
        `name must differ from that of a policy of ${title}, or both would count as one`,
        place,
      )
    }
  }
}

/**
 * Each subject that a policy counts with the place of its state, as one text; two policies with the same text would
 * share stored state.
 */
function countsOf(
  { name, stateSchema: form, variant, by: { who, perRoute } }: TierPolicy,
  { anonymous }: Group,
): string[] {
  return possibleSubjects(who, anonymous).map((one) => `${one} ${perRoute} ${name} ${form} ${variant}`)
}

/** A tier that does not exist has no callers: most likely its name is misspelled. */
function checkTierNames(
  policies: readonly TierPolicy[],
  names: readonly string[],
  place: Place,
  issues: Mistake[],
): void {
  for (const { name, tiers = [] } of policies) {
    for (const tier of tiers.filter((one) => !names.includes(one))) {
      report(issues, 'unknown_tier', `tiers must be names of tiers, got ${printed(tier)}, which is none`, [
        ...place,
        `policy "${name}"`,
      ])
    }
  }
}

/** A header that callers can set would give each caller as many quotas as it likes. */
function checkHeaders(
  policies: readonly TierPolicy[],
  { trustedHeaders }: Settings,
  place: Place,
  issues: Mistake[],
): void {
  for (const { name, by } of policies) {
    const untrusted = headersIn(by.who).filter((header) => !trustedHeaders.includes(header))
    for (const header of untrusted) {
      const wanted = `settings must name "${header}" among its trustedHeaders, to say that callers cannot set it`
      report(issues, 'untrusted_header', `by counts by the header ${printed(header)}: ${wanted}`, [
        ...place,
        `policy "${name}"`,
      ])
    }
  }
}

const named = v.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

/** What settings for some APIs begin with, in a file and in the table. */
export const SCOPED_SETTINGS = 'settings @'

/** The fields of `tiers.yaml`, from which its JSON Schema is made, too. */
export const FILE_FIELDS = {
  settings: { schema: named, wanted: 'settings by name', optional: true },
  tiers: { schema: named, wanted: 'tiers by name' },
  routes: { schema: named, wanted: 'routes by method and path', optional: true },
  global: { schema: named, wanted: 'policies of every request', optional: true },
  exported: { schema: named, wanted: 'what "sluice tiers export" wrote', optional: true },
} as const satisfies FieldRules

/**
 * Parses the content of `tiers.yaml`.
 *
 * @throws ConfigError with every mistake, each with the file, the tier, the policy and the field.
 */
export function parseTiersFile(input: unknown, file: string): PolicySet {
  const issues: Mistake[] = []
  const place = [file]
  const [scoped, others] = splitSettings(input)
  const fields = checkFields(others, FILE_FIELDS, 'the file', place, issues)
  const settings = fields?.settings === undefined ? undefined : parseSettings(fields.settings, place, issues)
  const scopedSettings = scoped.flatMap(([text, given]) => parseScopedSettings(text, given, place, issues) ?? [])
  const tiers = Object.entries((fields?.tiers ?? {}) as object).flatMap(
    ([name, tier]) => parseTier(name, tier, place, issues) ?? [],
  )
  const routes = Object.entries((fields?.routes ?? {}) as object).flatMap(
    ([text, route]) => parseRoute(text, route, place, issues) ?? [],
  )
  const global = fields?.global === undefined ? undefined : parseGlobal(fields.global, place, issues)
  if (fields?.tiers) {
    const names = Object.keys(fields.tiers)
    checkAnonymous(names, place, issues)
    if (settings)
      checkDefaultTier(
        settings,
        names.map((name) => splitVariant(name)[0]),
        place,
        issues,
      )
  }
  const set = toPolicySet({ settings, scopedSettings, tiers, routes, global }, place, issues)
  checkAttributePrefixes({ tiers, routes, global: set.global, defaultTier: settings?.defaultTier }, place, issues)
  if (issues.length > 0) throw new ConfigError(issues)
  return set
}

/** Separates settings for some APIs, each under its own key, from the rest of a file. */
function splitSettings(input: unknown): readonly [scoped: [string, unknown][], others: unknown] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [[], input]
  const isScoped = ([key]: [string, unknown]) => key.startsWith(SCOPED_SETTINGS)
  const all = Object.entries(input)
  return [all.filter(isScoped), Object.fromEntries(all.filter((one) => !isScoped(one)))]
}
