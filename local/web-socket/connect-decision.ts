import { failureType, type GatewayError, isUnauthorized } from '../gateway/api'
import { type Authorize, AuthorizerError } from '../gateway/authorizer'
import type { Decided } from '../gateway/decided'
import type { UnroutedRequest } from '../gateway/incoming-request'
import { parsePolicyAnswer, permits } from '../gateway/policy-answer'
import { toBackend } from '../gateway/rest-api'
import { authorizerEvent, CONNECT_ARN, type Connection } from './events'

/** What the authorizer said of a handshake: what goes on to the backend, or the answer to the client. */
type ConnectDecision =
  | {
      readonly refused: readonly [status: number, message: string]
      readonly error: GatewayError
      readonly context?: Decided['context']
    }
  | {
      readonly refused?: undefined
      readonly error?: undefined
      readonly context: Decided['context']
      readonly authorizer: Connection['authorizer']
    }

const DENIED = 'User is not authorized to access this resource with an explicit deny in an identity-based policy'

/** The result of a handshake, from the authorizer's answer. */
export async function decideConnect(
  request: UnroutedRequest,
  connection: Omit<Connection, 'authorizer'>,
  { authorize, log }: { readonly authorize: Authorize; readonly log: (text: string) => void },
): Promise<ConnectDecision> {
  try {
    const policy = parsePolicyAnswer(await authorize(authorizerEvent(request, connection)))
    const { context } = policy
    return permits(policy.statements, CONNECT_ARN)
      ? { context, authorizer: toBackend(policy) }
      : { context, refused: [403, DENIED], error: 'ACCESS_DENIED' }
  } catch (error) {
    const type = failureType(error)
    if (isUnauthorized(error)) return { refused: [401, 'Unauthorized'], error: type }
    log(`authorizer: ${error instanceof AuthorizerError ? error.trace : error}\n`)
    return { refused: [500, 'Internal server error'], error: type }
  }
}
