import type { ALBEvent } from 'aws-lambda'
import fc from 'fast-check'
import { queryOf } from '../../examples/without-api-gateway/load-balancer'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { unitsFor } from '../../lambda/cost'
import { fromEvent } from '../../lambda/responses/request'
import { rulesFor } from '../../lambda/rules'
import { httpApi } from '../../local/gateway/http-api'
import type { IncomingRequest } from '../../local/gateway/incoming-request'
import { restApi } from '../../local/gateway/rest-api'
import { matchSample } from '../../local/gateway/routes'
import type { QueryParser, Reading } from './query-parsers'

const DEFAULT = 10
const MAX = 1000
const COST = { default: DEFAULT, max: MAX }
const SET = parseTiersFile(
  {
    tiers: { anonymous: { policies: [] } },
    routes: {
      'GET /reports': {
        costs: { rows: { query: 'rows', ...COST }, size: { query: 'page[size]', ...COST } },
      },
    },
  },
  'f',
)

/** What an authorizer, or a program without API Gateway, is told of a request. */
export const FRONTS: Readonly<Record<string, (target: string) => object>> = {
  'a REST API': (target) => restApi.authorizerEvent(incoming(target)),
  'an HTTP API': (target) => httpApi.authorizerEvent(incoming(target)),
  'a load balancer, as it sends the query': (target) => fromLoadBalancer(target, (event) => lists(event)),
  'a load balancer, as the example decodes the query': (target) => fromLoadBalancer(target, queryOf),
}

function incoming(target: string): IncomingRequest {
  const [path, query] = split(target)
  return {
    id: 'an-id',
    method: 'GET',
    path,
    rawQuery: query,
    headers: [],
    sourceIp: '192.0.2.1',
    protocol: 'HTTP/1.1',
    ...matchSample('GET', path)!,
    receivedAt: 0,
  }
}

function fromLoadBalancer(target: string, read: (event: ALBEvent) => object): object {
  const [path, query] = split(target)
  const multiValueQueryStringParameters: Record<string, string[]> = Object.create(null)
  for (const pair of query.split('&').filter((one) => one !== '')) {
    const [name = '', ...value] = pair.split('=')
    multiValueQueryStringParameters[name] = [...(multiValueQueryStringParameters[name] ?? []), value.join('=')]
  }
  const event = { multiValueQueryStringParameters } as unknown as ALBEvent
  return { httpMethod: 'GET', path, resource: '$default', queryStringParameters: read(event), requestContext: {} }
}

const lists = ({ multiValueQueryStringParameters }: ALBEvent) => ({ ...multiValueQueryStringParameters })

function split(target: string): [path: string, query: string] {
  const [path = '', ...query] = target.split('?')
  return [path, query.join('?')]
}

const one = <T>(...those: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...those)
const seldom = (...those: readonly string[]) =>
  fc.oneof({ weight: 3, arbitrary: one('') }, { weight: 1, arbitrary: one(...those) })

const name = fc
  .tuple(
    seldom('[', '%5B', '?', '%20', '+', '%00', '%EF%BB%BF', '][', 'amp;', '.', '_', '%2500', 'x[', '%FF'),
    fc.oneof(
      { weight: 3, arbitrary: one('rows', 'page[size]') },
      { weight: 2, arbitrary: one('Rows', '%72ows', 'r%6Fws', '%2572ows', 'rows%5B%5D', '%u0072ows', 'ro.ws') },
      { weight: 2, arbitrary: one('page%5Bsize%5D', 'page.size', 'page_size', 'page[size', 'page', 'page[]') },
      { weight: 1, arbitrary: one('row', 'page[number]', 'x', '', '__proto__[rows]', '%ef%bd%92ows', 'constructor') },
    ),
    seldom(']', '[]', '%5B%5D', '[0]', '[x]', '[', '%00', '%00x', '+', '%20', '.x', '%FF', '%zz', '%', '[][]', '%5b'),
  )
  .map((parts) => parts.join(''))
const value = fc.oneof(
  { weight: 3, arbitrary: one('1', '2', '25', '1000') },
  { weight: 2, arbitrary: one('0', '-1', '-1000', 'all', '', '1e3', '0x3e8', '+1000', '%2B900', '%20900', '01000') },
  { weight: 1, arbitrary: one('1000.0', '1,1000', '5]=1000', '1%00000', '%31000', '1%26rows=900', 'a=b[rows]=900') },
)
const parameter = fc.oneof(
  { weight: 9, arbitrary: fc.tuple(name, value).map((pair) => pair.join('=')) },
  { weight: 1, arbitrary: name },
)
const separator = fc.oneof(
  { weight: 5, arbitrary: one('&') },
  { weight: 3, arbitrary: one(';', '&&', '&amp;', '?', '%26', '%3B', '& ', '#', '; ').map((text) => text.trim()) },
)
const query = fc.array(fc.tuple(separator, parameter), { maxLength: 4 }).map((parts) => parts.flat().slice(1).join(''))
const target = fc
  .tuple(seldom(';', '%3B', ';;', '#'), query, one('?', '?', '?', '?', '??'), query)
  .map(([end, first, mark, then]) => `/reports${end}${end && first}${mark}${then}`)

/** Requests whose query a client wrote to be read as another. */
export const targets = (count: number): readonly string[] => [
  '/reports?rows=25',
  '/reports?page[size]=25&page[number]=2',
  '/reports;rows=900',
  '/reports#rows=900',
  '/reports;x=1?rows=1',
  '/reports?x=1;rows=900',
  '/reports?page[size]=1&page%00x',
  '/reports?rows%00x=900',
  `/reports?${'a&'.repeat(1000)}rows=1`,
  `/reports?${'a=1&'.repeat(1100)}rows=900`,
  ...fc.sample(target, { numRuns: count, seed: 27 }),
]

/** The least that a request costs of which a backend reads this value, of a parameter: what any program makes of it. */
function leastFor(read: unknown): number {
  if (read === undefined || read === null) return DEFAULT
  if (Array.isArray(read) && read.length > 0) return Math.max(...read.map(leastFor))
  if (typeof read === 'object') return Math.max(...Object.values(read).map(leastFor), DEFAULT)
  const numbers = [Number(read), Number.parseInt(String(read), 10), Number.parseFloat(String(read))]
  return Math.max(
    ...numbers.map((number) => (Number.isNaN(number) ? 0 : number < 1 ? MAX : Math.min(MAX, Math.floor(number)))),
  )
}

/** Finds every request that is cheaper than what the backend reads in it, behind any front. */
export async function cheaperThanRead(parser: QueryParser, sent: readonly string[]): Promise<string[]> {
  const readings = await parser(sent)
  return sent.flatMap((target, i) => cheaper(target, readings[i]))
}

function cheaper(target: string, reading: Reading): string[] {
  if (reading === undefined) return []
  return Object.entries(FRONTS).flatMap(([front, eventOf]) => {
    const charged = unitsOf(eventOf(target))
    if (charged === undefined) return []
    return (['rows', 'size'] as const)
      .filter((field) => charged[field]! < leastFor(reading[field]))
      .map(
        (field) => `${front} ${target}: ${charged[field]}, and ${field} is read as ${JSON.stringify(reading[field])}`,
      )
  })
}

/** What a request is charged by the name of a cost; `undefined` where it is denied. */
export function unitsOf(event: object): Readonly<Record<string, number>> | undefined {
  const request = fromEvent(event)
  const rules = request && rulesFor(SET, request)
  return rules && unitsFor(rules.costs, { ...request, claims: {} }).costs
}
