import type { Route as WireRoute } from '@aws-sdk/client-apigatewayv2'
import type { Method } from './api-state'

/** A route as the SDK returns it, as a method. */
export const toMethod = ({
  RouteKey,
  RouteId,
  AuthorizationType,
  AuthorizerId,
  AuthorizationScopes = [],
  ApiKeyRequired,
  Target,
}: WireRoute): Method => ({
  key: RouteKey!,
  ref: RouteId!,
  authorization: {
    type: AuthorizationType ?? 'NONE',
    ...(AuthorizerId &&
      AuthorizationType !== 'NONE' &&
      AuthorizationType !== 'AWS_IAM' && { authorizerId: AuthorizerId }),
    ...(AuthorizationScopes.length > 0 && { scopes: AuthorizationScopes }),
  },
  apiKeyRequired: ApiKeyRequired === true,
  integrationId: /^integrations\/(.+)$/.exec(Target ?? '')?.[1],
})
