import type { Dimension } from './config-table/items/dimension'
import { knownIn, type TraceWith } from './request-trace'

/** What a request's subjects are made from. */
export interface SubjectInputs {
  /** `client:acme`, `user:42`. @default the address, which is all that is known of an anonymous caller */
  readonly caller?: string
  /** @default the address */
  readonly user?: string
  /** `ip:203.0.113.7`. */
  readonly address: string
  readonly headers: ReadonlyMap<string, string>
  /** @default none */
  readonly claims?: Readonly<Record<string, unknown>>
  /** The API and the stage of the request; where the event does not name them, all such requests count as one. */
  readonly apiId?: string
  readonly stageName?: string
  /** The issuer's namespace for the claims, where there are several issuers. @default '' for the first */
  readonly namespace?: string
}

/**
 * Longer values are distinguished by their first characters only; the system that sets the header or signs the token
 * has chosen them.
 */
const MAX_VALUE_LENGTH = 512

/**
 * The subject that these dimensions count, as one text. Where a request lacks one of them, its address replaces it.
 *
 * @param route the subject where there are no dimensions: the pattern of a configured route, or `*` for all others.
 */
export function subjectOf(who: readonly Dimension[], inputs: SubjectInputs, route = '*'): string {
  if (who.length === 0) return `route:${route}`
  return joined(who.map((dimension) => partOf(dimension, inputs)))
}

/** One subject made from these, each of one dimension, in the order of the dimensions. */
export function joined(subjects: readonly string[]): string {
  const parts = [...new Set(subjects)]
  return parts.length === 1 ? parts[0]! : `several:${JSON.stringify(parts)}`
}

function partOf(dimension: Dimension, inputs: SubjectInputs): string {
  const { address, caller = address, user = address, headers, claims = {}, namespace } = inputs
  const { apiId = '-', stageName = '-' } = inputs
  switch (dimension) {
    case 'client':
      return caller
    case 'user':
      return user
    case 'ip':
      return address
    case 'global':
      return 'global'
    case 'api':
      return `api:${apiId}`
    case 'stage':
      return `stage:${apiId}/${stageName}`
  }
  const name = dimension.slice(dimension.indexOf(':') + 1)
  const value = dimension.startsWith('header:')
    ? headers.get(name)
    : Object.hasOwn(claims, name)
      ? claims[name]
      : undefined
  const subject = namespace && dimension.startsWith('claim:') ? `claim@${namespace}:${name}` : dimension
  if (typeof value === 'boolean' || typeof value === 'number') return `${subject}=${value}`
  return typeof value === 'string' && value !== '' ? `${subject}=${value.slice(0, MAX_VALUE_LENGTH)}` : address
}

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
