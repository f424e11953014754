import { RESPONSE_MAPPING } from '../../provisioning/response-mapping'

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
    const missing = Object.entries(RESPONSE_MAPPING)
      .filter(([destination]) => !taken.has(headerIn(destination)))
      .map(([Destination, Source]) => ({ Destination, Source }))
    return [String(status), { ResponseParameters: [...own, ...missing] }] as const
  })
  return { ...before, ...Object.fromEntries(added) }
}

/** The name in `overwrite:header.Name`. */
const headerIn = (destination: string) => destination.slice(destination.indexOf('.') + 1).toLowerCase()
