/**
 * The fields of an access log, by the names that `sluice simulate` reads. No field has an API key, a token or a header:
 * a caller is named as its state is stored, by a hash, and by its address.
 *
 * API Gateway writes `-` for a variable that the kind of API, or the request, does not have.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
 */
const FIELDS = {
  time: '$context.requestTimeEpoch',
  requestId: '$context.requestId',
  apiId: '$context.apiId',
  stage: '$context.stage',
  domain: '$context.domainName',
  method: '$context.httpMethod',
  path: '$context.path',
  resourcePath: '$context.resourcePath',
  routeKey: '$context.routeKey',
  eventType: '$context.eventType',
  ip: '$context.identity.sourceIp',
  status: '$context.status',
  error: '$context.error.responseType',
  durationMs: '$context.responseLatency',
  subject: '$context.authorizer.subject',
  tier: '$context.authorizer.tier',
  cost: '$context.authorizer.cost',
  allowed: '$context.authorizer.allowed',
  policy: '$context.authorizer.policy',
  reason: '$context.authorizer.reason',
} as const

/** The names of a line, in its order. */
export const ACCESS_LOG_NAMES: readonly string[] = Object.keys(FIELDS)

/** The format of an access log that `sluice simulate` reads: a JSON object in one line. */
export const ACCESS_LOG_LINE = JSON.stringify(FIELDS)

/** A variable of API Gateway's access logs by its name, such as `authorizer.tier`; `undefined` for an unknown one. */
export type LogVariable = (name: string) => unknown

/** The line that API Gateway writes in this format for a request with these variables. */
export const accessLogLine = (variable: LogVariable): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(FIELDS).map(([field, text]) => [field, shown(variable(text.slice('$context.'.length)))]),
    ),
  )

const shown = (value: unknown): string => (value === undefined || value === null || value === '' ? '-' : String(value))

/** The header with the number of requests that the local gateway no longer keeps. */
export const FORGOTTEN = 'X-Sluice-Forgotten'
