import { fromEvent, type GatewayRequest } from '../../facade/decisions'
import type { Target } from '../requests/logged-request'

/** What requests of one method, path and API have in common. */
export interface RequestKind {
  /** As the authorizer reads the event that API Gateway sends for it; `undefined` for what it cannot understand. */
  readonly request: GatewayRequest | undefined
  /** Whether the line names no path, so that no route is for it. */
  readonly isPathless: boolean
}

/** A path that only a route for all requests is for, as `tiers` commands use it. */
const NO_PATH = '/-'.repeat(201)

export function kindOf({ method: verb, path: sent, resource, apiId, stage, domain }: Target): RequestKind {
  const [, routeMethod, route = resource] = /^([A-Z]+) (\/.*)$/.exec(resource ?? '') ?? []
  const target = sent ?? (route?.startsWith('/') ? route : undefined)
  const context = { apiId, stage, domainName: domain }
  if (resource === '$connect')
    return { isPathless: false, request: fromEvent({ requestContext: { ...context, eventType: 'CONNECT' } }) }
  const isPathless = target === undefined
  const [whole = '', query] = splitQuery(target ?? NO_PATH)
  const path = withoutStage(withoutOrigin(whole), stage, domain)
  const method = isPathless ? 'OTHER' : (verb ?? (routeMethod === 'ANY' ? undefined : routeMethod) ?? 'GET')
  const request = fromEvent({
    httpMethod: method,
    path,
    resource: isPathless ? path : (route ?? path),
    pathParameters: parametersIn(route, path),
    multiValueQueryStringParameters: query === undefined ? undefined : valuesOf(query),
    headers: {},
    // without its domain, the path may begin with the stage, and the authorizer takes it both ways
    requestContext: context,
  })
  return { request, isPathless }
}

/** `$context.path` begins with the stage where the domain is API Gateway's own; the event's path does not. */
function withoutStage(path: string, stage: string | undefined, domain: string | undefined): string {
  if (stage === undefined || stage === '$default' || !domain?.includes('.execute-api.')) return path
  if (path === `/${stage}`) return '/'
  return path.startsWith(`/${stage}/`) ? path.slice(stage.length + 1) : path
}

/** A proxy's log has the whole URL. */
const withoutOrigin = (path: string): string => path.replace(/^https?:\/\/[^/?#]*/i, '') || '/'

function splitQuery(path: string): readonly [string, string | undefined] {
  const at = path.indexOf('?')
  return at < 0 ? [path, undefined] : [path.slice(0, at), path.slice(at + 1)]
}

function valuesOf(query: string): Readonly<Record<string, readonly string[]>> {
  const values = new URLSearchParams(query)
  return Object.fromEntries([...new Set(values.keys())].map((name) => [name, values.getAll(name)]))
}

/** The values of `{id}` in a path, where the line has both the route and the path. */
function parametersIn(route: string | undefined, path: string): Readonly<Record<string, string>> {
  if (!route?.includes('{') || route === path) return {}
  const names = route.split('/')
  const values = path.split('/')
  const found: [string, string][] = []
  for (const [i, name] of names.entries()) {
    const [, plain, greedy] = /^\{(?:([^}+]+)|([^}+]+)\+)\}$/.exec(name) ?? []
    if (greedy !== undefined) return Object.fromEntries([...found, [greedy, values.slice(i).join('/')]])
    if (plain !== undefined && values[i] !== undefined) found.push([plain, values[i]])
  }
  return names.length === values.length ? Object.fromEntries(found) : {}
}
