/** One method of the sample API. */
export interface Route {
  /** `GET` and so on, or `ANY` for the catch-all. */
  readonly method: string
  /** As written in API Gateway: `/hello`, `/{proxy+}`. */
  readonly resource: string
  /** Invented but constant, like API Gateway's ids. */
  readonly resourceId: string
}

const ROUTES: readonly Route[] = [
  { method: 'GET', resource: '/hello', resourceId: 'hello1' },
  { method: 'GET', resource: '/search', resourceId: 'search' },
  { method: 'POST', resource: '/batch', resourceId: 'batch1' },
]

const ROOT: Route = { method: 'ANY', resource: '/', resourceId: 'rootr1' }
const CATCH_ALL: Route = { method: 'ANY', resource: '/{proxy+}', resourceId: 'proxy1' }

/**
 * The route that serves a request: an exact one, else the catch-all (which, on API Gateway, does not match the root
 * itself).
 */
export function matchRoute(method: string, path: string): Route {
  if (path === '/') return ROOT
  return ROUTES.find((route) => route.method === method && route.resource === path) ?? CATCH_ALL
}

/** `GET /hello`, `ANY /{proxy+}`. */
export function routeKey({ method, resource }: Route): string {
  return `${method} ${resource}`
}
