import { bySpecificity, parseRoutePattern } from '../../lambda/routing/route-pattern'
import { StartError } from '../start-error'

/** One method of the API. */
export interface Route {
  /** `GET` and so on, or `ANY`. */
  readonly method: string
  /** As written in API Gateway: `/hello`, `/users/{id}`, `/{proxy+}`. */
  readonly resource: string
  /** Invented but constant, like API Gateway's ids. */
  readonly resourceId: string
  /** On an HTTP API the route `$default`. @default false */
  readonly isDefault?: boolean
}

/** A request's route, and the values of its parameters, percent-encoded as sent. */
export interface RouteMatch {
  readonly route: Route
  readonly pathParameters: Readonly<Record<string, string>>
}

/** Finds the route that serves a request; `undefined` where the API has none. */
export type Router = (method: string, path: string) => RouteMatch | undefined

/** The routes that serve every path. On API Gateway `/{proxy+}` does not match the root itself. */
export const CATCH_ALL: readonly Route[] = [
  { method: 'ANY', resource: '/', resourceId: 'rootr1', isDefault: true },
  { method: 'ANY', resource: '/{proxy+}', resourceId: 'proxy1', isDefault: true },
]

/** The sample API. */
export const SAMPLE_ROUTES: readonly Route[] = [
  { method: 'GET', resource: '/hello', resourceId: 'hello1' },
  { method: 'GET', resource: '/search', resourceId: 'search' },
  { method: 'GET', resource: '/export', resourceId: 'export' },
  { method: 'POST', resource: '/batch', resourceId: 'batch1' },
  { method: 'POST', resource: '/chat', resourceId: 'chat01' },
  ...CATCH_ALL,
]

/**
 * The most specific route takes a request: segment by segment a literal before a parameter before the rest of the path,
 * then the method before `ANY`.
 *
 * @param byPathFirst whether a path that has its own resource is left to that resource's methods, as on a REST API; an
 * HTTP API falls back to a less specific route with the method.
 * @throws StartError for a resource that API Gateway refuses.
 */
export function routerOf(routes: readonly Route[], byPathFirst: boolean): Router {
  const sorted = routes
    .map((route) => ({ route, pattern: patternOf(route) }))
    .sort((a, b) => bySpecificity(a.pattern, b.pattern))
  return (method, path) => {
    const segments = path.split('/').slice(1)
    let resource: string | undefined
    for (const { route } of sorted) {
      if (resource !== undefined && route.resource !== resource) continue
      const pathParameters = matchPath(route.resource, segments)
      if (pathParameters === undefined) continue
      if (route.method === method || route.method === 'ANY') return { route, pathParameters }
      if (byPathFirst) resource = route.resource
    }
    return undefined
  }
}

/** The route of a request to the sample API. */
export const matchSample = routerOf(SAMPLE_ROUTES, false)

/** `GET /hello`, `ANY /{proxy+}`. */
export function routeKey({ method, resource }: Route): string {
  return `${method} ${resource}`
}

function patternOf(route: Route) {
  const pattern = parseRoutePattern(routeKey(route))
  if ('wrong' in pattern) throw new StartError(`${routeKey(route)} ${pattern.wrong}`)
  return pattern
}

function matchPath(resource: string, segments: readonly string[]): Record<string, string> | undefined {
  const values: Record<string, string> = {}
  const names = resource.split('/').slice(1)
  for (const [i, name] of names.entries()) {
    const [, parameter, plus] = /^\{([^{}+]+)(\+?)\}$/.exec(name) ?? []
    const segment = segments[i]
    if (segment === undefined) return undefined
    if (parameter === undefined) {
      if (segment !== name) return undefined
    } else if (plus) {
      const rest = segments.slice(i).join('/')
      return rest === '' ? undefined : { ...values, [parameter]: rest.replace(/\/$/, '') }
    } else if (segment === '') return undefined
    else values[parameter] = segment
  }
  return names.length === segments.length ? values : undefined
}
