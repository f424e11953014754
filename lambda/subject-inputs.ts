import { knownIn, type TraceWith } from './request-trace'
import type { SubjectInputs } from './subjects'

/** What the subjects of a request are made from. */
export const inputsOf = (trace: TraceWith<'request' | 'configuration' | 'address'>): SubjectInputs => ({
  ...knownIn(trace),
  address: trace.address,
  headers: trustedHeaders(trace),
  apiId: trace.request.apiId,
  stageName: trace.request.stageName,
})

/**
 * The headers by which policies may count. A header that the settings do not trust is ignored, whatever a policy says.
 * So is one with several values: a caller that can add a value could get a quota for each.
 */
function trustedHeaders({
  request,
  configuration,
}: TraceWith<'request' | 'configuration'>): ReadonlyMap<string, string> {
  return new Map(
    configuration.policies.settings.trustedHeaders.flatMap((name) => {
      const value = request.headers.get(name)?.trim()
      return value === undefined || value.includes(',') ? [] : [[name, value] as const]
    }),
  )
}
