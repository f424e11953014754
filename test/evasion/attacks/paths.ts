import type { Attack } from '../attack'

const search = (path: string, tried: string, before = 10): Attack => ({
  about: 'Spellings of a path',
  tried,
  sends: { path },
  before,
  passes: 2,
  now: 'the limit of the search applies, too',
})
const admin = (path: string, tried: string, before = 10): Attack => ({
  about: 'Spellings of a path',
  tried,
  sends: { path },
  before,
  passes: 0,
  now: 'credentials are required',
})

export const PATHS: readonly Attack[] = [
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
  search('//attacker.example/search', 'a host, for backends that read paths with `new URL`'),
  search('/search;v=1', 'a parameter of a segment'),
  search('/search%3Fv', 'a question mark that is escaped'),
  search('/search%23v', 'a fragment'),
  search('/se%09arch', 'a tab'),
  {
    ...search('', 'another spelling each time'),
    sends: (n) => ({ path: `/search;v=${n}` }),
    now: 'no spelling has a bucket of its own',
  },
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
  ...(
    [
      ['a NUL, for who reads up to it', '/public/..%00/search'],
      ['a dot in two bytes, which is no UTF-8', '/public/%c0%ae%c0%ae/search'],
      ['a dot in three bytes, escaped twice', '/public/%25e0%2580%25ae%25e0%2580%25ae/search'],
      ['a dot as `%u002e`', '/public/%u002e%u002e/search'],
    ] as const
  ).map(
    ([tried, path]): Attack => ({
      about: 'Spellings of a path',
      tried: `out of what is free by ${tried}`,
      sends: { path },
      before: 30,
      passes: 0,
      now: 'denied, `reason: malformed`',
    }),
  ),
]
