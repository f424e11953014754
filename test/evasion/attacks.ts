import type { Attack } from './attack'
import { APIS } from './attacks/apis'
import { CALLERS } from './attacks/callers'
import { COSTS } from './attacks/costs'
import { CREDENTIALS } from './attacks/credentials'
import { DOORS } from './attacks/doors'
import { EVENTS } from './attacks/events'
import { GATEWAY } from './attacks/gateway'
import { HELD } from './attacks/held'
import { METHODS } from './attacks/methods'
import { PATHS } from './attacks/paths'

export const ATTACKS: readonly Attack[] = [
  ...METHODS,
  ...PATHS,
  ...GATEWAY,
  ...APIS,
  ...CALLERS,
  ...CREDENTIALS,
  ...COSTS,
  ...HELD,
  ...DOORS,
  ...EVENTS,
]

/** What no authorizer can hold, and who can. */
export const LEFT: readonly (readonly [what: string, to: string])[] = [
  ['many addresses, each under its limit', 'AWS WAF; a global policy bounds them together'],
  ['requests that do not reach the authorizer', 'API Gateway'],
  [
    'an API reached around the proxy of `trustedHops` or `viewerAddress`',
    '`disableExecuteApiEndpoint`, a resource policy',
  ],
  ['method overrides (`X-HTTP-Method-Override`, `_method`)', 'the backend: switch it off'],
  [
    'a backend that rewrites paths, decodes them three times, drops invisible letters, folds fullwidth letters, or lets Windows drop dots and spaces',
    'rules for these paths, too',
  ],
  [
    'a backend that removes a suffix (`/search.json` in Rails), or serves a path by any method',
    'rules for `/search.json` too, `ANY` for `GET`',
  ],
  [
    'bodies of `GET`, `HEAD`, `DELETE` or `OPTIONS`, in HTTP/2 without a length',
    'the backend refuses them, or the route has a fixed cost',
  ],
  [
    'an HTTP API’s `$default` route that forwards raw paths: the authorizer gets them decoded, cut at a `?`',
    'routes with own paths, or Lambda integrations',
  ],
  ['one customer with an IPv6 /48: 256 networks of /56', '`ipv6Prefix: 48`'],
  ['a base path before `$default`', '`settings.basePaths`; `sluice doctor` asks'],
  ['`/a`, which `GET /a/*` does not match', 'rules for both'],
]
