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
  ['many addresses, each under its limit', 'AWS WAF; a global policy bounds all of them together'],
  [
    'requests that never reach the authorizer: too large, refused by a resource policy, `OPTIONS` methods without an authorizer',
    'API Gateway',
  ],
  [
    'an API that is reached around the proxy that `trustedHops` or `viewerAddress` believe',
    '`disableExecuteApiEndpoint`, a resource policy',
  ],
  [
    'a backend that takes the method from a header or a field (`X-HTTP-Method-Override`, `_method`)',
    'the backend: switch it off',
  ],
  [
    'a backend that rewrites paths, decodes them three times, drops invisible letters, folds fullwidth letters, or has Windows drop dots and spaces',
    'the backend: rules for what it serves by them, too',
  ],
  [
    'a backend that takes a suffix off a path (`/search.json` in Rails, in older versions of Spring), or serves a path by whatever method',
    'the rules: `/search.json` beside `/search`, `ANY` in place of `GET`',
  ],
  [
    'a backend that reads the body of a `GET`, `HEAD`, `DELETE` or `OPTIONS`, which in HTTP/2 need not say its length',
    'the backend: it refuses bodies there; or the rules: a fixed cost for such a route',
  ],
  [
    'an HTTP API’s `$default` route that forwards a path as it was sent: the authorizer gets it decoded, and cut at a `?`',
    'the API: routes with paths of their own; Lambda integrations get what the authorizer gets',
  ],
  [
    'one customer with a whole IPv6 /48, such as a 6to4 network or a tunnel: 256 networks of the default /56',
    '`ipv6Prefix: 48`, which counts more customers together',
  ],
  ['a base path in front of an HTTP API’s `$default` route', '`settings.basePaths`; `sluice doctor` asks'],
  ['`GET /a/*` does not hold `/a`, which some backends serve by the same code', 'the rules: write both'],
]
