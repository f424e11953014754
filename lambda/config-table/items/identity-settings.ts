import * as v from 'valibot'
import { type Mistake, printed } from '../../../limiter/errors'
import { checkFields, type FieldRules, type Place, report } from '../../../limiter/policies/report'
import { JWT_FIELDS, type JwtSettings, parseJwtSettings } from './jwt-settings'

/** A key of Sluice's own in a header, looked up by its hash. */
interface ApiKeySettings {
  readonly source: 'api-key'
  /** In lower case. */
  readonly header: string
}

/** The key that API Gateway itself has checked, where a method requires one. */
interface ApiGatewayKeySettings {
  readonly source: 'api-gateway-key'
}

/** The certificate of a mutual TLS connection, which API Gateway has checked. */
interface ClientCertificateSettings {
  readonly source: 'client-certificate'
}

/** A value that a system in front of the API vouches for. */
interface TrustedValueSettings {
  readonly source: 'header' | 'query' | 'path'
  /** Of the header (in lower case), the parameter in the query, or the parameter in the path. */
  readonly name: string
  readonly as: 'client' | 'user'
  /** The tier of callers who are not in the config table. */
  readonly tier?: string
  /** Whether callers are looked up in the config table. */
  readonly lookup: boolean
}

/** The address, which every request has. */
export interface AddressSettings {
  readonly source: 'ip'
  /** Bits of an IPv6 address that tell callers apart. @default the environment's */
  readonly ipv6Prefix?: number
  /** Entries at the right end of `X-Forwarded-For` that trusted proxies have added after the caller's address. */
  readonly trustedHops: number
  /** Whether CloudFront, and nothing else, is in front, so that `CloudFront-Viewer-Address` is the caller. */
  readonly viewerAddress: boolean
}

export type SourceSettings =
  | ApiKeySettings
  | ApiGatewayKeySettings
  | JwtSettings
  | ClientCertificateSettings
  | TrustedValueSettings
  | AddressSettings

const source = { schema: v.string(), wanted: 'the name of a source' } as const
const token = {
  schema: v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/)),
  wanted: 'the name of a header',
} as const
const boolean = { schema: v.boolean(), wanted: 'true or false', optional: true } as const
const trusted = {
  as: { schema: v.picklist(['client', 'user']), wanted: '"client" or "user"', optional: true },
  tier: { schema: v.string(), wanted: 'the name of a tier', optional: true },
  lookup: boolean,
  trusted: {
    schema: v.custom<true>((value) => value === true),
    wanted: 'true, to confirm that a system in front of the API sets it: callers who can set it can claim any identity',
  },
} as const
const parameter = {
  schema: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  wanted: 'the name of a parameter',
} as const

/** The fields of each source, from which their JSON Schema is made, too. */
export const SOURCE_FIELDS = {
  'api-key': { source, header: { ...token, optional: true } },
  'api-gateway-key': { source },
  jwt: JWT_FIELDS,
  'client-certificate': { source },
  header: { source, name: token, ...trusted },
  query: { source, name: parameter, ...trusted },
  path: { source, name: parameter, ...trusted },
  ip: {
    source,
    ipv6Prefix: {
      schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(128)),
      wanted: 'an integer from 1 to 128',
      optional: true,
    },
    trustedHops: {
      schema: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(16)),
      wanted: 'an integer from 0 to 16',
      optional: true,
    },
    viewerAddress: boolean,
  },
} as const satisfies Record<string, FieldRules>

const NAMES = Object.keys(SOURCE_FIELDS)

/** More sources than a service needs. */
export const MAX_SOURCES = 16

export const ADDRESS: AddressSettings = { source: 'ip', trustedHops: 0, viewerAddress: false }

/** The sources in use when the settings name none. */
export const DEFAULT_IDENTITY: readonly SourceSettings[] = [
  { source: 'api-key', header: 'x-api-key' },
  { source: 'api-gateway-key' },
  ADDRESS,
]

/**
 * Parses the list of sources, in the order in which they are tried. The address is always last, whether it is listed or
 * not.
 */
export function parseIdentity(input: unknown, place: Place, issues: Mistake[]): readonly SourceSettings[] {
  if (input === undefined) return DEFAULT_IDENTITY
  if (!Array.isArray(input) || input.length > MAX_SOURCES) {
    report(
      issues,
      'invalid_identity',
      `identity must be a list of at most ${MAX_SOURCES} sources, got ${printed(input)}`,
      place,
    )
    return DEFAULT_IDENTITY
  }
  const sources: SourceSettings[] = []
  for (const [i, one] of input.entries())
    sources.push(...[parseSource(one, [...place, `source ${i + 1}`], issues, sources) ?? []].flat())
  const addresses = sources.filter(({ source }) => source === 'ip').length
  if (addresses > 1 || (addresses === 1 && sources.at(-1)?.source !== 'ip')) {
    report(
      issues,
      'invalid_identity',
      'identity must have "ip" once, as the last source: every request has an address',
      place,
    )
  }
  return addresses === 0 ? [...sources, ADDRESS] : sources
}

function parseSource(
  input: unknown,
  place: Place,
  issues: Mistake[],
  before: readonly SourceSettings[],
): SourceSettings | undefined {
  const given = typeof input === 'string' ? { source: input } : input
  const name = (given as { source?: unknown } | null)?.source
  if (typeof name !== 'string' || !Object.hasOwn(SOURCE_FIELDS, name)) {
    return void report(
      issues,
      'invalid_identity',
      `source must be one of ${NAMES.join(', ')}, got ${printed(name ?? input)}`,
      place,
    )
  }
  if (name === 'jwt') {
    const others = before.filter((one) => one.source === 'jwt')
    return parseJwtSettings(given, place, issues, others)
  }
  const issuesBefore = issues.length
  const { trusted: _, ...fields } =
    checkFields(given, SOURCE_FIELDS[name as keyof typeof SOURCE_FIELDS], 'a source', place, issues) ?? {}
  return issues.length === issuesBefore ? completed(fields as Parameters<typeof completed>[0]) : undefined
}

function completed(
  fields: { readonly source: Exclude<SourceSettings['source'], 'jwt'> } & Readonly<Record<string, unknown>>,
): SourceSettings {
  switch (fields.source) {
    case 'api-key':
      return { source: 'api-key', header: String(fields.header ?? 'x-api-key').toLowerCase() }
    case 'header':
    case 'query':
    case 'path': {
      const name = fields.source === 'header' ? String(fields.name).toLowerCase() : String(fields.name)
      return { as: 'client', lookup: false, ...fields, name } as TrustedValueSettings
    }
    case 'ip':
      return { ...ADDRESS, ...fields } as AddressSettings
    default:
      return { source: fields.source }
  }
}
