import { fields } from '../backend/gateway-context'
import type { AuthorizerContext } from '../lambda/responses/context'
import type { ConnectedCaller } from './connected-caller'
import type { TieredRequest } from './tiered-request'

/**
 * A message as a request, and the caller of its connection; `undefined` if Sluice did not decide about the connection.
 */
export interface MessageRequest extends TieredRequest {
  readonly connection: ConnectedCaller | undefined
}

/** The prefix of the paths of messages. API Gateway's own paths begin like this: `/@connections`. */
const MESSAGES = '/@messages/'

/** A subject's key, as `subjectKey` makes it: nothing else names an item of the state table. */
const SUBJECT = /^[a-z][a-z0-9-]{0,15}[#~][\w-]{43}$/

/** Whether it is a message of a WebSocket, and not another event of a connection or an API. */
export const isMessage = (event: unknown): boolean => fields(fields(event).requestContext).eventType === 'MESSAGE'

/**
 * The message of an event as a request: `POST /@messages/<route key>`, of the API and stage, from the address of the
 * connection.
 *
 * @throws TypeError for an event that is not a message.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-mapping-template-reference.html
 */
export function messageRequest(event: unknown, taken: Partial<TieredRequest>): MessageRequest {
  if (!isMessage(event))
    throw new TypeError('event must be the event of a WebSocket message, with requestContext.eventType "MESSAGE"')
  const { routeKey, apiId, stage, identity, authorizer } = fields(fields(event).requestContext)
  const { sourceIp } = fields(identity)
  const { subject, tier, reason, rateLimitPolicy } = fields(authorizer) as Partial<AuthorizerContext>
  const isSluice = [tier, reason, rateLimitPolicy].every((value) => typeof value === 'string')
  const isNamed = taken.clientId !== undefined || taken.user !== undefined || taken.apiKey !== undefined
  return {
    ...taken,
    method: 'POST',
    path: MESSAGES + encodeURIComponent(typeof routeKey === 'string' ? routeKey : '$default').replaceAll('%24', '$'),
    ...(typeof sourceIp === 'string' && { address: sourceIp }),
    ...(typeof apiId === 'string' && { apiId }),
    ...(typeof stage === 'string' && { stage }),
    connection:
      isSluice && !isNamed && typeof subject === 'string' && SUBJECT.test(subject)
        ? { subject, tier: tier!, isExempt: reason === 'exempt' }
        : undefined,
  }
}
