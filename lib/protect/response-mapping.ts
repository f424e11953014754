import { mappingsBeside } from '../../provisioning/response-mapping'

/**
 * The default statuses that get the headers. A mapping is for one status, without a wildcard, and each takes 0.7 KB of
 * a template for each integration.
 */
export const DEFAULT_STATUSES: readonly number[] = [200, 201, 204, 404]

interface Mapping {
  readonly ResponseParameters: readonly { readonly Destination: string; readonly Source: string }[]
}

/** An integration's response mapping with the decision's headers; existing mappings of a header stay. */
export function withDecisionHeaders(present: unknown, statuses: readonly number[]): Record<string, Mapping> {
  const before = (present ?? {}) as Record<string, Mapping>
  const added = statuses.map((status) => {
    const own = before[status]?.ResponseParameters ?? []
    const missing = mappingsBeside(own.map(({ Destination }) => Destination)).map(([Destination, Source]) => ({
      Destination,
      Source,
    }))
    return [String(status), { ResponseParameters: [...own, ...missing] }] as const
  })
  return { ...before, ...Object.fromEntries(added) }
}
