import type { Attack } from '../attack'

/** What a browser would send. */
const PREFLIGHT = { Origin: 'https://attacker.example', 'Access-Control-Request-Method': 'GET' }

export const METHODS: readonly Attack[] = [
  {
    about: 'Methods',
    tried: 'the plain search, to compare with',
    sends: { path: '/search' },
    passes: 2,
    now: 'ten units, five for each search',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` in place of another method',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/anything' },
    passes: 10,
    now: 'a request like any other',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` where credentials are required',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/admin/users' },
    passes: 0,
    now: 'credentials are required',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` on a route that has a limit for it, disguised as a preflight',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/expensive', headers: PREFLIGHT },
    passes: 1,
    now: 'the route’s own rules hold',
  },
  {
    about: 'Methods',
    tried: 'a preflight that no browser sends, over and over',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/admin/users', headers: PREFLIGHT },
    times: 700,
    passes: 600,
    now: 'counted by address, `settings.preflight`',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` from an address that is blocked',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/anything', headers: PREFLIGHT },
    blocked: true,
    passes: 0,
    now: 'blocked first',
  },
  {
    about: 'Methods',
    tried: '`HEAD` in place of `GET`',
    sends: { method: 'HEAD', path: '/search' },
    passes: 2,
    now: 'the rules of `GET`',
  },
  {
    about: 'Methods',
    tried: 'invented methods, and other letter case',
    sends: (n) => ({ method: ['PURGE', 'GET', 'PROPFIND', 'LINK', 'TRACE'][n % 5]!, path: '/anything' }),
    passes: 10,
    now: 'one limit for all of them',
  },
]
