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
}

export const DEFAULT_SETTINGS: Settings = { identity: DEFAULT_IDENTITY, trustedHeaders: [] }

/** The fields of the settings, the source of their JSON Schema too. */
export const SETTINGS_FIELDS = {
  defaultTier: { schema: v.pipe(v.string(), v.minLength(1)), wanted: 'the name of a tier', optional: true },
  identity: { schema: v.unknown(), wanted: 'a list of sources', optional: true },
  trustedHeaders: {
    schema: v.pipe(v.array(v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/))), v.maxLength(32)),
    wanted: 'a list of at most 32 names of headers',
    optional: true,
  },
} as const satisfies FieldRules

export function parseSettings(input: unknown, place: Place, issues: string[]): Settings | undefined {
  const before = issues.length
  const here = [...place, 'settings']
  const fields = checkFields(input, SETTINGS_FIELDS, 'settings', here, issues)
  const identity = parseIdentity(fields?.identity, here, issues)
  if (issues.length > before) return undefined
  const { defaultTier, trustedHeaders = [] } = fields as { defaultTier?: string; trustedHeaders?: string[] }
  return { defaultTier, identity, trustedHeaders: trustedHeaders.map((name) => name.toLowerCase()) }
}
