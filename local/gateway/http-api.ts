import {
  API_IDS,
  type Api,
  commonVariables,
  isUnauthorized,
  jsonResponse,
  logTime,
  MalformedAnswer,
  methodArn,
} from './api'
import { groupHeaders, groupQuery, type IncomingRequest } from './incoming-request'
import { type Route, routeKey } from './routes'

const STAGE = '$default'

/**
 * An HTTP API with payload 2.0, simple responses and no result cache.
 *
 * It has no gateway responses: a denial is always a 403. The integration's header mapping is not simulated.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
 */
export const httpApi: Api = {
  name: 'http',
  authorizerEvent,

  outcome(answer, request) {
    const { isAuthorized, context } = parseSimpleAnswer(answer)
    const result = { context: context ?? {} }
    if (!isAuthorized) return { allowed: false, ...result, response: jsonResponse(403, { message: 'Forbidden' }) }
    const { identitySource: _, routeArn: __, type: ___, ...event } = authorizerEvent(request)
    return {
      allowed: true,
      ...result,
      event: { ...event, requestContext: { ...event.requestContext, authorizer: { lambda: context } } },
    }
  },

  failure(error) {
    return isUnauthorized(error)
      ? jsonResponse(401, { message: 'Unauthorized' })
      : jsonResponse(500, { message: 'Internal Server Error' })
  },

  noRoute: { ...jsonResponse(404, { message: 'Not Found' }), error: 'RESOURCE_NOT_FOUND' },

  identify: ({ id }) => ({ 'Apigw-Requestid': id }),

  logVariables: (request) => ({
    ...commonVariables(request),
    stage: STAGE,
    httpMethod: request.method,
    path: asDelivered(request.path),
    routeKey: request.route && keyOf(request.route),
  }),
}

function authorizerEvent(request: IncomingRequest) {
  const { method, route, rawQuery, sourceIp } = request
  const path = asDelivered(request.path)
  const headers = joinEach(groupHeaders(request.headers, 'lower-case'))
  const { cookie, ...withoutCookie } = headers
  const key = keyOf(route)
  const parameters = route.isDefault ? [] : Object.entries(request.pathParameters)
  return {
    version: '2.0',
    type: 'REQUEST',
    routeArn: methodArn(STAGE, request),
    identitySource: null,
    routeKey: key,
    rawPath: path,
    rawQueryString: rawQuery,
    ...(cookie !== undefined && { cookies: cookie.split(/;\s*/) }),
    headers: withoutCookie,
    ...(rawQuery !== '' && { queryStringParameters: joinEach(groupQuery(rawQuery)) }),
    ...(parameters.length > 0 && {
      pathParameters: Object.fromEntries(parameters.map(([name, value]) => [name, decoded(value)])),
    }),
    requestContext: {
      accountId: API_IDS.accountId,
      apiId: API_IDS.apiId,
      domainName: API_IDS.domainName,
      domainPrefix: API_IDS.domainPrefix,
      http: { method, path, protocol: request.protocol, sourceIp, userAgent: headers['user-agent'] ?? '' },
      requestId: request.id,
      routeKey: key,
      stage: STAGE,
      time: logTime(request.receivedAt),
      timeEpoch: request.receivedAt,
    },
  }
}

const keyOf = (route: Route): string => (route.isDefault ? '$default' : routeKey(route))

/** An HTTP API decodes the path once, and a decoded question mark then begins the query. */
const asDelivered = (path: string): string => decoded(path).split('?', 1)[0]!

function decoded(text: string): string {
  if (!text.includes('%')) return text
  const bytes = text.replace(/%[0-9a-f]{2}/gi, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** The context may contain lists and objects, unlike on a REST API. */
function parseSimpleAnswer(answer: unknown): { isAuthorized: boolean; context: Record<string, unknown> | null } {
  const { isAuthorized, context = null } = (answer ?? {}) as Record<string, unknown>
  if (typeof isAuthorized !== 'boolean') throw new MalformedAnswer('isAuthorized must be true or false')
  if (typeof context !== 'object' || Array.isArray(context)) throw new MalformedAnswer('context must be an object')
  return { isAuthorized, context: context as Record<string, unknown> | null }
}

function joinEach(values: Map<string, string[]>): Record<string, string> {
  return Object.fromEntries([...values].map(([name, all]) => [name, all.join(',')]))
}
