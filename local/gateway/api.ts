import type { IncomingRequest, UnroutedRequest } from './incoming-request'
import type { RouteMatch } from './routes'

/** The parts of an HTTP response that this gateway makes. */
export interface GatewayResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What the authorizer's answer means for the request. */
type Outcome = {
  /** The context of the authorizer's decision. */
  readonly context: Readonly<Record<string, unknown>>
} & (
  | {
      readonly allowed: true
      /** The event that the backend gets. */
      readonly event: BackendEvent
    }
  | { readonly allowed: false; readonly response: GatewayResponse }
)

/** The fields that the sample backend reads, which both kinds of API pass to a backend function. */
export interface BackendEvent {
  readonly queryStringParameters?: Readonly<Record<string, string | undefined>> | null
  readonly requestContext: { readonly authorizer: Readonly<Record<string, unknown>> }
}

/** One kind of API on API Gateway: how it calls an authorizer and treats the response. */
export interface Api {
  readonly name: 'rest' | 'http'
  authorizerEvent(request: IncomingRequest): object
  /** Parses a returned answer. Throws `MalformedAnswer` for one that API Gateway would refuse. */
  outcome(answer: unknown, request: IncomingRequest): Outcome
  /** The response when the authorizer threw, timed out or returned an invalid answer. */
  failure(error: unknown): GatewayResponse
  /** The response to a request for which the API has no route. */
  readonly noRoute: GatewayResponse & { readonly error: GatewayError }
  /** The headers that every response of such an API carries. */
  identify(request: UnroutedRequest): Readonly<Record<string, string>>
  /** The variables of such an API's access log that are specific to its kind. */
  logVariables(request: UnroutedRequest & Partial<RouteMatch>): LogVariables
}

/** API Gateway's own access log variables, such as `requestId` and `identity.sourceIp`. */
export type LogVariables = Readonly<Record<string, unknown>>

/**
 * Why API Gateway answers a request itself.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
export type GatewayError =
  | 'ACCESS_DENIED'
  | 'AUTHORIZER_CONFIGURATION_ERROR'
  | 'MISSING_AUTHENTICATION_TOKEN'
  | 'RESOURCE_NOT_FOUND'
  | 'UNAUTHORIZED'

/** An authorizer's error, as API Gateway classifies it. */
export const failureType = (error: unknown): GatewayError =>
  isUnauthorized(error) ? 'UNAUTHORIZED' : 'AUTHORIZER_CONFIGURATION_ERROR'

/** The authorizer returned an invalid response. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

/** The ids of the API that this gateway simulates. */
export const API_IDS = {
  accountId: '000000000000',
  apiId: 'sluicelocal',
  deploymentId: 'deploy',
  domainName: 'sluicelocal.execute-api.us-east-1.amazonaws.com',
  domainPrefix: 'sluicelocal',
} as const

/** The access log variables that all kinds of API have. */
export const commonVariables = ({ id, sourceIp }: UnroutedRequest): LogVariables => ({
  requestId: id,
  apiId: API_IDS.apiId,
  domainName: API_IDS.domainName,
  'identity.sourceIp': sourceIp,
})

/** `arn:aws:execute-api:us-east-1:000000000000:sluicelocal/local/GET/hello`. */
export function methodArn(stage: string, request: Pick<IncomingRequest, 'method' | 'path'>): string {
  return `arn:aws:execute-api:us-east-1:${API_IDS.accountId}:${API_IDS.apiId}/${stage}/${request.method}${request.path}`
}

/** `12/Mar/2026:19:03:58 +0000`, the access log's form. */
export function logTime(epochMs: number): string {
  const [, day, month, year, time] = new Date(epochMs).toUTCString().split(' ')
  return `${day}/${month}/${year}:${time} +0000`
}

/** A JSON response of API Gateway's own making. */
export function jsonResponse(
  statusCode: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): GatewayResponse {
  return { statusCode, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** The one message that an authorizer throws on purpose. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof Error && error.message === 'Unauthorized'
}
