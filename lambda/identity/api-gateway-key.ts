import { isIdentity, NOBODY, type Source } from './source'

/** The id of API Gateway's own key: set only where a method requires one, and then API Gateway has checked it. */
export const apiGatewayKeySource: Source = {
  claim: ({ apiKeyId }) =>
    isIdentity(apiKeyId) ? { kind: 'claim', credential: `api-gateway-key:${apiKeyId}` } : NOBODY,
}
