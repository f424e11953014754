import { createHash } from 'node:crypto'
import { answering429 } from '../../provisioning/gateway-response'
import { mappingsBeside } from '../../provisioning/response-mapping'
import type { ApiState, Authorizer, AuthorizerSettings, GatewayResponse, Integration } from './api-state'

/** The name prefix of all authorizers that attach creates, for any Sluice. */
const PREFIX = 'sluice-'

/** One name per function and API, so that the authorizer of an interrupted attach is found again. */
export const authorizerName = (functionArn: string): string =>
  PREFIX + createHash('sha256').update(functionArn).digest('hex').slice(0, 12)

/**
 * Neither caching nor identity sources: a cached decision is not counted, and a request without the source would get a
 * 401 without a call of the function.
 */
export const settingsFor = (kind: ApiState['kind']): AuthorizerSettings => ({
  type: 'REQUEST',
  ttlSeconds: 0,
  identitySources: [],
  ...(kind === 'HTTP' && { simple: true }),
})

/** The settings of an authorizer that differ from what attach sets, one sentence each. */
export function settingsDrift({ settings }: Authorizer, kind: ApiState['kind']): string[] {
  const wanted = settingsFor(kind)
  return [
    ...(settings.type === wanted.type ? [] : [`its type is ${settings.type} instead of ${wanted.type}`]),
    ...(settings.ttlSeconds === 0
      ? []
      : [`it caches decisions for ${settings.ttlSeconds} s, so cached requests are not counted`]),
    ...(settings.identitySources.length === 0
      ? []
      : [`requests without ${settings.identitySources.join(', ')} get 401 and are not counted`]),
    ...(settings.simple === wanted.simple ? [] : ['it does not use payload format 2.0 with simple responses']),
  ]
}

/**
 * Where API Gateway finds the function. @see
 * https://docs.aws.amazon.com/apigateway/latest/api/API_CreateAuthorizer.html
 */
export const functionUri = ({ arn, partition, region }: FunctionName): string =>
  `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${arn}/invocations`

/** Whether an authorizer calls a function, in whatever partition or Region its address is written. */
export const callsFunction = ({ uri }: Authorizer, functionArn: string): boolean =>
  uri.includes(`/functions/${functionArn}/`)

/** Which calls of an API Gateway the function may answer. */
export const permissionSource = (
  { partition, region, account }: FunctionName,
  apiId: string,
  authorizerId: string,
): string => `arn:${partition}:execute-api:${region}:${account}:${apiId}/authorizers/${authorizerId}`

export const permissionPrefix = (apiId: string): string => `sluice-attach-${apiId}-`

/** A function by its full ARN, and what the ARN says. */
export interface FunctionName {
  readonly arn: string
  readonly partition: string
  readonly region: string
  readonly account: string
}

export function parseFunctionArn(arn: string): FunctionName | undefined {
  const [, partition, region, account] =
    /^arn:([^:]+):lambda:([a-z0-9-]+):(\d{12}):function:[\w-]+(?::[\w$-]+)?$/.exec(arn) ?? []
  return partition && region && account ? { arn, partition, region, account } : undefined
}

/** A gateway response that answers 429: its other headers (such as CORS) and content types stay. */
export const with429 = (before: GatewayResponse): GatewayResponse => ({ isDefault: false, ...answering429(before) })

/** An integration's mappings with the limit's headers on answers with these status codes; its own stay. */
export function withHeaders(
  before: Integration['responseParameters'],
  statusCodes: readonly string[],
): Integration['responseParameters'] {
  const added = statusCodes.map((code) => {
    const own = before[code] ?? {}
    return [code, { ...own, ...Object.fromEntries(mappingsBeside(Object.keys(own))) }] as const
  })
  return { ...before, ...Object.fromEntries(added) }
}
