import type { Attack } from '../attack'

/** What a browser would send. */
const PREFLIGHT = { Origin: 'https://attacker.example', 'Access-Control-Request-Method': 'GET' }

export const METHODS: readonly Attack[] = [
  {
    about: 'Methods',
    tried: 'a plain search',
    sends: { path: '/search' },
    passes: 2,
    now: 'five units each',
  },
  {
    about: 'Methods',
    tried: '`OPTIONS` for another method',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/anything' },
    passes: 10,
    now: 'like any other',
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
    tried: 'a fake preflight where `OPTIONS` has a route',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/expensive', headers: PREFLIGHT },
    passes: 1,
    now: 'the route’s rules hold',
  },
  {
    about: 'Methods',
    tried: 'endless preflights',
    api: 'http',
    sends: { method: 'OPTIONS', path: '/admin/users', headers: PREFLIGHT },
    times: 700,
    passes: 600,
    now: '`settings.preflight`, by address',
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
    tried: '`HEAD` for `GET`',
    sends: { method: 'HEAD', path: '/search' },
    passes: 2,
    now: 'the rules of `GET`',
  },
  {
    about: 'Methods',
    tried: 'invented methods, other letter case',
    sends: (n) => ({ method: ['PURGE', 'GET', 'PROPFIND', 'LINK', 'TRACE'][n % 5]!, path: '/anything' }),
    passes: 10,
    now: 'one limit for all',
  },
]
