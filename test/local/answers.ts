import { toAnswer } from '../../lambda/responses/answers'
import { toContext } from '../../lambda/responses/context'
import { fromEvent } from '../../lambda/responses/request'
import type { Authorize } from '../../local/gateway/authorizer'
import { ALLOWED, DENIED, NOW, SHAPES } from '../responses/decisions'

/** Authorizers that make up their mind without a table, and answer as the real one does. */
export const allowing = answering(ALLOWED)
export const denying = answering(DENIED)

function answering(decision: typeof DENIED): Authorize {
  const context = toContext({ decision, shapes: SHAPES, tier: 'free', subject: 'client:abc', now: NOW })
  return async (event) => toAnswer(fromEvent(event), { allowed: decision.allowed, context, principalId: 'client:abc' })
}

/** An Allow for one resource, for authorizers that answer by hand. */
export function allow(Resource: unknown, context?: unknown) {
  return {
    principalId: 'me',
    policyDocument: { Version: '2012-10-17', Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource }] },
    context,
  }
}
