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
 * A header or parameter that the operator has declared trusted, because something in front of the API sets it and
 * callers cannot. Of several values none is trusted: whoever can add one could choose.
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
 * A segment of a path is whatever a backend reads there: escapes are what they stand for, and one that can be read in
 * several ways is none.
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
