import type { Attack } from '../attack'
import { limit, RULES } from '../rules'

/** A limit by a header that a proxy sets, or appends to. */
const byHeader = (use: 'by' | 'identity') => ({
  settings:
    use === 'by'
      ? { trustedHeaders: ['x-tenant'] }
      : { identity: [{ source: 'header', name: 'x-tenant', trusted: true }] },
  tiers: { anonymous: { by: 'ip', policies: [limit('tenant', 10, use === 'by' ? { by: 'header:x-tenant' } : {})] } },
})

/** No two events have the same address made up. */
let another = 0

/** Three tries a minute, and then none for an hour. */
const LOGIN = { name: 'login', algorithm: 'fixed-window', limit: 3, window: '1m', blockFor: '1h' }

export const CALLERS: readonly Attack[] = [
  {
    about: 'Addresses and names',
    tried: 'a password every ten seconds, by any spelling of a login that locks out',
    sends: (n) => ({ method: 'POST', path: ['/login', '/login/', '//login', '/%6Cogin'][n % 4]! }),
    everyMs: 10_000,
    rules: {
      tiers: { anonymous: { by: 'ip', policies: [limit('own', 1000)] } },
      routes: { 'POST /login': { by: 'ip', policies: [LOGIN] } },
    },
    passes: 6,
    now: 'locked out',
  },

  {
    about: 'Addresses and names',
    tried: 'made-up `X-Forwarded-For`',
    sends: (n) => ({ path: '/anything', headers: { 'X-Forwarded-For': `192.0.2.${n}` } }),
    rules: { ...RULES, settings: {} },
    passes: 10,
    now: 'the address is API Gateway’s peer',
  },
  {
    about: 'Addresses and names',
    tried: 'made-up API keys',
    sends: (n) => ({ path: '/anything', headers: { 'X-Api-Key': `key ${n}` } }),
    passes: 10,
    now: 'counted by address',
  },
  {
    about: 'Addresses and names',
    tried: 'headers named as JavaScript’s own objects',
    sends: { path: '/anything', headers: { ['__proto__']: 'x', constructor: 'y', hasOwnProperty: 'z' } },
    passes: 10,
    now: 'names like others',
  },
  {
    about: 'Addresses and names',
    tried: 'other addresses of one IPv6 network',
    sends: (n) => ({ path: '/anything', headers: { 'X-Forwarded-For': `2001:db8:0:${n}::${n + 1}` } }),
    passes: 10,
    now: 'one caller is a /56',
  },
  {
    about: 'Addresses and names',
    tried: 'an IPv4 address in other spellings',
    sends: (n) => ({
      path: '/anything',
      headers: {
        'X-Forwarded-For': [
          '192.0.2.9',
          '::ffff:192.0.2.9',
          '::FFFF:c000:209',
          '192.0.2.9:4711',
          '[::ffff:192.0.2.9]:80',
        ][n % 5]!,
      },
    }),
    passes: 10,
    now: 'compared as bits',
  },
  {
    about: 'Addresses and names',
    tried: 'more hops before the trusted ones',
    sends: (n) => ({ path: '/anything', headers: { 'X-Forwarded-For': `203.0.113.${n}, 198.51.100.254` } }),
    passes: 10,
    now: 'hops count from the right',
  },
  {
    about: 'Addresses and names',
    tried: 'hops under another spelling of the header',
    sends: { path: '/anything' },
    event: (event) => ({
      ...event,
      headers: {
        'X-Forwarded-For': '192.0.2.7, 192.0.2.250',
        'x-forwarded-for': `203.0.113.${another++ % 250}, 192.0.2.250`,
      },
      multiValueHeaders: null,
    }),
    passes: 10,
    now: 'neither is believed',
  },
  {
    about: 'Addresses and names',
    tried: '`trustedHops`, and the proxy is avoided',
    sends: (n) => ({ path: '/anything', headers: { 'X-Forwarded-For': `203.0.113.${n}` } }),
    passes: 30,
    now: '**passes**: [close the direct way](identity.md#close-the-direct-way), as `sluice doctor` says',
  },
  {
    about: 'Addresses and names',
    tried: 'a value before the one that a proxy appends to a header, counted by it',
    sends: (n) => ({ path: '/anything', headers: { 'X-Tenant': `made-up-${n}, acme` } }),
    rules: byHeader('by'),
    passes: 10,
    now: 'several values are ignored',
  },
  {
    about: 'Addresses and names',
    tried: 'the same where the header says who calls',
    sends: (n) => ({ path: '/anything', headers: { 'X-Tenant': `made-up-${n}, acme` } }),
    rules: byHeader('identity'),
    passes: 10,
    now: 'several values are ignored',
  },
  {
    about: 'Addresses and names',
    tried: 'made-up API keys from an address over its limit, to have each looked up',
    sends: (n) => ({ path: '/anything', headers: { 'X-Api-Key': `key ${n}` } }),
    times: 500,
    world: () => {
      let count = 0
      return { parts: { clients: { find: async () => void count++ } }, counted: () => count }
    },
    counts: 'look-ups',
    passes: 31,
    now: '`failedCredentials`: 30 a minute, then one a second',
  },
  {
    about: 'Addresses and names',
    tried: 'spaces around a header in `by`',
    sends: (n) => ({ path: '/anything', headers: { 'X-Tenant': `${' '.repeat(n)}acme${' '.repeat(n % 7)}` } }),
    rules: byHeader('by'),
    passes: 10,
    now: 'one value',
  },
]
