import type { Attack } from '../attack'
import { limit } from '../rules'

/** Ten units an hour: a request that is charged its maximum passes once, and one that is charged 1 ten times. */
const RULES = {
  settings: { identity: [{ source: 'ip', trustedHops: 1 }] },
  tiers: { anonymous: { by: 'ip', policies: [limit('per-hour', 10)] } },
  routes: {
    'GET /reports': { cost: { query: 'rows', max: 10 } },
    'GET /rows': { cost: { header: 'x-rows', max: 10 } },
    'PUT /uploads': { cost: { header: 'content-length', divide: 65_536, roundUp: true, max: 10 } },
    'PUT /trusted': { cost: { header: 'content-length', divide: 65_536, roundUp: true, max: 10, unbounded: 2 } },
  },
}

const attack = (tried: string, sends: Attack['sends'], passes: number, now: string): Attack => ({
  about: 'Costs that a request says',
  tried,
  sends,
  passes,
  now,
  rules: RULES,
})

const AMBIGUOUS = '`max`: some backends read it as `rows`'
const query = (tried: string, text: string, now = AMBIGUOUS) => attack(tried, { path: `/reports?${text}` }, 1, now)

export const COSTS: readonly Attack[] = [
  query('a name in brackets, as qs reads it', '[rows]=1000'),
  query('encoded brackets', '%5Brows%5D=1000'),
  query('an unopened bracket, as Rack reads it', 'rows]=1000'),
  query('an index', 'rows[x]=1000'),
  query('a name behind a semicolon', 'x;rows=1000'),
  query('a name that ends at a NUL, as PHP reads it', 'rows%00x=1000'),
  query('a second question mark', '?rows=1000'),
  query('a name encoded twice', '%2572ows=1000'),
  query('the small value first, and last', 'rows=1&rows=1000&rows=1'),
  query('0, by which many backends mean all', 'rows=0', '`max`, or `unbounded` of the route'),
  query('a negative number', 'rows=-1000', '`max`, or `unbounded` of the route'),
  query('a number in exponent notation', 'rows=1e3', '`max`: not digits alone'),
  attack('a thousand parameters before it', { path: `/reports?${'x&'.repeat(1000)}[rows]=1` }, 1, AMBIGUOUS),
  attack('a parameter of the path, as Fastify 4 reads it', { path: '/reports;rows=1000' }, 1, AMBIGUOUS),
  attack('the same beside a small value', { path: '/reports;rows=1000?rows=1' }, 1, AMBIGUOUS),
  attack(
    'a header with underscores',
    { path: '/rows', headers: { 'X-Rows': '1', X_Rows: '1000' } },
    1,
    '`max`: CGI and WSGI read one for the other',
  ),
  attack(
    'a body in chunks',
    { method: 'PUT', path: '/uploads', headers: { 'Transfer-Encoding': 'chunked' } },
    1,
    '`max`, or `unbounded` of the route',
  ),
  attack(
    'chunks that claim a small length',
    { method: 'PUT', path: '/uploads', headers: { 'Transfer-Encoding': 'chunked', 'Content-Length': '1' } },
    1,
    '`max`, or `unbounded`: the chunks count (RFC 9112 §6.3)',
  ),
  attack('HTTP/2 without a length', { method: 'PUT', path: '/uploads' }, 1, '`max`, or `unbounded` of the route'),
  attack(
    'a body in chunks where the route prices it',
    { method: 'PUT', path: '/trusted', headers: { 'Transfer-Encoding': 'chunked' } },
    5,
    '`unbounded` of the route: two units each',
  ),
]
