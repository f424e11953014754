import * as v from 'valibot'
import { ConfigError, type Mistake } from '../../../limiter/errors'
import { checkFields, type FieldRules } from '../../../limiter/policies/report'
import type { PolicySet } from './policy-set'
import { toCheckedPolicySet } from './policy-set-checks'
import { parseScopedSettings, parseSettings, SCOPED_SETTINGS } from './settings'
import { parseGlobal, parseRoute, parseTier } from './tiers'

const named = v.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

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
  const names = fields?.tiers ? Object.keys(fields.tiers) : undefined
  const set = toCheckedPolicySet({ settings, scopedSettings, tiers, routes, global }, names, place, issues)
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
