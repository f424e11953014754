import type { Authorizer as WireAuthorizer } from '@aws-sdk/client-api-gateway'
import { domainOf } from '../facade/tables'
import type { Authorization, Authorizer, Method } from './api-state'

/** A method as the SDK returns it. */
interface WireMethod {
  readonly apiKeyRequired?: boolean
  readonly authorizationType?: string
  readonly authorizerId?: string
  readonly authorizationScopes?: readonly string[]
}

/** An empty id and an empty list of scopes are none, and so is an id that another type has left behind. */
const toAuthorization = ({ authorizationType, authorizerId, authorizationScopes = [] }: WireMethod): Authorization => ({
  type: authorizationType ?? 'NONE',
  ...(authorizerId && authorizationType !== 'NONE' && authorizationType !== 'AWS_IAM' && { authorizerId }),
  ...(authorizationScopes.length > 0 && { scopes: authorizationScopes }),
})

export const toMethod = (key: string, ref: string, method: WireMethod): Method => ({
  key,
  ref,
  authorization: toAuthorization(method),
  apiKeyRequired: method.apiKeyRequired === true,
})

export const toAuthorizer = ({
  id,
  name,
  type,
  authorizerUri,
  authorizerResultTtlInSeconds,
  identitySource,
  identityValidationExpression: expression,
  providerARNs = [],
}: WireAuthorizer): Authorizer => ({
  id: id!,
  ...(expression && { expression }),
  ...(type === 'COGNITO_USER_POOLS' && {
    tokens: { issuers: providerARNs.flatMap((arn) => issuerOf(arn) ?? []), audience: 'any' },
  }),
  name: name ?? '',
  uri: authorizerUri ?? '',
  settings: {
    type: type ?? '',
    // An endpoint that is not AWS's may give back the text that it was patched with.
    ttlSeconds: Number(authorizerResultTtlInSeconds ?? 300),
    identitySources: identitySource ? identitySource.split(',').map((source) => source.trim()) : [],
  },
})

/** `arn:aws:cognito-idp:eu-west-1:123456789012:userpool/eu-west-1_Ab1Cd2Ef3` */
function issuerOf(userPoolArn: string): string | undefined {
  const [, region, pool] = /^arn:aws[\w-]*:cognito-idp:([\w-]+):\d*:userpool\/([\w-]+)$/.exec(userPoolArn) ?? []
  return pool && `https://cognito-idp.${region}.${domainOf(region!)}/${pool}`
}
