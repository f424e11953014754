import { ConfigError, Mistake, printed } from '../limiter/errors'
import { type Place, report } from '../limiter/policies/report'
import type { RegionShares } from './shares-by-region'
import type { TiersFile } from './tiers-file'

type Fields = Readonly<Record<string, unknown>>

/** Shares are counted in thousandths of a percent. */
const WHOLE = 100_000

/**
 * A tiers file for each Region, in which `limit` and `burst` of every policy are the Region's part of those of the
 * given file. The parts of a number are whole, at least 1, less than one away from its share, and together exactly the
 * number: what all Regions admit is what one with the given file would. All else stays as it is.
 *
 * @param file a file without mistakes.
 * @param path the file's name in messages.
 * @throws ConfigError with every invalid share, and every number that is smaller than the number of Regions.
 */
export function splitTiers(file: TiersFile, shares: RegionShares, path: string): Readonly<Record<string, TiersFile>> {
  const issues = mistakesIn(shares)
  if (file.exported !== undefined)
    report(
      issues,
      'fields_conflict',
      'exported must not be in a file to split, got an export of a table: split the file with the full limits',
      [path],
    )
  if (issues.length > 0) throw new ConfigError(issues)
  const files = Object.keys(shares).map((region) => {
    const part: Part = (value, field, place) => {
      if (typeof value !== 'number') return value
      const parts = partsOf(value, shares)
      // the same mistake in each Region
      if (region === Object.keys(shares)[0] && Object.values(parts).includes(0))
        report(issues, 'unsuitable_number', tooFew(field, value, parts), [path, ...place])
      return parts[region]
    }
    return [region, withParts(file, part)] as const
  })
  if (issues.length > 0) throw new ConfigError(issues)
  return Object.fromEntries(files)
}

const tooFew = (field: string, value: number, parts: Readonly<Record<string, number>>): string => {
  const without = Object.keys(parts).filter((region) => parts[region] === 0)
  return `${field} must be large enough for a unit in each Region, got ${value}: ${without.join(', ')} would have none`
}

/**
 * The parts of a whole number, by Region: each share is rounded down, and the rest goes one by one to the Regions that
 * lost most, among equals to the first by name.
 */
export function partsOf(value: number, shares: RegionShares): Readonly<Record<string, number>> {
  const exact = Object.entries(shares).map(([region, percent]) => {
    const product = BigInt(value) * BigInt(Math.round(percent * 1000))
    return { region, part: Number(product / BigInt(WHOLE)), rest: Number(product % BigInt(WHOLE)) }
  })
  const left = value - exact.reduce((sum, { part }) => sum + part, 0)
  const byLoss = exact.toSorted((a, b) => b.rest - a.rest || (a.region < b.region ? -1 : 1))
  const more = new Set(byLoss.slice(0, left).map(({ region }) => region))
  return Object.fromEntries(exact.map(({ region, part }) => [region, part + (more.has(region) ? 1 : 0)]))
}

const REGION = /^[a-z]{2,}(-[a-z]+)+-\d$/

function mistakesIn(shares: RegionShares): Mistake[] {
  const entries = Object.entries(shares)
  const thousandths = (percent: number) => Math.round(percent * 1000)
  const wrong = entries.flatMap(([region, percent]) => [
    ...(REGION.test(region) ? [] : [`a Region must be a name such as "eu-west-1", got ${printed(region)}`]),
    ...(typeof percent === 'number' && percent > 0 && Math.abs(percent * 1000 - thousandths(percent)) < 1e-6
      ? []
      : [
          `the share of ${printed(region)} must be a percentage above 0 with at most three decimals, got ${printed(percent)}`,
        ]),
  ])
  const sum = entries.reduce((total, [, percent]) => total + thousandths(percent), 0)
  if (wrong.length === 0 && sum !== WHOLE)
    wrong.push(`the shares of all Regions must add up to 100 %, got ${sum / 1000} %`)
  return wrong.map((sentence) => new Mistake('invalid_value', sentence))
}

type Part = (value: unknown, field: 'limit' | 'burst', place: Place, policy: Fields) => unknown

/** A number of a policy that Regions share. */
interface SharedNumber {
  /** `tier "free"`, or `settings`. */
  readonly place: string
  readonly policy: string
  readonly field: 'limit' | 'burst'
  readonly value: number
}

