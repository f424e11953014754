import type { Sample } from '../../pages/console/protocol'
import type { TiersFile } from '../../provisioning/tiers-file'
import { CATCH_ALL, type Route, routeKey, SAMPLE_ROUTES } from '../gateway/routes'

/** The queries that the sample backend reads. */
const QUERIES: Readonly<Record<string, string>> = { 'GET /search': '?q=water', 'POST /chat': '?tokens=812' }

/**
 * The requests that a page can send: those to the sample API, or to the paths without parameters of the user's own.
 *
 * @param routes of the API. @default those of the sample
 */
export function samplesOf({ routes: rules }: TiersFile, routes: readonly Route[] | undefined): readonly Sample[] {
  const own = (routes ?? SAMPLE_ROUTES).filter(
    (route) => !CATCH_ALL.includes(route) && route.method !== 'OPTIONS' && !route.resource.includes('{'),
  )
  const keys = own.map((route) => routeKey(route).replace(/^ANY /, 'GET '))
  const named = [...new Set(keys.length > 0 ? keys : ['GET /'])]
  return named.map((route) => ({
    route,
    target: `${route.split(' ')[1]}${routes === undefined ? (QUERIES[route] ?? '') : ''}`,
    cost: costText((rules as Readonly<Record<string, Rule>> | undefined)?.[route]),
  }))
}

interface Rule {
  readonly cost?: unknown
  readonly costs?: Readonly<Record<string, unknown>>
  readonly settle?: boolean
}

function costText({ cost = 1, costs = {}, settle }: Rule = {}): string {
  const plain = cost === 1 ? '1 unit' : `${typeof cost === 'object' ? JSON.stringify(cost) : cost} units`
  const named = Object.entries(costs).map(([name, units]) => `${units} ${name}`)
  return [plain, ...named].join(', ') + (settle ? ', settled when it is answered' : '')
}
