import { toJsonSchema } from '@valibot/to-json-schema'
import { ITEM_KINDS } from '../../provisioning/item-kinds'
import { CONCURRENCY, FILE_FIELDS, FIXED_COST, SCOPED_SETTINGS } from '../facade/policies'
import type { FieldRules } from '../facade/values'

type Schema = Readonly<Record<string, unknown>>

/**
 * The JSON Schema of `tiers.yaml`, made from the rules that check it. It knows every field, its type and its numbers;
 * what only the checks know (whether two routes match the same requests, say) is for `sluice tiers validate`.
 */
export function tiersSchema(): Schema {
  const { settings, scopedSettings, tier, route, global } = ITEM_KINDS
  const { identity, preflight } = settings.inner
  const listOf = (most: number, items: Schema) => ({ type: 'array', maxItems: most, items })
  const ref = (definition: string) => ({ $ref: `#/definitions/${definition}` })
  const policies = listOf(tier.inner.policies.most, ref('policy'))
  const shared = listOf(route.inner.policies.most, ref('sharedPolicy'))
  const text = { type: 'string' }
  const cost = { anyOf: [schemaOf(FIXED_COST), objectOf(route.inner.cost.object)] }
  const { names, most } = route.inner.costs
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'tiers.yaml of Sluice',
    ...objectOf(FILE_FIELDS, {
      settings: ref('settings'),
      tiers: { type: 'object', additionalProperties: ref('tier'), required: ['anonymous'] },
      routes: { type: 'object', additionalProperties: ref('route') },
      global: ref('global'),
      exported: { type: 'object', additionalProperties: text },
    }),
    patternProperties: { [`^${SCOPED_SETTINGS}`]: ref('scopedSettings') },
    definitions: {
      policy: policyOf(tier.inner.policies.listOf),
      sharedPolicy: policyOf(route.inner.policies.listOf),
      tier: objectOf(tier.fields, { policies }),
      route: objectOf(route.fields, {
        policies: shared,
        cost,
        costs: { type: 'object', maxProperties: most, propertyNames: schemaOf(names), additionalProperties: cost },
      }),
      global: objectOf(global.fields, { policies: shared }),
      scopedSettings: objectOf(scopedSettings.fields),
      settings: objectOf(settings.fields, {
        identity: listOf(identity.most, { anyOf: sources() }),
        preflight: objectOf(preflight.object),
      }),
    },
  }
}

/** A policy has a window, or counts what runs and has a timeout. */
function policyOf(rules: FieldRules): Schema {
  const { required, ...object } = objectOf(rules)
  const running = { properties: { algorithm: { const: CONCURRENCY } }, required: ['algorithm', 'timeout'] }
  return {
    ...object,
    required: (required as string[]).filter((field) => field !== 'window'),
    anyOf: [{ required: ['window'] }, running],
  }
}

/** Each source by its name alone, where it needs no more, or with its fields. */
function sources(): Schema[] {
  const tiersByRole = { type: ['array', 'object'] }
  const all = Object.entries(ITEM_KINDS.settings.inner.identity.listOf).map(([name, fields]) => {
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

/** What no JSON Schema can say, such as whether a time zone exists, is left to the checks. */
function schemaOf(schema: FieldRules[string]['schema']): Schema {
  const { $schema: _, ...converted } = toJsonSchema(schema, { errorMode: 'ignore' })
  return converted as Schema
}

/** An object with these fields and no others. @param known the schemas of fields whose rules are elsewhere. */
function objectOf(rules: FieldRules, known: Readonly<Record<string, Schema>> = {}): Schema {
  const properties = Object.entries(rules).map(([field, { schema, wanted }]) => {
    return [field, { ...(known[field] ?? schemaOf(schema)), description: wanted }]
  })
  const required = Object.entries(rules).flatMap(([field, { optional }]) => (optional ? [] : [field]))
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false }
}
