import { headersFromContext } from '../lambda/responses/backend-headers'
import { PROBLEM_KEYS, PROBLEM_NUMBERS } from '../lambda/responses/header-table'
import type { GatewayContext } from './gateway-context'
import { isStream } from './streamed-response'

/** The answer to a request that is denied. */
export interface ProblemResponse<Status extends number> {
  readonly statusCode: Status
  readonly headers: Record<string, string>
  readonly body: string
}

/** The answer to a request over the limit. */
export interface TooManyRequests extends ProblemResponse<429> {}

/** The headers and the problem body (RFC 9457) of a REST API's gateway response, but with numbers as numbers. */
export function tooManyRequests({ values }: Pick<GatewayContext, 'values'>): TooManyRequests {
  return problemResponse(429, 'Too Many Requests', values, headersFromContext(values))
}

/** A response whose body has what a context says about a denial. */
export function problemResponse<Status extends number>(
  statusCode: Status,
  title: string,
  values: GatewayContext['values'],
  headers: Readonly<Record<string, string>>,
): ProblemResponse<Status> {
  const details = Object.fromEntries(PROBLEM_KEYS.map((key) => [key, String(values[key] ?? '')]))
  const numbers = Object.fromEntries(PROBLEM_NUMBERS.map((key) => [key, Number(values[key] ?? 0)]))
  const problem = { type: 'about:blank', title, status: statusCode, ...details, ...numbers }
  return {
    statusCode,
    headers: { 'Content-Type': 'application/problem+json', ...headers },
    body: JSON.stringify(problem),
  }
}

/**
 * A handler's result with the decision's headers. A header that the handler set itself, in any case, is kept, such as
 * the `Retry-After` of its own 503.
 *
 * On an HTTP API a result without a `statusCode` becomes the response that API Gateway would have made of it. A result
 * that is not a response, like that of a streaming handler, is returned unchanged.
 */
export function withHeaders<Result>(result: Result, { values, infersResponse }: GatewayContext): Result {
  const added = headersFromContext(values)
  if (Object.keys(added).length === 0 || result === undefined || result === null) return result
  const response = isResponse(result) ? result : infersResponse && !isStream(result) ? inferred(result) : undefined
  if (response === undefined) return result
  const taken = new Set(
    [response.headers, response.multiValueHeaders].flatMap((some) => Object.keys(some ?? {})).map(lowerCase),
  )
  const missing = Object.entries(added).filter(([name]) => !taken.has(lowerCase(name)))
  return { ...response, headers: { ...response.headers, ...Object.fromEntries(missing) } } as Result
}

interface Response {
  readonly statusCode?: unknown
  readonly headers?: Readonly<Record<string, unknown>>
  readonly multiValueHeaders?: Readonly<Record<string, unknown>>
}

function isResponse(result: unknown): result is Response {
  return typeof result === 'object' && result !== null && 'statusCode' in result
}

/** Whether API Gateway opens the connection: the handler of `$connect` refuses it by the status of its response. */
export const isSuccess = (result: unknown): boolean =>
  !isResponse(result) || (Number(result.statusCode) >= 200 && Number(result.statusCode) < 300)

function inferred(result: unknown): Response & { readonly body: string } {
  const body = typeof result === 'string' ? result : JSON.stringify(result)
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body }
}

const lowerCase = (name: string) => name.toLowerCase()
