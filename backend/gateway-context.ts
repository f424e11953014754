/** What Sluice decided about a request, as far as a backend acts on it. */
export interface GatewayContext {
  /** As API Gateway hands it over: texts on a REST API, values of their own kinds on an HTTP API. */
  readonly values: Readonly<Record<string, unknown>>
  /** Over the limit, and let through so that the backend says so. */
  readonly turnedAway: boolean
  /** How long the request has to wait for its turn, in milliseconds. */
  readonly delayMs: number
  /** The caller is past what it was promised, and is served when there is nothing better to do. */
  readonly lowPriority: boolean
  /** API Gateway makes a response of whatever the function returns: payload 2.0 of an HTTP API. */
  readonly infersResponse: boolean
}

/**
 * Reads any event; one that did not pass Sluice has nothing to act on.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html payload
 * 2.0, and what it infers
 */
export function fromEvent(event: unknown): GatewayContext {
  const { version, requestContext } = fields(event)
  const { authorizer } = fields(requestContext)
  const values = fields('lambda' in fields(authorizer) ? fields(authorizer).lambda : authorizer)
  return {
    values,
    turnedAway: isTrue(values.rateLimited) && !isTrue(values.allowed),
    delayMs: Number(values.delayMs) || 0,
    lowPriority: values.priority === 'low',
    infersResponse: version === '2.0',
  }
}

const isTrue = (value: unknown) => value === true || value === 'true'

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
