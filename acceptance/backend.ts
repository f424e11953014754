import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { withRateLimit } from '../backend/index'

/** What an answer of `chat` has used, of the units that its request reserves. */
export const USED_TOKENS = 40

interface BackendEvent {
  readonly path?: string
  readonly rawPath?: string
  readonly requestContext: {
    readonly authorizer?: Readonly<Record<string, unknown>> & { readonly lambda?: Readonly<Record<string, unknown>> }
  }
}

/** Answers what a backend sees of its request, and what it got from the authorizer. */
export const handler = async ({ path, rawPath, requestContext: { authorizer } }: BackendEvent) => ({
  statusCode: 200,
  body: JSON.stringify({ path: rawPath ?? path, context: authorizer?.lambda ?? authorizer ?? {} }),
})

/** Answers like a model, and settles what that used. */
export const chat = withRateLimit(async (_event: unknown) => ({ statusCode: 200, body: '{}' }), {
  cost: () => ({ costs: { tokens: USED_TOKENS } }),
})

/** An authorizer that lets all requests through, and hands its event on as the context. */
export const probe = async (event: APIGatewayRequestAuthorizerEvent & { readonly rawPath?: string }) => {
  const { path, rawPath, requestContext } = event
  const { apiKeyId } = requestContext.identity ?? {}
  const context = { path: rawPath ?? path, apiKeyId: apiKeyId ?? '' }
  if (rawPath !== undefined) return { isAuthorized: true, context }
  const Statement = [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource: event.methodArn }]
  return { principalId: 'anybody', policyDocument: { Version: '2012-10-17', Statement }, context }
}

/** Answers the messages of a WebSocket: `{"action":"quiet"}` with a status and no body. */
export const socket = async ({ body }: { readonly body?: string }) =>
  body?.includes('quiet') ? { statusCode: 200 } : { statusCode: 200, body: 'heard' }
