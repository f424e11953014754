/** What a client sends. */
export interface Sent {
  /** @default 'GET' */
  readonly method?: string
  /** As it is sent, in any spelling. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Somebody who wants requests past the limit. */
export interface Attack {
  readonly about: About
  /** What was tried, in a few words. */
  readonly tried: string
  /** @default 'rest' */
  readonly api?: 'rest' | 'http' | 'websocket'
  /** What is sent; where each request is another, what is sent as the nth. */
  readonly sends: Sent | ((n: number) => Sent)
  /** How often. @default 30 */
  readonly times?: number
  /** How many passed at commit 524c9d4, before any of this was looked for. */
  readonly before: number
  /** How many pass. */
  readonly passes: number
  /** Why. */
  readonly now: string
  /** What only the event of a deployed API has, such as a custom domain: such an attack is not made by HTTP on this machine. */
  readonly event?: (event: Record<string, unknown>) => Record<string, unknown>
  /** Whether it comes from an address that is blocked. @default from one of its own */
  readonly blocked?: boolean
  /** A tiers file of its own, which is not the one that requests by HTTP are held to. @default RULES */
  readonly rules?: object
}

const ABOUT = ['Methods', 'Spellings of a path', 'What API Gateway knows better', 'Addresses and names', 'Events'] as const
export type About = (typeof ABOUT)[number]
export const TOPICS: readonly About[] = ABOUT

const limit = (name: string, units: number, more: object = {}) => ({ name, limit: units, window: '1h', ...more })

/** Ten requests an hour; two searches, since each costs five; what is public is free, and what is administration wants credentials. */
export const RULES = {
  settings: { identity: ['api-key', { source: 'ip', trustedHops: 1 }] },
  tiers: { anonymous: { by: 'ip', policies: [limit('per-hour', 10)] } },
  routes: {
    'GET /': { cost: 0 },
    'GET /search': { cost: 5, policies: [limit('search', 10, { by: 'ip' })] },
    'ANY /public/*': { cost: 0 },
    'ANY /admin/*': { credentials: 'required' },
    'GET /files/{name}/export': { cost: 5 },
    'OPTIONS /expensive': { policies: [limit('expensive', 1, { by: 'ip' })] },
  },
} as const

const PREFLIGHT = { Origin: 'https://attacker.example', 'Access-Control-Request-Method': 'GET' }

const search = (path: string, tried: string, before = 10): Attack => ({
  about: 'Spellings of a path',
  tried,
  sends: { path },
  before,
  passes: 2,
  now: 'held to the search, too',
})
const admin = (path: string, tried: string, before = 10): Attack => ({
  about: 'Spellings of a path',
  tried,
  sends: { path },
  before,
  passes: 0,
  now: 'credentials are required',
})

const chosen =
  (resource: string, pathParameters: Record<string, string>, more: object = {}): NonNullable<Attack['event']> =>
  ({ requestContext, ...event }) => ({
    ...event,
    ...('routeKey' in event ? { routeKey: resource } : { resource }),
    pathParameters,
    ...more,
    requestContext: { ...(requestContext as object), domainName: 'api.example.com' },
  })

export const ATTACKS: readonly Attack[] = [
  {
    about: 'Methods',
    tried: 'the plain search, to compare with',
    sends: { path: '/search' },
    before: 2,
    passes: 2,
    now: 'ten units, five for each search',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` in place of another method',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/anything' },
    before: 30,
    passes: 10,
    now: 'a request like any other',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` where credentials are required',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/admin/users' },
    before: 30,
    passes: 0,
    now: 'credentials are required',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` on a route that has a limit for it, dressed up as a preflight',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/expensive', headers: PREFLIGHT },
    before: 30,
    passes: 1,
    now: 'the route’s own rules hold',
  },
  {
    about: 'Methods',
    tried: 'a preflight that no browser sends, over and over',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/admin/users', headers: PREFLIGHT },
    times: 700,
    before: 700,
    passes: 600,
    now: 'counted by address, `settings.preflight`',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` from an address that is blocked',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/anything', headers: PREFLIGHT },
    blocked: true,
    before: 30,
    passes: 0,
    now: 'blocked first',
  },
  {
    about: 'Methods',
    tried: '`HEAD` in place of `GET`',
    sends: { method: 'HEAD', path: '/search' },
    before: 10,
    passes: 2,
    now: 'the rules of `GET`',
  },
  {
    about: 'Methods',
    tried: 'methods made up, and in other letters',
    sends: (n) => ({ method: ['PURGE', 'GET', 'PROPFIND', 'LINK', 'TRACE'][n % 5]!, path: '/anything' }),
    before: 10,
    passes: 10,
    now: 'one limit for all of them',
  },

  search('/public/%2e%2e/search', 'out of what is free by dots', 30),
  search('/public/..%2fsearch', 'out of what is free by a slash that is escaped', 30),
  search('/public/..;/search', 'out of what is free as Tomcat and Spring read it', 30),
  search('/public/%252e%252e/search', 'out of what is free, escaped twice', 30),
  search('/public/..%5csearch', 'out of what is free by a backslash', 30),
  search('/./search', 'a dot'),
  search('/%73earch', 'an escape', 2),
  search('/%2573earch', 'an escape that is escaped'),
  search('/SEARCH', 'upper case'),
  search('/search/', 'a slash at the end', 2),
  search('//search', 'a slash doubled', 2),
  search('//attacker.example/search', 'a host, for who reads paths with `new URL`'),
  search('/search;v=1', 'a parameter of a segment'),
  search('/search%3Fv', 'a question mark that is escaped'),
  search('/search%23v', 'a fragment'),
  search('/se%09arch', 'a tab'),
  { ...search('', 'another spelling each time'), sends: (n) => ({ path: `/search;v=${n}` }), now: 'no spelling has a bucket of its own' },
  { ...search('/public/%2e%2e/search', 'out of what is free by dots, on an HTTP API', 30), api: 'http' },
  admin('/./admin/users', 'to administration by a dot'),
  admin('/admin\\users', 'by a backslash'),
  admin('/Admin/users', 'in other letters'),
  admin('/admin;/users', 'with a parameter'),
  admin('/public/%2e%2e/admin/users', 'out of what is free', 30),
  { ...admin('/public/%2e%2e/admin/users', 'out of what is free, on an HTTP API', 30), api: 'http' },
  {
    ...admin(
      '/public/a//..;x\\%2e%252e%2f;y//b/../c%3Fz;%23w;/%20/\\%255c..//;/admin',
      'a path that can be read in more ways than can be looked at',
      30,
    ),
    now: 'denied, `reason: malformed`',
  },
  {
    about: 'Spellings of a path',
    tried: 'from what is free to what is not, in the words of some backends only',
    sends: { path: '/public/x/..%2f..%2fother' },
    before: 30,
    passes: 10,
    now: 'free only where every reading is free',
  },

  {
    about: 'What API Gateway knows better',
    tried: 'a question mark inside a parameter: `/files/a%3F/export`, which an HTTP API delivers as `/files/a`',
    api: 'http',
    sends: { path: '/files/a%3F/export' },
    event: chosen('GET /files/{name}/export', { name: 'a?' }),
    before: 10,
    passes: 2,
    now: 'the route that API Gateway chose counts',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a slash inside a parameter: `/files/a%2Fb/export`',
    api: 'http',
    sends: { path: '/files/a%2Fb/export' },
    event: chosen('GET /files/{name}/export', { name: 'a/b' }),
    before: 10,
    passes: 2,
    now: 'the route that API Gateway chose counts',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a custom domain’s base path in front: `/v1/admin/users`',
    sends: { path: '/v1/admin/users' },
    event: chosen('/admin/{proxy+}', { proxy: 'users' }),
    before: 10,
    passes: 0,
    now: 'the base path is known by the route',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'the same in front of a catch-all',
    sends: { path: '/v1/admin/users' },
    event: chosen('/{proxy+}', { proxy: 'admin/users' }),
    before: 10,
    passes: 0,
    now: 'the base path is known by the parameter',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'the same in front of `$default`, where the event tells nothing, with `settings.basePaths`',
    api: 'http',
    sends: { path: '/v1/admin/users' },
    event: chosen('$default', {}),
    rules: { ...RULES, settings: { ...RULES.settings, basePaths: ['/v1'] } },
    before: 10,
    passes: 0,
    now: 'read with and without it',
  },
  {
    about: 'What API Gateway knows better',
    tried: 'a WebSocket, where `GET /` is free for another API’s health check',
    api: 'websocket',
    sends: { path: '/' },
    before: 30,
    passes: 10,
    now: '`$connect` is a path of its own',
  },

  {
    about: 'Addresses and names',
    tried: '`X-Forwarded-For` made up',
    sends: (n) => ({ path: '/anything', headers: { 'X-Forwarded-For': `192.0.2.${n}` } }),
    rules: { ...RULES, settings: {} },
    before: 10,
    passes: 10,
    now: 'the address is the peer that API Gateway saw',
  },
  {
    about: 'Addresses and names',
    tried: 'API keys made up',
    sends: (n) => ({ path: '/anything', headers: { 'X-Api-Key': `key ${n}` } }),
    before: 10,
    passes: 10,
    now: 'counted by address',
  },
  {
    about: 'Addresses and names',
    tried: 'headers by the names of JavaScript’s own objects',
    sends: { path: '/anything', headers: { ['__proto__']: 'x', constructor: 'y', hasOwnProperty: 'z' } },
    before: 10,
    passes: 10,
    now: 'names like others',
  },

  {
    about: 'Events',
    tried: 'a path of ten thousand escapes',
    sends: { path: `/${'%2525'.repeat(1600)}` },
    before: 10,
    passes: 10,
    now: 'bounded work: at most 256 readings and 65,536 characters',
  },
  {
    about: 'Events',
    tried: 'a path of thousands of dots and slashes',
    sends: { path: `/${'..;/%2e%2e\\'.repeat(700)}search` },
    before: 10,
    passes: 0,
    now: 'denied, `reason: malformed`',
  },
  {
    about: 'Events',
    tried: 'quotes, line breaks and `$context` in names, to forge an answer',
    sends: { path: '/%22%0d%0aX-Admin:1$context.authorizer.allowed', headers: { 'X-Api-Key': '"}$input.body' } },
    before: 10,
    passes: 10,
    now: 'nothing that a client says is in an answer',
  },
]

/** What no authorizer can hold, and who can. */
export const LEFT: readonly (readonly [what: string, to: string])[] = [
  ['many addresses, each under its limit', 'AWS WAF; a global policy bounds all of them together'],
  [
    'requests that never reach the authorizer: too large, refused by a resource policy, `OPTIONS` methods without an authorizer',
    'API Gateway',
  ],
  [
    'a client that is not on the network path one thinks: `trustedHops` and `viewerAddress` believe what a proxy says, so the API must not be reached around it',
    '`disableExecuteApiEndpoint`, a resource policy',
  ],
  ['a backend that takes another method out of a header or a field (`X-HTTP-Method-Override`, `_method`)', 'the backend: switch it off'],
  [
    'a backend that rewrites paths, decodes them three times, reads `%u002e` or overlong UTF-8, or has Windows drop dots and spaces',
    'the backend: rules for what it serves by them, too',
  ],
  ['a base path in front of an HTTP API’s `$default` route', '`settings.basePaths`; `sluice doctor` asks'],
  ['`GET /a/*` does not hold `/a`, which some backends serve by the same code', 'the rules: write both'],
]
