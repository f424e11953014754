import type { Attack } from '../attack'
import { limit, RULES } from '../rules'

/** No two events have the same. */
let spelling = 0
const SPELLINGS = ['acme', '%61cme', 'a%63me', 'ac%6de', 'acm%65', 'acme%20', '%20acme', ' acme']

const chosen =
  (resource: string, pathParameters: Record<string, string>, more: object = {}): NonNullable<Attack['event']> =>
  ({ requestContext, ...event }) => ({
    ...event,
    ...('routeKey' in event ? { routeKey: resource } : { resource }),
    pathParameters,
    ...more,
    requestContext: { ...(requestContext as object), domainName: 'api.example.com' },
  })

export const GATEWAY: readonly Attack[] = [
  {
    about: 'What API Gateway knows better',
    tried: 'a question mark inside a parameter: `/files/a%3F/export`, which an HTTP API delivers as `/files/a`',
    api: 'http',
    sends: { path: '/files/a%3F/export' },
    route: 'GET /files/{name}/export',
    event: chosen('GET /files/{name}/export', { name: 'a?' }),
    passes: 2,
    now: 'the route that API Gateway chose counts',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a slash inside a parameter: `/files/a%2Fb/export`',
    api: 'http',
    sends: { path: '/files/a%2Fb/export' },
    route: 'GET /files/{name}/export',
    event: chosen('GET /files/{name}/export', { name: 'a/b' }),
    passes: 2,
    now: 'the route that API Gateway chose counts',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a custom domain’s base path: `/v1/admin/users`',
    sends: { path: '/v1/admin/users' },
    event: chosen('/admin/{proxy+}', { proxy: 'users' }),
    passes: 0,
    now: 'known by the route',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'the same before a catch-all',
    sends: { path: '/v1/admin/users' },
    event: chosen('/{proxy+}', { proxy: 'admin/users' }),
    passes: 0,
    now: 'known by the parameter',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'the same before `$default`, with `settings.basePaths`',
    api: 'http',
    sends: { path: '/v1/admin/users' },
    event: chosen('$default', {}),
    rules: { ...RULES, settings: { ...RULES.settings, basePaths: ['/v1'] } },
    passes: 0,
    now: 'read with and without it',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a WebSocket where `GET /` is free',
    api: 'websocket',
    sends: { path: '/' },
    passes: 10,
    now: '`$connect` is another path',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'the stage before an HTTP API’s path, in payload 1.0',
    sends: { path: '/local/admin/users' },
    event: (event) => ({ ...event, version: '1.0', resource: '$default', pathParameters: {} }),
    passes: 0,
    now: 'read with and without it',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a path that is free on another API, by `apis`',
    sends: { path: '/status' },
    event: (event) => event,
    rules: { ...RULES, routes: { ...RULES.routes, 'GET /status @other': { apis: ['other'], cost: 0 } } },
    passes: 10,
    now: 'the route is not there',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a caller named by the path, in many spellings',
    sends: { path: '/tenants/acme' },
    event: (event) => ({
      ...event,
      resource: '/tenants/{tenant}',
      pathParameters: { tenant: SPELLINGS[spelling++ % SPELLINGS.length] },
    }),
    rules: {
      settings: { identity: [{ source: 'path', name: 'tenant', trusted: true }] },
      tiers: { anonymous: { policies: [limit('per-hour', 10)] } },
    },
    passes: 10,
    now: 'one caller; an ambiguous path names no caller',
  },
]
