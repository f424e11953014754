import { ConfigError, Mistake } from '../limiter/errors'
import type { TiersFile } from '../provisioning/tiers-file'
import type { TiersInCode } from './tiers-props'

const FIELDS = ['tiers', 'routes', 'global', 'settings'] as const

/**
 * The tiers file that these props stand for; `undefined` where there are none.
 *
 * @throws ConfigError if they are combined with a file, or some of them are given without tiers.
 */
export function tiersInCode(props: TiersInCode & { readonly tiersFile?: string }): TiersFile | undefined {
  const given = FIELDS.filter((field) => props[field] !== undefined)
  const [first] = given
  if (first === undefined) return undefined
  const refuse = (sentence: string) => new ConfigError([new Mistake('fields_conflict', sentence)])
  if (props.tiersFile !== undefined) throw refuse(`${first} does not go with tiersFile, got both: keep one`)
  if (props.tiers === undefined) throw refuse(`${first} needs tiers: without them all of it is in a tiersFile`)
  const { tiers, routes, global, settings } = props
  return withoutUndefined({
    tiers: eachNamed(tiers),
    routes: routes && eachNamed(routes),
    global: global && named(global),
    settings,
  }) as unknown as TiersFile
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** A value that is not an object is returned unchanged, to be reported later. */
const eachNamed = (items: unknown) =>
  isObject(items) ? Object.fromEntries(Object.entries(items).map(([name, item]) => [name, named(item)])) : items

/** The same with a name for each policy that has none. */
function named(item: unknown): unknown {
  if (!isObject(item)) return item
  const { policies } = item as { readonly policies?: unknown }
  if (!Array.isArray(policies)) return item
  return {
    ...item,
    policies: policies.map((policy) => (isNameless(policy) ? { name: nameOf(policy), ...policy } : policy)),
  }
}

type Nameless = Readonly<Partial<Record<'algorithm' | 'window' | 'cost', unknown>>>

const isNameless = (policy: unknown): policy is Nameless =>
  isObject(policy) && (policy as { name?: unknown }).name === undefined

function nameOf({ algorithm, window, cost }: Nameless): string {
  if (algorithm === 'concurrency') return 'running'
  const per = `per-${String(window)}`
  return typeof cost === 'string' ? `${cost}-${per}` : per
}

/** As in YAML: a field that is `undefined` is absent. */
const withoutUndefined = (value: object): object => JSON.parse(JSON.stringify(value))
