/** What Sluice reads from an authorizer's event, in one form for every kind of API. */
export interface GatewayRequest {
  readonly api: 'rest' | 'http' | 'websocket'
  /** In upper case. */
  readonly method: string
  /**
   * Without the query; in a REST API as the client sent it, in an HTTP API decoded. Behind a custom domain it starts
   * with the base path. For a WebSocket it is `$connect`.
   * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-mappings.html
   */
  readonly path: string
  /**
   * The route that API Gateway matched: `/users/{id}`, `/{proxy+}`, `$default`, `$connect`. Clients cannot invent
   * routes.
   */
  readonly resource: string
  /** Names in lower case; several values of one name joined by `, `. */
  readonly headers: ReadonlyMap<string, string>
  readonly query: ReadonlyMap<string, string>
  readonly pathParameters: ReadonlyMap<string, string>
  /** The TCP peer, which a client cannot choose. */
  readonly sourceIp: string | undefined
  /** Set by API Gateway where a method requires one of its keys; unlike a header, it is verified. */
  readonly apiKeyId: string | undefined
  /** The client's certificate in PEM, where the API's domain requires one; API Gateway has verified it. */
  readonly clientCertificate: string | undefined
  readonly methodArn: string | undefined
  /** The stage, where the path may begin with it, as it may behind a custom domain. */
  readonly stage: string | undefined
  /** The API and the stage of the request, on whatever domain; clients cannot choose them. */
  readonly apiId: string | undefined
  readonly stageName: string | undefined
  /**
   * Whether it is a CORS preflight, which a browser sends without credentials before the request itself: `OPTIONS` with
   * the two headers that the Fetch standard defines.
   */
  readonly preflight: boolean
  /** Whether more was sent than is read of the path, the headers, the query or the path parameters. */
  readonly isCut: boolean
}

type Fields = Readonly<Record<string, unknown>>

/**
 * API Gateway accepts 10,240 bytes of request line and headers together, so no real request comes near this; the excess
 * is cut off.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html
 */
const MAX_CHARACTERS = 32_768

/**
 * RFC 9110 §5.6.2: methods and header names are tokens. This also excludes letters whose lower case is ASCII, like the
 * Kelvin sign.
 */
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,256}$/

/**
 * Parses any JSON value without throwing, into an object of bounded size; `undefined` if it is not the event of a
 * `REQUEST` authorizer.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-input.html REST, and
 * HTTP payload 1.0
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html HTTP payload 2.0
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-lambda-auth.html WebSocket
 */
export function fromEvent(event: unknown): GatewayRequest | undefined {
  const fields = fieldsOf(event)
  const context = fieldsOf(fields.requestContext)
  if (fields.version === '2.0') return fromHttp(fields, context)
  if (context.eventType === 'CONNECT') return fromWebSocket(fields, context)
  return fromRest(fields, context)
}

function fromRest(event: Fields, context: Fields): GatewayRequest | undefined {
  const identity = fieldsOf(context.identity)
  return toRequest('rest', event, {
    method: textOf(event.httpMethod),
    path: textOf(event.path),
    // On a custom domain, the path of an HTTP API may begin with the stage.
    stage: isOwnDomain(context) && event.version !== '1.0' ? undefined : textOf(context.stage),
    resource: textOf(event.resource),
    sourceIp: textOf(identity.sourceIp),
    apiKeyId: textOf(identity.apiKeyId),
    clientCertificate: textOf(fieldsOf(identity.clientCert).clientCertPem),
    methodArn: textOf(event.methodArn),
  })
}

function fromHttp(event: Fields, context: Fields): GatewayRequest | undefined {
  const http = fieldsOf(context.http)
  const routeKey = textOf(event.routeKey)
  const stage = textOf(context.stage)
  const isBehind = stage !== undefined && stage !== '$default' && isOwnDomain(context)
  return toRequest('http', event, {
    method: textOf(http.method),
    path: isBehind ? withoutStage(textOf(event.rawPath), stage) : textOf(event.rawPath),
    stage: isBehind || stage === '$default' ? undefined : stage,
    resource: routeKey?.slice(routeKey.indexOf(' ') + 1),
    sourceIp: textOf(http.sourceIp),
    apiKeyId: undefined,
    clientCertificate: textOf(fieldsOf(fieldsOf(context.authentication).clientCert).clientCertPem),
    methodArn: textOf(event.routeArn),
  })
}

/**
 * A connection opens with a GET (RFC 6455 §4.1). It has no path, so it gets a path of its own, which no HTTP request
 * can have.
 */
