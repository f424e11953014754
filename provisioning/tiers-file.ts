import { createHash } from 'node:crypto'
import { CONFIG_TABLE, MAX_POLICY_SET_ITEMS, routeKey, tierKey } from '../lambda/config-table/items/config-keys'
import { parseTiersFile } from '../lambda/config-table/items/parse-tiers-file'
import type { PolicySet } from '../lambda/config-table/items/policy-set'
import { SCOPED_SETTINGS } from '../lambda/config-table/items/settings'
import { withPresentNames, withStoredNames } from '../lambda/config-table/items/stored-names'
import { ConfigError, type Mistake } from '../limiter/errors'
import { type Place, report } from '../limiter/policies/report'
import { isPlain, kindOf, ordered, RENAMED_FIELDS } from './item-kinds'

type Fields = Readonly<Record<string, unknown>>

/** An item of the partition `policy-set`, as an object. */
export interface PolicySetItem extends Fields {
  readonly pk: string
  readonly sk: string
}

/** What `tiers.yaml` holds: the policy set's items by what they are, without their keys. */
export interface TiersFile {
  readonly settings?: Fields
  /** Settings for some APIs, such as `settings @dev`. */
  readonly [scopedSettings: `settings @${string}`]: Fields
  readonly tiers: Readonly<Record<string, Fields>>
  readonly routes?: Readonly<Record<string, Fields>>
  readonly global?: Fields
  /** The items as they were exported: each one's `contentHash` by its sort key. So a later edit is detected. */
  readonly exported?: Readonly<Record<string, string>>
}

/** How an item differs from what it was. */
export interface Change {
  readonly sk: string
  readonly kind: 'add' | 'change' | 'remove'
  readonly before?: PolicySetItem
  readonly after?: PolicySetItem
}

const GLOBAL_KEY = { pk: CONFIG_TABLE.policySet, sk: 'global' } as const
const SETTINGS_KEY = { pk: CONFIG_TABLE.policySet, sk: 'settings' } as const

/** The items that a file stands for, unchecked. */
export function itemsOf(file: TiersFile): PolicySetItem[] {
  const { settings, tiers, routes = {}, global } = file
  const scoped = Object.entries<unknown>(file as never).filter(([key]) => key.startsWith(SCOPED_SETTINGS))
  return [
    ...Object.entries(tiers).map(([name, tier]) => ({ ...tier, ...tierKey(name) })),
    ...Object.entries(routes).map(([pattern, route]) => ({ ...route, ...routeKey(pattern) })),
    ...(global === undefined ? [] : [{ ...global, ...GLOBAL_KEY }]),
    ...(settings === undefined ? [] : [{ ...settings, ...SETTINGS_KEY }]),
    ...scoped.map(([sk, fields]) => ({ ...(fields as Fields), pk: CONFIG_TABLE.policySet, sk })),
  ].map(stored)
}

/**
 * The file that stands for these items: `itemsOf` is the inverse. What a file does not have, such as blocked addresses,
 * is left out.
 */
export function fileOf(items: readonly PolicySetItem[]): TiersFile {
  const held = items.filter(isInFile).sort((a, b) => (a.sk < b.sk ? -1 : 1))
  const named = (kind: string) =>
    Object.fromEntries(
      held.filter(({ sk }) => sk.startsWith(kind)).map((item) => [item.sk.slice(kind.length), contentOf(item)]),
    )
  const single = (key: string) => held.filter(({ sk }) => sk === key).map(contentOf)[0]
  const [settings, global, routes] = [single('settings'), single('global'), named('route#')]
  return {
    ...(settings && { settings }),
    ...Object.fromEntries(
      held.filter(({ sk }) => sk.startsWith(SCOPED_SETTINGS)).map((item) => [item.sk, contentOf(item)]),
    ),
    tiers: named('tier#'),
    ...(Object.keys(routes).length > 0 && { routes }),
    ...(global && { global }),
  }
}

