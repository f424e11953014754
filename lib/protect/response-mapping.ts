/**
 * The decision's headers and where an HTTP API finds them, for allowed requests.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-parameter-mapping.html
 */
const MAPPED = {
  'X-RateLimit-Limit': 'limit',
  'X-RateLimit-Remaining': 'remaining',
  'X-RateLimit-Reset': 'reset',
  RateLimit: 'rateLimit',
  'RateLimit-Policy': 'rateLimitPolicy',
} as const

/** A mapping is for one status code, and there is no wildcard: these are the codes that backends usually send. */
const STATUSES = [
  ...[200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308],
  ...[400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 429],
  ...[500, 501, 502, 503, 504],
]

interface Mapping {
  readonly ResponseParameters: readonly { readonly Destination: string; readonly Source: string }[]
}

/** An integration's response mapping with the decision's headers; what it already does with a header stays. */
export function withDecisionHeaders(present: unknown): Record<string, Mapping> {
  const before = (present ?? {}) as Record<string, Mapping>
  const added = STATUSES.map((status) => {
    const own = before[status]?.ResponseParameters ?? []
    const taken = new Set(own.map(({ Destination }) => headerIn(Destination)))
    const missing = Object.entries(MAPPED)
      .filter(([name]) => !taken.has(name.toLowerCase()))
      .map(([name, key]) => ({ Destination: `overwrite:header.${name}`, Source: `$context.authorizer.${key}` }))
    return [String(status), { ResponseParameters: [...own, ...missing] }] as const
  })
  return { ...before, ...Object.fromEntries(added) }
}

/** The name in `overwrite:header.Name`. */
const headerIn = (destination: string) => destination.slice(destination.indexOf('.') + 1).toLowerCase()
