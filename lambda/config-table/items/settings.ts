import * as v from 'valibot'
import type { Mistake } from '../../../limiter/errors'
import { checkFair } from '../../../limiter/policies/fair'
import { POLICY_FIELDS, parsePolicies } from '../../../limiter/policies/parse-policies'
import type { Policy } from '../../../limiter/policies/policy'
import { checkFields, type FieldRules, type Place, report, TEXT } from '../../../limiter/policies/report'
import { DEFAULT_IDENTITY, parseIdentity, type SourceSettings } from './identity-settings'
import { APIS_FIELD, type Scope, toScope } from './scopes'

/** Settings of the whole service. */
export interface Settings {
  /** The tier of known callers whose own tier does not exist. @default the anonymous tier */
  readonly defaultTier?: string
  /** The sources of identity, in the order in which they are tried. */
  readonly identity: readonly SourceSettings[]
  /** Headers, in lower case, whose values callers cannot choose; policies may count by them. */
  readonly trustedHeaders: readonly string[]
  /**
   * The share of each limit that one instance admits by itself while the state table is unavailable, above 0 and up to
   * 1.
   */
  readonly localShare: number
  /** Whether a subject whose item gets more writes than DynamoDB takes for one item is leased for a while. */
  readonly autoLease: boolean
  /**
   * How many unknown credentials an address may show in a minute. Above it an instance looks up one credential a second
   * for that address.
   */
  readonly failedCredentials: number
  /**
   * `enforce`: limits are enforced. `observe`: requests are counted and reported, and none is denied. `off`: requests
   * are not even counted.
   */
  readonly mode: ServiceMode
  /** Percentage of a limit at which a caller is near it, which is logged and counted, 1 to 99; `off`: never. */
  readonly nearing: number | 'off'
  /** How many preflights an address may send, counted apart from its other requests. */
  readonly preflight: Policy
  /** The base paths that custom domains put in front of paths, such as `/v1`. */
  readonly basePaths: readonly string[]
}

/** The settings that some APIs may have of their own. */
export interface ScopedSettings extends Pick<Settings, 'mode'> {
  readonly scope: Scope
}

type ServiceMode = (typeof MODES)[number]
/** The strictest first. */
export const MODES = ['enforce', 'observe', 'off'] as const

/** A fifth: an authorizer that takes 10 ms a request has five instances at 500 requests a second. */
const LOCAL_SHARE = 0.2

/** Late enough to be worth a word to the customer, early enough for one. */
const NEARING = 80

/** Many people in an office behind one address open many pages. */
const PREFLIGHT = { limit: 600, window: '1m' }

export const DEFAULT_SETTINGS: Settings = {
  identity: DEFAULT_IDENTITY,
  trustedHeaders: [],
  localShare: LOCAL_SHARE,
  autoLease: true,
  failedCredentials: 30,
  mode: 'enforce',
  nearing: NEARING,
  preflight: parsePreflight(PREFLIGHT, [], [])!,
  basePaths: [],
}

/** The fields of the settings, from which their JSON Schema is made, too. */
export const SETTINGS_FIELDS = {
  defaultTier: { schema: v.pipe(v.string(), v.minLength(1)), wanted: 'the name of a tier', optional: true },
  identity: { schema: v.unknown(), wanted: 'a list of sources', optional: true },
  trustedHeaders: {
    schema: v.pipe(v.array(v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/))), v.maxLength(32)),
    wanted: 'a list of at most 32 names of headers',
    optional: true,
  },
  localShare: {
    schema: v.pipe(v.number(), v.gtValue(0), v.maxValue(1)),
    wanted: 'a number above 0 and up to 1, such as 0.1 for ten instances',
    optional: true,
  },
  autoLease: { schema: v.boolean(), wanted: 'true or false', optional: true },
  preflight: { schema: v.unknown(), wanted: 'a limit and a window', optional: true },
  basePaths: {
    schema: v.pipe(
      v.array(v.pipe(v.string(), v.maxLength(256), v.regex(/^\/?[\w$.+!*'()~-]+(?:\/[\w$.+!*'()~-]+)*\/?$/))),
      v.maxLength(16),
    ),
    wanted: 'a list of at most 16 base paths such as "/v1"',
    optional: true,
  },
  failedCredentials: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000)),
    wanted: 'an integer from 1 to 1000000',
    optional: true,
  },
  mode: { schema: v.picklist(MODES), wanted: `one of ${MODES.join(', ')}`, optional: true },
  nearing: {
    schema: v.union([v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(99)), v.literal('off')]),
    wanted: 'a whole percentage from 1 to 99, or off',
    optional: true,
  },
} as const satisfies FieldRules