/** The value of `exported` for these items. */
export function hashesOf(items: readonly PolicySetItem[]): Record<string, string> {
  return Object.fromEntries(items.filter(isInFile).map((item) => [item.sk, contentHash(item)]))
}

/**
 * Whether a tiers file has items of this kind: tiers, routes, `global` and `settings`, but not blocks or labels of
 * APIs.
 */
export function isInFile({ sk }: { readonly sk: string }): boolean {
  return kindOf(sk)?.inFile === true
}

/**
 * Sixteen hexadecimal digits that are the same for the same content, in whatever order its fields stand, and in every
 * release: fields count under the names by which they are stored. Keys are not content.
 */
export function contentHash(item: Fields): string {
  const { pk: _pk, sk: _sk, ...content } = item
  return createHash('sha256')
    .update(canonical(withStoredNames(RENAMED_FIELDS, content)))
    .digest('hex')
    .slice(0, 16)
}

/** The changes from `before` to `after`, ordered by sort key; empty when they are the same. */
export function diff(before: readonly PolicySetItem[], after: readonly PolicySetItem[]): Change[] {
  const bySortKey = (items: readonly PolicySetItem[]) => new Map(items.map((item) => [item.sk, item]))
  const [old, wanted] = [bySortKey(before), bySortKey(after)]
  const keys = [...new Set([...old.keys(), ...wanted.keys()])].sort()
  return keys.flatMap((sk): Change[] => {
    const [was, is] = [old.get(sk), wanted.get(sk)]
    if (!was) return [{ sk, kind: 'add', after: is }]
    if (!is) return [{ sk, kind: 'remove', before: was }]
    return contentHash(was) === contentHash(is) ? [] : [{ sk, kind: 'change', before: was, after: is }]
  })
}

/** What an item holds beside its keys, under the present names of its fields and in the order in which people write. */
export function contentOf(item: PolicySetItem): Fields {
  const { pk: _pk, sk, ...fields } = item
  const kind = kindOf(sk) ?? { fields: {} }
  return ordered(withPresentNames(kind.fields, fields), kind)
}

/** The item as it is stored. */
const stored = (item: PolicySetItem): PolicySetItem => withStoredNames(kindOf(item.sk)?.fields ?? {}, item)

/** JSON with sorted fields, and with sets and bytes, which JSON does not have, told apart from lists and text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (value instanceof Set) return `set(${[...value].map(canonical).sort().join()})`
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('base64')})`
  if (!isPlain(value)) return JSON.stringify(value) ?? 'undefined'
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${fields
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, inner]) => `${JSON.stringify(field)}:${canonical(inner)}`)
    .join()}}`
}

/** Items of a policy set that are reserved for the switch and the labels of APIs. */
const RESERVED_ITEMS = 100

/**
 * Reports a policy set that has more items than may be written. The authorizer reads some more, so that the limits can
 * be switched off and an API be labelled whatever the number of tiers.
 */
export function checkRoom(count: number, place: Place, issues: Mistake[]): void {
  const most = MAX_POLICY_SET_ITEMS - RESERVED_ITEMS
  if (count > most)
    report(
      issues,
      'too_many',
      `tiers, routes, settings and the block list must be at most ${most} items, got ${count}`,
      place,
    )
}

/** @throws ConfigError for too many items. */
export function assertRoom(count: number, place: Place = []): void {
  const issues: Mistake[] = []
  checkRoom(count, place, issues)
  if (issues.length > 0) throw new ConfigError(issues)
}

/**
 * Checks the content of a tiers file, by itself and as the items that it becomes.
 *
 * @throws ConfigError with every mistake, each with the file, the tier, the policy and the field.
 */
export function checkTiersFile(input: unknown, path: string): PolicySet {
  const set = parseTiersFile(input, path)
  assertRoom(itemsOf(input as TiersFile).length, [path])
  return set
}
