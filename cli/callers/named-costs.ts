import { UserError } from '../exit'
import { type Counting, costNames, takenFrom, type Units } from '../facade/decisions'
import { type PolicySet, scopedName } from '../facade/policies'
import { printed } from '../facade/values'
import { hint } from './hints'

/** The names of the costs that any policy of a set counts. */
function countedIn({ global, routes, tiers, scoped }: PolicySet): string[] {
  const all = [
    ...routes,
    ...(scoped?.routes ?? []),
    ...tiers.values(),
    ...(scoped ? [...scoped.tiers.values()].flat() : []),
  ]
  const policies = [...global, ...all.flatMap((one) => one.policies)]
  return costNames(policies.map(({ written: { cost } }) => ({ costName: cost })))
}

/**
 * Throws where `--costs` names a cost that no policy there counts: it would be charged to none.
 *
 * @param whose the subject, as it is shown.
 */
export function checkCosts(costs: Units['costs'] = {}, policies: readonly Counting[], whose: string): void {
  const known = costNames(policies)
  const unknown = Object.keys(costs).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const instead = known.length === 0 ? '' : hint(unknown, known)
  throw new UserError(`--costs ${printed(unknown)}: no policy of ${whose} there has this cost${instead}`)
}

/** What a request takes, with each cost that a policy counts. */
export type EachCost = Required<Pick<Units, 'cost' | 'costs'>>

/** What a request takes of these policies, each cost apart. */
export const eachCost = (units: Units, policies: readonly Counting[]): EachCost => ({
  cost: units.cost,
  costs: Object.fromEntries(costNames(policies).map((costName) => [costName, takenFrom(units, { costName })])),
})

/** `1, tokens 500`. */
export const unitsText = ({ cost, costs = {} }: Units): string =>
  [String(cost), ...Object.entries(costs).map(([name, units]) => `${name} ${units}`)].join(', ')

/** Sentences about costs of routes that are charged to nothing, because no policy counts them. */
export function costsOfNothing(set: PolicySet): string[] {
  const { routes, scoped } = set
  const all = [...new Set([...routes, ...(scoped?.routes ?? [])])]
  if (all.every(({ costs }) => costs === undefined)) return [] // as most sets
  const known = countedIn(set)
  const names = new Map<string, string[]>()
  for (const { pattern, scope, costs = {} } of all) {
    for (const name of Object.keys(costs).filter((one) => !known.includes(one)))
      names.set(name, [...(names.get(name) ?? []), scopedName(pattern.text, scope)])
  }
  return [...names].map(([name, patterns]) => {
    const instead = known.length === 0 ? '' : hint(name, known)
    return `the cost ${printed(name)} of ${routesText(patterns)} is charged to nothing, because no policy has it${instead}`
  })
}

/** More routes are counted, and not named. */
const MAX_NAMED = 5

const routesText = (patterns: readonly string[]): string => {
  const named = patterns.slice(0, MAX_NAMED).map((pattern) => printed(pattern))
  const others = patterns.length > MAX_NAMED ? ` and ${patterns.length - MAX_NAMED} more` : ''
  return `${patterns.length === 1 ? 'route' : 'routes'} ${named.join(', ')}${others}`
}
