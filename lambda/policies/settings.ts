import * as v from 'valibot'
import { DEFAULT_IDENTITY, parseIdentity, type SourceSettings } from './identity-settings'
import { checkFields, type FieldRules, type Place } from './report'

/** What holds for the whole service. */
export interface Settings {
  /** The tier of known callers whose own is not there. @default that of unknown callers */
  readonly defaultTier?: string
  /** Who is asked who the caller is, in this order. */
  readonly identity: readonly SourceSettings[]
  /** Headers, in lower case, whose values callers cannot choose; policies may count by them. */
  readonly trustedHeaders: readonly string[]
  /** The part of each limit that one instance admits by itself while the state table cannot be asked, above 0 and up to 1. */
  readonly localShare: number
  /** Whether a subject whose item gets more writes than DynamoDB takes for one has units taken ahead for a while. */
  readonly autoLease: boolean
  /** Whether limits are enforced; or are counted and told of, and deny nothing: `observe`; or are not even counted: `off`. */
  readonly mode: ServiceMode
}

type ServiceMode = (typeof MODES)[number]
const MODES = ['enforce', 'observe', 'off'] as const

/** One part of five: an authorizer that takes 10 ms a request has five instances at 500 requests a second. */
const LOCAL_SHARE = 0.2

export const DEFAULT_SETTINGS: Settings = {
  identity: DEFAULT_IDENTITY,
  trustedHeaders: [],
  localShare: LOCAL_SHARE,
  autoLease: true,
  mode: 'enforce',
}

/** The fields of the settings, the source of their JSON Schema too. */
export const SETTINGS_FIELDS = {
  defaultTier: { schema: v.pipe(v.string(), v.minLength(1)), wanted: 'the name of a tier', optional: true },
  identity: { schema: v.unknown(), wanted: 'a list of sources', optional: true },
  trustedHeaders: {
    schema: v.pipe(v.array(v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/))), v.maxLength(32)),
    wanted: 'a list of at most 32 names of headers',
    optional: true,
  },
  mode: { schema: v.picklist(MODES), wanted: `one of ${MODES.join(', ')}`, optional: true },
  localShare: {
    schema: v.pipe(v.number(), v.gtValue(0), v.maxValue(1)),
    wanted: 'a number above 0 and up to 1, such as 0.1 for ten instances',
    optional: true,
  },
  autoLease: { schema: v.boolean(), wanted: 'true or false', optional: true },
} as const satisfies FieldRules

export function parseSettings(input: unknown, place: Place, issues: string[]): Settings | undefined {
  const before = issues.length
  const here = [...place, 'settings']
  const fields = checkFields(input, SETTINGS_FIELDS, 'settings', here, issues)
  const identity = parseIdentity(fields?.identity, here, issues)
  if (issues.length > before) return undefined
  const { trustedHeaders = [], ...others } = fields as Partial<Settings>
  return { ...DEFAULT_SETTINGS, ...others, identity, trustedHeaders: trustedHeaders.map((name) => name.toLowerCase()) }
}
