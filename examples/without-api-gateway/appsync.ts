import type { AppSyncAuthorizerEvent, AppSyncAuthorizerResult } from 'aws-lambda'
import type { TieredLimiter } from 'sluice/tiered'

/**
 * A Lambda authorizer of AppSync: it can say yes or no. A denied request gets AppSync's own 401
 * `UnauthorizedException`, without a header; no 429 and no `Retry-After` can be sent. Resolvers of allowed requests see
 * the context.
 */
export const appSyncAuthorizer = (limiter: TieredLimiter) =>
  async function handler(event: AppSyncAuthorizerEvent): Promise<AppSyncAuthorizerResult<Record<string, string>>> {
    const { allowed, context } = await limiter.decide({
      method: 'POST',
      path: '/graphql', // not the operation's name: the client chooses it
      apiKey: event.authorizationToken,
      apiId: event.requestContext.apiId,
    })
    const { tier, policy, priority, remaining } = context
    return {
      isAuthorized: allowed,
      resolverContext: { tier, policy, priority, remaining: String(remaining) },
      ttlOverride: 0, // a cached answer would let requests pass uncounted
    }
  }
