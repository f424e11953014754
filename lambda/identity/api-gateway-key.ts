import { isIdentity, NO_CREDENTIAL, type Source } from './source'

/** The id of API Gateway's own key: set only where a method requires one, and then API Gateway has checked it. */
export const apiGatewayKeySource: Source = {
  resolve: ({ apiKeyId }) =>
    isIdentity(apiKeyId) ? { kind: 'claim', credential: `api-gateway-key:${apiKeyId}` } : NO_CREDENTIAL,
}
