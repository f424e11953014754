import { isIdentity, NO_CREDENTIAL, type RequestFacts, type Source } from './source'

export interface TrustedValue {
  readonly source: 'header' | 'query' | 'path'
  /** Of a header in lower case. */
  readonly name: string
  readonly as: 'client' | 'user'
  /** The tier of callers who are not looked up, or not found. */
  readonly tier?: string
  /** Whether the config table may know more of the caller. */
  readonly lookup: boolean
}

/**
 * A header or parameter that the operator has declared trusted, because a system in front of the API sets it and
 * callers cannot. A request with several values has none that is trusted: a caller that can add one could choose.
 */
export const trustedValueSource = ({ source, name, as, tier, lookup }: TrustedValue): Source => ({
  resolve(request) {
    const written = VALUES[source](request).get(name)
    const value = (source === 'path' ? inOneSpelling(written) : written)?.trim()
    if (!isIdentity(value) || value.includes(',')) return NO_CREDENTIAL
    const caller = `${as}:${value}`
    return { kind: 'claim', caller, tier, ...(lookup && { credential: caller }) }
  },
})

/**
 * The value of a path segment as a backend reads it, with escapes decoded; a segment that can be read in several ways
 * has none.
 */
function inOneSpelling(segment = ''): string | undefined {
  try {
    const decoded = decodeURIComponent(segment)
    return /[%/\\;?#]/.test(decoded) ? undefined : decoded
  } catch {
    return undefined
  }
}

const VALUES = {
  header: ({ headers }: RequestFacts) => headers,
  query: ({ query }: RequestFacts) => query,
  path: ({ pathParameters }: RequestFacts) => pathParameters,
} as const
