import { createHash } from 'node:crypto'
import { routeKey, tierKey } from './config-items'

/** An item of the config table as plain values. */
export interface ConfigItem {
  readonly pk: string
  readonly sk: string
  readonly [field: string]: unknown
}

/** What `tiers.yaml` holds, item by item as the config table has it. The file must have passed `parseTiersFile`. */
export function itemsOf(file: unknown): ConfigItem[] {
  const { tiers = {}, routes = {} } = file as Partial<Record<'tiers' | 'routes', Record<string, object> | null>>
  return [
    ...Object.entries(tiers ?? {}).map(([name, tier]) => ({ ...tierKey(name), ...tier })),
    ...Object.entries(routes ?? {}).map(([pattern, route]) => ({ ...routeKey(pattern), ...route })),
  ]
}

/** A hash of everything in an item, the same in whatever order its fields stand. */
export function contentHash(item: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(canonical(item)).digest('hex')
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`)
    .join()}}`
}
