import type { Attack } from '../attack'

const search = (path: string, tried: string): Attack => ({
  about: 'Spellings of a path',
  tried,
  sends: { path },
  passes: 2,
  now: 'the limit of the search',
})
const admin = (path: string, tried: string): Attack => ({
  about: 'Spellings of a path',
  tried,
  sends: { path },
  passes: 0,
  now: 'credentials are required',
})

export const PATHS: readonly Attack[] = [
  search('/public/%2e%2e/search', 'out of a free path by dots'),
  search('/public/..%2fsearch', 'by an escaped slash'),
  search('/public/..;/search', 'as Tomcat and Spring read it'),
  search('/public/%252e%252e/search', 'escaped twice'),
  search('/public/..%5csearch', 'by a backslash'),
  search('/./search', 'a dot'),
  search('/%73earch', 'an escape'),
  search('/%2573earch', 'an escaped escape'),
  search('/SEARCH', 'upper case'),
  search('/search/', 'a final slash'),
  search('//search', 'a double slash'),
  search('//attacker.example/search', 'a host, as `new URL` reads it'),
  search('/search;v=1', 'a segment’s parameter'),
  search('/search%3Fv', 'an escaped question mark'),
  search('/search%23v', 'a fragment'),
  search('/se%09arch', 'a tab'),
  {
    ...search('', 'another spelling each time'),
    sends: (n) => ({ path: `/search;v=${n}` }),
    now: 'one bucket for all spellings',
  },
  { ...search('/public/%2e%2e/search', 'out of a free path by dots, on an HTTP API'), api: 'http' },
  admin('/./admin/users', 'to administration by a dot'),
  admin('/admin\\users', 'with a backslash'),
  admin('/Admin/users', 'in upper case'),
  admin('/admin;/users', 'with a parameter'),
  admin('/public/%2e%2e/admin/users', 'out of a free path'),
  { ...admin('/public/%2e%2e/admin/users', 'out of a free path, on an HTTP API'), api: 'http' },
  {
    ...admin(
      '/public/a//..;x\\%2e%252e%2f;y//b/../c%3Fz;%23w;/%20/\\%255c..//;/admin',
      'a path with more readings than are considered',
    ),
    now: 'denied, `reason: malformed`',
  },
  {
    about: 'Spellings of a path',
    tried: 'out of a free path, as only some backends read it',
    sends: { path: '/public/x/..%2f..%2fother' },
    passes: 10,
    now: 'free only where every reading is free',
  },
  ...(
    [
      ['a NUL', '/public/..%00/search'],
      ['a dot in two bytes, invalid UTF-8', '/public/%c0%ae%c0%ae/search'],
      ['a dot in three bytes, escaped twice', '/public/%25e0%2580%25ae%25e0%2580%25ae/search'],
      ['a dot as `%u002e`', '/public/%u002e%u002e/search'],
    ] as const
  ).map(
    ([tried, path]): Attack => ({
      about: 'Spellings of a path',
      tried: `by ${tried}`,
      sends: { path },
      passes: 0,
      now: 'denied, `reason: malformed`',
    }),
  ),
]
