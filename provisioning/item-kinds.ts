import type { GenericSchema } from 'valibot'
import { ACCESS_FIELDS } from '../lambda/config-table/items/access-list'
import { CLIENT_FIELDS } from '../lambda/config-table/items/client-item'
import { COST_FIELDS, COST_NAME, MAX_COSTS } from '../lambda/config-table/items/cost'
import { MAX_SOURCES, SOURCE_FIELDS } from '../lambda/config-table/items/identity-settings'
import { API_FIELDS } from '../lambda/config-table/items/scopes'
import {
  PREFLIGHT_FIELDS,
  SCOPED_SETTINGS,
  SCOPED_SETTINGS_FIELDS,
  SETTINGS_FIELDS,
  SWITCH_FIELDS,
} from '../lambda/config-table/items/settings'
import type { ItemFields } from '../lambda/config-table/items/stored-names'
import {
  GLOBAL_FIELDS,
  POLICY_EXTRAS,
  ROUTE_FIELDS,
  SHARED_POLICY_EXTRAS,
  TIER_FIELDS,
} from '../lambda/config-table/items/tiers'
import { MAX_POLICIES, POLICY_FIELDS } from '../limiter/policies/parse-policies'
import type { FieldRules } from '../limiter/policies/report'

/** The form of a field that has fields of its own. */
type Inner =
  /** One object. */
  | { readonly object: FieldRules }
  /** Values by names that people choose; a value that is an object has these fields. */
  | { readonly mapOf: FieldRules; readonly names: GenericSchema; readonly most: number }
  /** A list of objects that all have the same fields. */
  | { readonly listOf: FieldRules; readonly most: number }
  /** A list of objects whose fields depend on the word in their field `tag`. */
  | { readonly listOf: Readonly<Record<string, FieldRules>>; readonly tag: string; readonly most: number }

/** A kind of item of the config table. */
export interface ItemKind {
  /** Its sort key, or what it begins with. */
  readonly sk: string | RegExp
  /** In the order in which people write them. */
  readonly fields: ItemFields
  /** Fields that have fields of their own. @default none */
  readonly inner?: Readonly<Record<string, Inner>>
  /** Whether tiers files have such items. @default false */
  readonly inFile?: true
}

const policies = { listOf: { ...POLICY_FIELDS, ...POLICY_EXTRAS }, most: MAX_POLICIES } as const
const sharedPolicies = { listOf: { ...POLICY_FIELDS, ...SHARED_POLICY_EXTRAS }, most: MAX_POLICIES } as const
const identity = { listOf: SOURCE_FIELDS, tag: 'source', most: MAX_SOURCES } as const

/**
 * All kinds of items of the config table that people and commands write, by the fields that the authorizer checks. The
 * JSON Schema, the order of `sluice tiers export`, the names under which fields are stored, and what a guarded write
 * looks at are made from it.
 */
export const ITEM_KINDS = {
  settings: {
    sk: 'settings',
    fields: SETTINGS_FIELDS,
    inner: { identity, preflight: { object: PREFLIGHT_FIELDS } },
    inFile: true,
  },
  scopedSettings: { sk: new RegExp(`^${SCOPED_SETTINGS}`), fields: SCOPED_SETTINGS_FIELDS, inFile: true },
  tier: { sk: /^tier#/, fields: TIER_FIELDS, inner: { policies }, inFile: true },
  route: {
    sk: /^route#/,
    fields: ROUTE_FIELDS,
    inner: {
      policies: sharedPolicies,
      cost: { object: COST_FIELDS },
      costs: { mapOf: COST_FIELDS, names: COST_NAME, most: MAX_COSTS },
    },
    inFile: true,
  },
  global: { sk: 'global', fields: GLOBAL_FIELDS, inner: { policies: sharedPolicies }, inFile: true },
  modeSwitch: { sk: 'switch', fields: SWITCH_FIELDS },
  api: { sk: /^api#/, fields: API_FIELDS },
  access: { sk: /^(?:block|allow)#/, fields: ACCESS_FIELDS },
  client: { sk: 'client', fields: CLIENT_FIELDS },
} as const satisfies Readonly<Record<string, ItemKind>>

/** The kind of the item under a sort key; `undefined` for any other key. */
export function kindOf(sk: unknown): ItemKind | undefined {
  const kinds: readonly ItemKind[] = Object.values(ITEM_KINDS)
  return kinds.find((kind) => (typeof kind.sk === 'string' ? kind.sk === sk : kind.sk.test(String(sk))))
}

const ALL_FIELDS = Object.values<ItemKind>(ITEM_KINDS).flatMap(({ fields }) => Object.entries(fields))

/** The fields of all kinds that are stored under another name. */
export const RENAMED_FIELDS: ItemFields = Object.fromEntries(ALL_FIELDS.filter(([, { storedAs }]) => storedAs))

/** All names of fields under which items are, or were, stored or written. */
export const STORED_FIELDS: ReadonlySet<string> = new Set(
  ALL_FIELDS.flatMap(([name, { storedAs }]) => [name, storedAs ?? name]),
)

/** An item's fields in the order in which people write them, the unknown ones last; DynamoDB keeps no order. */
export function ordered(item: Fields, { fields, inner = {} }: Pick<ItemKind, 'fields' | 'inner'>): Fields {
  return inOrder(item, fields, (field, value) => {
    const one = Object.hasOwn(inner, field) ? inner[field] : undefined
    if (one && 'object' in one) return isPlain(value) ? inOrder(value, one.object) : value
    if (one && 'mapOf' in one)
      return isPlain(value)
        ? inOrder(value, {}, (_, each) => (isPlain(each) ? inOrder(each, one.mapOf) : byName(each)))
        : value
    if (one && Array.isArray(value)) return value.map((element) => orderedElement(element, one))
    return byName(value)
  })
}

type Fields = Readonly<Record<string, unknown>>

function orderedElement(element: unknown, list: Extract<Inner, { readonly listOf: unknown }>): unknown {
  if (!isPlain(element)) return element
  const fields = 'tag' in list ? list.listOf[String(element[list.tag])] : list.listOf
  return inOrder(element, fields ?? {})
}

/** Fields without an order of their own. */
function byName(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(byName)
  return isPlain(value) ? inOrder(value, {}) : value
}

function inOrder(
  given: Fields,
  rules: FieldRules,
  toValue: (field: string, value: unknown) => unknown = (_, value) => byName(value),
): Fields {
  const names = Object.keys(rules)
  const rank = (field: string) => names.indexOf(field) + 1 || names.length + 1
  const sorted = Object.entries(given).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([field, value]) => [field, toValue(field, value)]))
}

/** Whether a value is a map, and neither a list, a set nor bytes. */
export const isPlain = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Set) &&
  !(value instanceof Uint8Array)
