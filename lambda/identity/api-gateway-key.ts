import { isIdentity, NO_CREDENTIAL, type Source } from './source'

/** The id of an API Gateway key: set only where a method requires one, and then API Gateway has verified it. */
export const apiGatewayKeySource: Source = {
  resolve: ({ apiKeyId }) =>
    isIdentity(apiKeyId) ? { kind: 'claim', credential: `api-gateway-key:${apiKeyId}` } : NO_CREDENTIAL,
}