/** Every number that `splitTiers` divides, in the order of the file. */
export function sharedNumbers(file: TiersFile): SharedNumber[] {
  const all: SharedNumber[] = []
  const note: Part = (value, field, [place], { name = 'preflight' }) => {
    if (typeof value === 'number') all.push({ place: String(place), policy: String(name), field, value })
    return value
  }
  withParts(file, note)
  return all
}

function withParts(file: TiersFile, part: Part): TiersFile {
  const ofPolicy = (policy: Fields, place: Place): Fields => ({
    ...policy,
    limit: part(policy.limit, 'limit', place, policy),
    ...(policy.burst === undefined ? {} : { burst: part(policy.burst, 'burst', place, policy) }),
  })
  const ofItem = (item: Fields, place: Place): Fields => ({
    ...item,
    ...(Array.isArray(item.policies) && {
      policies: item.policies.map((policy: Fields) => ofPolicy(policy, [...place, `policy ${printed(policy.name)}`])),
    }),
  })
  const ofItems = (items: Readonly<Record<string, Fields>>, kind: string) =>
    Object.fromEntries(Object.entries(items).map(([name, item]) => [name, ofItem(item, [`${kind} ${printed(name)}`])]))
  const { settings, tiers, routes, global } = file
  const preflight = settings?.preflight as Fields | undefined
  return {
    ...file,
    ...(preflight && { settings: { ...settings, preflight: ofPolicy(preflight, ['settings', 'preflight']) } }),
    tiers: ofItems(tiers, 'tier'),
    ...(routes && { routes: ofItems(routes, 'route') }),
    ...(global && { global: ofItem(global, ['global']) }),
  }
}

/**
 * Warnings of requests that would pass a policy of the full file but never that of a part, since they take more units
 * than the part has.
 */
export function neverPassing(full: TiersFile, part: TiersFile, region: string): string[] {
  const parts = policiesOf(part)
  return policiesOf(full).flatMap(({ place, policy, route }, index) => {
    const after = roomOf(parts[index]!.policy)
    const highest = highestCost(policy.cost, full.routes ?? {}, route)
    if (policy.algorithm === 'concurrency' || highest.units > roomOf(policy) || highest.units <= after) return []
    const of = policy.cost === undefined ? 'units' : `units of ${printed(policy.cost)}`
    return [
      `a request of ${printed(highest.route)} takes up to ${highest.units} ${of}, and can never pass where policy ` +
        `${printed(policy.name)} of ${place} applies to it: its limit is ${after} in ${region}`,
    ]
  })
}

/**
 * The highest cost of a request for policies that count it, and on which route.
 *
 * @param only the one route on which they hold.
 */
function highestCost(name: unknown, routes: Readonly<Record<string, Fields>>, only: string | undefined) {
  let highest = { units: 1, route: only ?? 'any route' }
  for (const [route, { cost, costs }] of Object.entries(routes)) {
    if (only !== undefined && route !== only) continue
    const one = name === undefined ? cost : (costs as Fields | undefined)?.[String(name)]
    const units = typeof one === 'number' ? one : (one as { max?: number } | undefined)?.max
    if (units !== undefined && units > highest.units) highest = { units, route }
  }
  return highest
}

/** The highest cost of a single request. */
const roomOf = ({ limit, burst, algorithm }: Fields): number =>
  Number(['token-bucket', 'leaky-bucket', 'gcra'].includes(String(algorithm)) ? (burst ?? limit) : limit)

interface PlacedPolicy {
  readonly place: string
  readonly policy: Fields
  /** The one on which it holds. @default all */
  readonly route?: string
}

/** Every policy that has a name, and its place in the file. */
function policiesOf({ tiers, routes = {}, global }: TiersFile): PlacedPolicy[] {
  const of = ({ policies = [] }: Fields, where: Omit<PlacedPolicy, 'policy'>) =>
    (policies as readonly Fields[]).map((policy) => ({ ...where, policy }))
  return [
    ...Object.entries(tiers).flatMap(([name, item]) => of(item, { place: `tier ${printed(name)}` })),
    ...Object.entries(routes).flatMap(([route, item]) => of(item, { place: `route ${printed(route)}`, route })),
    ...(global ? of(global, { place: 'global' }) : []),
  ]
}
