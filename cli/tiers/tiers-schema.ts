import { toJsonSchema } from '@valibot/to-json-schema'
import { SOURCE_FIELDS } from '../../lambda/config-table/items/identity-settings'
import { FILE_FIELDS, SCOPED_SETTINGS } from '../../lambda/config-table/items/policy-set'
import { PREFLIGHT_FIELDS, SCOPED_SETTINGS_FIELDS, SETTINGS_FIELDS } from '../../lambda/config-table/items/settings'
import {
  GLOBAL_FIELDS,
  POLICY_EXTRAS,
  ROUTE_FIELDS,
  SHARED_POLICY_EXTRAS,
  TIER_FIELDS,
} from '../../lambda/config-table/items/tiers'
import { POLICY_FIELDS } from '../../limiter/policies/parse-policies'
import type { FieldRules } from '../../limiter/policies/report'

type Schema = Readonly<Record<string, unknown>>

/**
 * The JSON Schema of `tiers.yaml`, made from the rules that check it. It knows every field, its type and its numbers;
 * what only the checks know (whether two routes match the same requests, say) is for `sluice tiers validate`.
 */
export function tiersSchema(): Schema {
  const policiesOf = (definition: string) => ({
    type: 'array',
    maxItems: 30,
    items: { $ref: `#/definitions/${definition}` },
  })
  const [policies, shared] = [policiesOf('policy'), policiesOf('sharedPolicy')]
  const text = { type: 'string' }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'tiers.yaml of Sluice',
    ...objectOf(FILE_FIELDS, {
      settings: { $ref: '#/definitions/settings' },
      tiers: { type: 'object', additionalProperties: { $ref: '#/definitions/tier' }, required: ['anonymous'] },
      routes: { type: 'object', additionalProperties: { $ref: '#/definitions/route' } },
      global: { $ref: '#/definitions/global' },
      exported: { type: 'object', additionalProperties: text },
    }),
    patternProperties: { [`^${SCOPED_SETTINGS}`]: { $ref: '#/definitions/scopedSettings' } },
    definitions: {
      policy: objectOf({ ...POLICY_FIELDS, ...POLICY_EXTRAS }),
      sharedPolicy: objectOf({ ...POLICY_FIELDS, ...SHARED_POLICY_EXTRAS }),
      tier: objectOf(TIER_FIELDS, { policies }),
      route: objectOf(ROUTE_FIELDS, { policies: shared }),
      global: objectOf(GLOBAL_FIELDS, { policies: shared }),
      scopedSettings: objectOf(SCOPED_SETTINGS_FIELDS),
      settings: objectOf(SETTINGS_FIELDS, {
        identity: { type: 'array', maxItems: 16, items: { anyOf: sources() } },
        preflight: objectOf(PREFLIGHT_FIELDS),
      }),
    },
  }
}

/** Each source by its name alone, where it needs no more, or with its fields. */
function sources(): Schema[] {
  const tiersByRole = { type: ['array', 'object'] }
  const all = Object.entries(SOURCE_FIELDS).map(([name, fields]) => {
    const known: Readonly<Record<string, Schema>> = {
      source: { const: name },
      trusted: { const: true },
      ...(name === 'jwt' && { tiersByRole }),
    }
    return { name, schema: objectOf(fields, known) }
  })
  const alone = all.filter(({ schema }) => (schema.required as string[]).length === 1).map(({ name }) => name)
  return [{ enum: alone }, ...all.map(({ schema }) => schema)]
}

/** An object with these fields and no others. @param known the schemas of fields whose rules are elsewhere. */
function objectOf(rules: FieldRules, known: Readonly<Record<string, Schema>> = {}): Schema {
  const properties = Object.entries(rules).map(([field, { schema, wanted }]) => {
    // What no JSON Schema can say, such as whether a time zone exists, is left to the checks.
    const { $schema: _, ...converted } = known[field] ?? toJsonSchema(schema, { errorMode: 'ignore' })
    return [field, { ...converted, description: wanted }]
  })
  const required = Object.entries(rules).flatMap(([field, { optional }]) => (optional ? [] : [field]))
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false }
}
