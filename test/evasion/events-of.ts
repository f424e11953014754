import { httpApi } from '../../local/gateway/http-api'
import type { IncomingRequest } from '../../local/gateway/incoming-request'
import { restApi } from '../../local/gateway/rest-api'
import { matchSample } from '../../local/gateway/routes'
import type { Attack, Sent } from './attack'

/** Nobody's (RFC 5737): the last hop before API Gateway. */
export const HOP = '192.0.2.250'
const BLOCKED = '192.0.2.66'

/** The address from which an attack comes, by its place in the table. */
export const addressOf = ({ blocked }: Attack, place: number): string => (blocked ? BLOCKED : `198.51.100.${place + 1}`)

/** The item that blocks it. */
export const BLOCK = `ip#${BLOCKED}`

export const sentAs = ({ sends }: Attack, n: number): Sent => (typeof sends === 'function' ? sends(n) : sends)

/** The event that API Gateway makes of a request, by the code that makes it for `npm start`. */
export function eventOf(attack: Attack, place: number, n: number): Record<string, unknown> {
  const { api = 'rest', event = (same) => same } = attack
  const { method = 'GET', path, headers = {} } = sentAs(attack, n)
  const [own = '', ...query] = path.split('?')
  const hops = [headers['X-Forwarded-For'] ?? addressOf(attack, place), HOP].join(', ')
  const request: IncomingRequest = {
    id: '0f0e0d0c-0b0a-4908-8706-050403020100',
    method,
    path: own,
    rawQuery: query.join('?'),
    headers: [...Object.entries(headers).filter(([name]) => name !== 'X-Forwarded-For'), ['X-Forwarded-For', hops]],
    sourceIp: HOP,
    protocol: 'HTTP/1.1',
    ...matchSample(method, path)!,
    receivedAt: 1_785_944_274_000,
  }
  if (api === 'http') return event(httpApi.authorizerEvent(request) as Record<string, unknown>)
  const rest = restApi.authorizerEvent(request) as Record<string, unknown> & { requestContext: object }
  return event(
    api === 'rest'
      ? rest
      : { ...rest, requestContext: { ...rest.requestContext, eventType: 'CONNECT', routeKey: '$connect' } },
  )
}