function fromWebSocket(event: Fields, context: Fields): GatewayRequest | undefined {
  const identity = fieldsOf(context.identity)
  return toRequest('websocket', event, {
    method: 'GET',
    path: '$connect',
    stage: undefined,
    resource: '$connect',
    sourceIp: textOf(identity.sourceIp),
    apiKeyId: textOf(identity.apiKeyId),
    clientCertificate: textOf(fieldsOf(identity.clientCert).clientCertPem),
    methodArn: textOf(event.methodArn),
  })
}

interface Particulars
  extends Pick<GatewayRequest, 'sourceIp' | 'apiKeyId' | 'clientCertificate' | 'methodArn' | 'stage'> {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly resource: string | undefined
}

function toRequest(api: GatewayRequest['api'], event: Fields, particulars: Particulars): GatewayRequest | undefined {
  const { sourceIp, apiKeyId, clientCertificate, methodArn, path = '', stage } = particulars
  const method = particulars.method?.toUpperCase() ?? ''
  const context = fieldsOf(event.requestContext)
  if (!TOKEN.test(method) || (api !== 'websocket' && !path.startsWith('/'))) return undefined
  const [headers, query, pathParameters] = [
    headersOf(event.multiValueHeaders, event.headers),
    gather([event.multiValueQueryStringParameters, event.queryStringParameters], (name) => name),
    gather([event.pathParameters], (name) => name),
  ]
  return {
    api,
    method,
    path,
    resource: particulars.resource ?? path,
    headers: headers.values,
    query: query.values,
    pathParameters: pathParameters.values,
    sourceIp,
    apiKeyId,
    clientCertificate,
    methodArn,
    stage,
    apiId: nameOf(context.apiId),
    stageName: nameOf(context.stage),
    preflight:
      method === 'OPTIONS' && headers.values.has('origin') && headers.values.has('access-control-request-method'),
    isCut: path.length >= MAX_CHARACTERS || headers.isCut || query.isCut || pathParameters.isCut,
  }
}

/**
 * Whether the request came by the domain name that API Gateway gives an API: then the stage is at its usual place, and
 * there is no base path.
 */
const isOwnDomain = (context: Fields): boolean => /\.execute-api\./.test(textOf(context.domainName) ?? '')

/**
 * `rawPath` starts with the stage unless that is `$default`, or the request came by a custom domain.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-stages.html
 */
function withoutStage(rawPath: string | undefined, stage: string): string | undefined {
  const prefix = `/${stage}`
  if (rawPath === prefix) return '/'
  return rawPath?.startsWith(`${prefix}/`) ? rawPath.slice(prefix.length) : rawPath
}

const HOPS = 'x-forwarded-for'

/** Without hops that an event has under two spellings of the header name, since their order is unknown. */
function headersOf(...sources: unknown[]): Gathered {
  const headers = gather(sources, (name) => (TOKEN.test(name) ? name.toLowerCase() : undefined))
  const isTwice = sources.some(
    (source) => Object.keys(fieldsOf(source)).filter((name) => name.toLowerCase() === HOPS).length > 1,
  )
  if (isTwice) headers.values.delete(HOPS)
  return headers
}

interface Gathered {
  readonly values: Map<string, string>
  readonly isCut: boolean
}

/** The values of the first source that has any; names with the same `toName` are one name with several values. */
function gather(sources: readonly unknown[], toName: (name: string) => string | undefined): Gathered {
  const values = new Map<string, string>()
  let room = MAX_CHARACTERS
  for (const source of sources) {
    for (const [written, value] of Object.entries(fieldsOf(source))) {
      room -= written.length + 1
      if (room <= 0) return { values, isCut: true }
      const name = toName(written)
      const text = joined(value, room + 1)
      if (name === undefined || text === undefined) continue
      const before = values.get(name)
      const fitting = text.slice(0, room)
      values.set(name, before === undefined ? fitting : `${before}, ${fitting}`)
      if (text.length > room) return { values, isCut: true }
      room -= text.length + 2
    }
    if (values.size > 0) break
  }
  return { values, isCut: false }
}

/** @param length the most characters of the text. */
function joined(value: unknown, length: number): string | undefined {
  if (typeof value === 'string') return value.slice(0, length)
  if (!Array.isArray(value)) return undefined
  const texts = value.slice(0, length).filter((text) => typeof text === 'string')
  return texts.length === 0 ? undefined : texts.join(', ').slice(0, length)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_CHARACTERS) : undefined
}

/** An id or a name as API Gateway gives it: `a1b2c3d4e5`, `prod`, `$default`. */
function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w$-]{1,128}$/.test(value) ? value : undefined
}

const NO_FIELDS: Fields = Object.freeze({})

/**
 * Safe with any field names in the event: the fields that are read by name do not exist on `Object.prototype`, and the
 * others are enumerated and put into maps.
 */
function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NO_FIELDS
}