/** What settings for some APIs begin with, in a file and in the table. */
export const SCOPED_SETTINGS = 'settings @'

/** The fields of settings for some APIs. How callers are identified is the same for all APIs. */
export const SCOPED_SETTINGS_FIELDS = {
  apis: { schema: APIS_FIELD.schema, wanted: APIS_FIELD.wanted },
  mode: { schema: SETTINGS_FIELDS.mode.schema, wanted: SETTINGS_FIELDS.mode.wanted },
} as const satisfies FieldRules

/** The item that `sluice off` and `sluice observe on` write; applying a tiers file leaves it alone. */
export interface ModeSwitch {
  readonly mode: Exclude<ServiceMode, 'enforce'>
}

/** The fields of the switch; `since` and `note` are informational. */
export const SWITCH_FIELDS = {
  mode: { schema: v.picklist(['observe', 'off']), wanted: 'observe or off' },
  since: { schema: v.pipe(v.string(), v.maxLength(64)), wanted: 'a time', optional: true },
  note: TEXT,
} as const satisfies FieldRules

export function parseSwitch(input: unknown, place: Place, issues: Mistake[]): ModeSwitch | undefined {
  const before = issues.length
  const fields = checkFields(input, SWITCH_FIELDS, 'a switch', place, issues)
  return fields && issues.length === before ? { mode: fields.mode as ModeSwitch['mode'] } : undefined
}

/** Settings under a switch, if one is on: the more permissive of both modes holds. */
export function switched<T extends Pick<Settings, 'mode'>>(settings: T, modeSwitch: ModeSwitch | undefined): T {
  if (!modeSwitch || MODES.indexOf(settings.mode) >= MODES.indexOf(modeSwitch.mode)) return settings
  return { ...settings, mode: modeSwitch.mode }
}

/** The fields of `preflight`: those of a policy, without its name. */
export const PREFLIGHT_FIELDS: FieldRules = Object.fromEntries(
  Object.entries(POLICY_FIELDS).filter(([field]) => field !== 'name'),
)

export function parseSettings(input: unknown, place: Place, issues: Mistake[]): Settings | undefined {
  const before = issues.length
  const here = [...place, 'settings']
  const fields = checkFields(input, SETTINGS_FIELDS, 'settings', here, issues)
  const identity = parseIdentity(fields?.identity, here, issues)
  const preflight =
    fields?.preflight === undefined ? DEFAULT_SETTINGS.preflight : parsePreflight(fields.preflight, here, issues)
  if (issues.length > before) return undefined
  const { trustedHeaders = [], basePaths = [], ...others } = fields as Partial<Settings>
  return {
    ...DEFAULT_SETTINGS,
    ...others,
    identity,
    preflight: preflight!,
    trustedHeaders: trustedHeaders.map((name) => name.toLowerCase()),
    basePaths: [...new Set(basePaths.map((base) => `/${base.replace(/^\/|\/$/g, '')}`))],
  }
}

/** @param text the item's key, such as `settings @dev`. */
export function parseScopedSettings(
  text: string,
  input: unknown,
  place: Place,
  issues: Mistake[],
): ScopedSettings | undefined {
  const before = issues.length
  const here = [...place, text]
  const fields = checkFields(input, SCOPED_SETTINGS_FIELDS, 'settings for some APIs', here, issues)
  const scope = fields && toScope(text, input, here, issues)
  return scope && issues.length === before ? { scope, mode: fields.mode as ServiceMode } : undefined
}

function parsePreflight(input: unknown, place: Place, issues: Mistake[]): Policy | undefined {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  if (isObject && 'name' in input) report(issues, 'field_not_applicable', 'preflight has no name of its own', place)
  const [policy] = parsePolicies([isObject ? { ...input, name: 'preflight' } : input], place, issues)
  if (policy) checkFair(policy, false, place, issues)
  if (policy?.counter.isEndedByOthers)
    report(
      issues,
      'field_not_applicable',
      'preflight does not go with algorithm "concurrency": no backend ends it',
      place,
    )
  if (!policy) return undefined
  const { extra: _, ...others } = policy
  return others
}
