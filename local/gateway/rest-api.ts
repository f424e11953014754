import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { ACCESS_DENIED, render } from '../../provisioning/gateway-response'
import {
  API_IDS,
  type Api,
  commonVariables,
  type GatewayResponse,
  isUnauthorized,
  jsonResponse,
  logTime,
  methodArn,
} from './api'
import { groupHeaders, groupQuery, type IncomingRequest } from './incoming-request'
import { type PolicyAnswer, parsePolicyAnswer, permits } from './policy-answer'

const STAGE = 'local'

/**
 * A REST API with a `REQUEST` authorizer, no result cache and the `ACCESS_DENIED` gateway response of the deployed
 * stack.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
export const restApi: Api = {
  name: 'rest',
  authorizerEvent,

  outcome(answer, request) {
    const policy = parsePolicyAnswer(answer)
    if (!permits(policy.statements, methodArn(STAGE, request)))
      return { allowed: false, context: policy.context, response: accessDenied(policy) }
    const event = authorizerEvent(request)
    return {
      allowed: true,
      context: policy.context,
      event: { ...event, requestContext: { ...event.requestContext, authorizer: toBackend(policy) } },
    }
  },

  failure(error) {
    return isUnauthorized(error)
      ? jsonResponse(401, { message: 'Unauthorized' }, { 'x-amzn-ErrorType': 'UnauthorizedException' })
      : jsonResponse(500, { message: null }, { 'x-amzn-ErrorType': 'AuthorizerConfigurationException' })
  },

  noRoute: {
    ...jsonResponse(
      403,
      { message: 'Missing Authentication Token' },
      { 'x-amzn-ErrorType': 'MissingAuthenticationTokenException' },
    ),
    error: 'MISSING_AUTHENTICATION_TOKEN',
  },

  identify: ({ id }) => ({ 'x-amzn-RequestId': id }),

  logVariables: (request) => ({
    ...commonVariables(request),
    stage: STAGE,
    httpMethod: request.method,
    path: `/${STAGE}${request.path}`,
    resourcePath: request.route?.resource,
  }),
}

/** @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-input.html */
function authorizerEvent(request: IncomingRequest): APIGatewayRequestAuthorizerEvent {
  const { method, path, route, pathParameters, sourceIp } = request
  const headers = groupHeaders(request.headers, 'as-sent')
  const query = groupQuery(request.rawQuery)
  const userAgent = request.headers.find(([name]) => name.toLowerCase() === 'user-agent')?.[1] ?? null
  return {
    type: 'REQUEST',
    methodArn: methodArn(STAGE, request),
    resource: route.resource,
    path,
    httpMethod: method,
    headers: lastOfEach(headers),
    multiValueHeaders: Object.fromEntries(headers),
    queryStringParameters: lastOfEach(query),
    multiValueQueryStringParameters: Object.fromEntries(query),
    pathParameters,
    stageVariables: {},
    requestContext: {
      ...API_IDS,
      resourceId: route.resourceId,
      resourcePath: route.resource,
      httpMethod: method,
      extendedRequestId: request.id,
      requestTime: logTime(request.receivedAt),
      path: `/${STAGE}${path}`,
      protocol: request.protocol,
      stage: STAGE,
      requestTimeEpoch: request.receivedAt,
      requestId: request.id,
      identity: { ...NOBODY, sourceIp, userAgent },
      authorizer: undefined,
    },
  }
}

const NOBODY = {
  accessKey: null,
  accountId: null,
  apiKey: null,
  apiKeyId: null,
  caller: null,
  clientCert: null,
  cognitoAuthenticationProvider: null,
  cognitoAuthenticationType: null,
  cognitoIdentityId: null,
  cognitoIdentityPoolId: null,
  principalOrgId: null,
  user: null,
  userArn: null,
}

function accessDenied({ context }: PolicyAnswer): GatewayResponse {
  const headers = Object.entries(ACCESS_DENIED.headers).map(
    ([name, mapping]) => [name, render(mapping, context)] as const,
  )
  return {
    statusCode: Number(ACCESS_DENIED.statusCode),
    headers: {
      'Content-Type': 'application/json',
      'x-amzn-ErrorType': 'AccessDeniedException',
      ...Object.fromEntries(headers),
    },
    body: render(ACCESS_DENIED.templates['application/json'], context),
  }
}

/** Every value reaches the backend as a string. */
export function toBackend({ principalId, context }: PolicyAnswer): Record<string, unknown> {
  const texts = Object.entries(context).map(([key, value]) => [key, String(value)])
  return { ...Object.fromEntries(texts), principalId, integrationLatency: 0 }
}

export function lastOfEach(values: Map<string, string[]>): Record<string, string> {
  return Object.fromEntries([...values].map(([name, all]) => [name, all.at(-1) as string]))
}
