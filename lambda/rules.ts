import type { Costs } from './config-table/items/cost'
import type { PolicySet } from './config-table/items/policy-set'
import type { Route } from './config-table/items/tiers'
import { type RequestTarget, readingsOf } from './routing/readings'
import { bySpecificity, CONNECT } from './routing/route-pattern'
import { RouteTable } from './routing/route-table'

/** The rules for a request beside its tier: those of every route that a backend may match it to. */
export interface Rules extends Pick<Route, 'credentials'> {
  /** The most specific first; none where no route is configured for the request. */
  readonly routes: readonly Route[]
  /**
   * The routes under which a policy by route counts it: the routes' texts, and `*` where no configured route may match.
   */
  readonly scopes: readonly string[]
  /** A request takes the most that any of these would, of each policy. */
  readonly costs: readonly Costs[]
}

const OTHER_ROUTES = '*'
const OF_NO_ROUTE: Rules = { routes: [], scopes: [OTHER_ROUTES], costs: [{ cost: 1 }], credentials: 'optional' }

const tables = new WeakMap<readonly Route[], RouteTable<Route>>()
const ofOne = new WeakMap<Route, Rules>()

/**
 * The rules for a request: for each of its readings those of the most specific route, and of all of these the
 * strictest. So a rule that costs more or requires something applies if any reading matches it, and one that costs less
 * only if every reading does.
 *
 * @returns `undefined` when the request has too many readings.
 */
export function rulesFor({ routes, settings }: PolicySet, target: RequestTarget): Rules | undefined {
  const table = tables.get(routes) ?? new RouteTable(routes)
  tables.set(routes, table)
  if (target.path === CONNECT) return combined([table.ofConnect()])
  const readings = readingsOf(target, settings.basePaths)
  if (!readings) return undefined
  const find = (segments: readonly string[]) => table.find(target.method, segments)
  const named = readings.aliases.flatMap(find).filter((found) => found.length > 0)
  return combined([...readings.served.flatMap(find), ...named])
}

/** The rules for a path as an operator writes it. */
export function rulesOf(set: PolicySet, method: string, path: string): Rules {
  return rulesFor(set, { method, path, resource: path, pathParameters: new Map() }) ?? OF_NO_ROUTE
}

/** The rules of one route. */
export function rulesOfRoute(route: Route | undefined): Rules {
  if (!route) return OF_NO_ROUTE
  const rules = ofOne.get(route) ?? strictest([route], [route.pattern.text])
  ofOne.set(route, rules)
  return rules
}

/** @param found the routes of each reading. */
function combined(found: readonly (readonly Route[])[]): Rules {
  const [first = []] = found
  if (first.length < 2 && found.every((routes) => routes.length === first.length && routes[0] === first[0]))
    return rulesOfRoute(first[0])
  const routes = [...new Set(found.flat())].sort((a, b) => bySpecificity(a.pattern, b.pattern))
  const isOther = found.some((one) => one.length === 0)
  return strictest(routes, [...routes.map(({ pattern }) => pattern.text), ...(isOther ? [OTHER_ROUTES] : [])])
}

function strictest(routes: readonly Route[], scopes: readonly string[]): Rules {
  const costs = [...routes, ...(scopes.includes(OTHER_ROUTES) ? OF_NO_ROUTE.costs : [])]
  const wanted = routes.map(({ credentials }) => credentials)
  const credentials = (['required', 'unknown'] as const).find((one) => wanted.includes(one)) ?? 'optional'
  return { routes, scopes, costs, credentials }
}
