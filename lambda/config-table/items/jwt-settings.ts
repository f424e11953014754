import * as v from 'valibot'
import { type Mistake, printed } from '../../../limiter/errors'
import { checkFields, type FieldRules, type Place, report } from '../../../limiter/policies/report'
import type { JwtSettingsInput, RoleTier } from './jwt-settings-input'

/** Valid settings, with every default filled in. */
export interface JwtSettings {
  readonly source: 'jwt'
  readonly issuer: string
  /** `any`: every audience is accepted. */
  readonly audience: readonly string[] | 'any'
  readonly jwksUri: string
  /** In lower case. */
  readonly header: string
  readonly tokenUse?: 'access' | 'id'
  readonly userClaim: string
  readonly clientClaim?: string
  readonly tierClaim?: string
  readonly rolesClaim?: string
  /** The first that applies wins. */
  readonly tiersByRole: readonly RoleTier[]
  readonly lookup?: boolean
  /** Empty for the first issuer, unless it was given one. */
  readonly namespace: string
}

const MAX_ROLES = 100

/** Written with few kinds of valibot's schemas: each further kind adds half a kilobyte to the authorizer's bundle. */
const text = v.pipe(v.string(), v.regex(/^[\s\S]{1,256}$/))
const claim = {
  schema: text,
  wanted: 'the name of a claim, such as "sub" or "realm_access.roles"',
  optional: true,
} as const

/** The fields of a JWT source, from which their JSON Schema is made, too. */
export const JWT_FIELDS = {
  source: { schema: v.picklist(['jwt']), wanted: '"jwt"' },
  issuer: {
    schema: v.pipe(
      v.string(),
      v.check((url) => isEndpoint(url) && !url.includes('?')),
    ),
    wanted: 'an https URL without a query',
  },
  audience: {
    schema: v.pipe(
      v.union([text, v.array(text)]),
      v.check(({ length }) => length > 0 && length <= 256),
    ),
    wanted: 'a string or a list of 1 to 256 strings, one of them in every token, or "any"',
  },
  jwksUri: { schema: v.pipe(v.string(), v.check(isEndpoint)), wanted: 'an https URL', optional: true },
  header: { schema: v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/)), wanted: 'the name of a header', optional: true },
  tokenUse: { schema: v.picklist(['access', 'id']), wanted: '"access" or "id"', optional: true },
  userClaim: claim,
  clientClaim: claim,
  tierClaim: claim,
  rolesClaim: claim,
  lookup: { schema: v.boolean(), wanted: 'true or false', optional: true },
  namespace: {
    schema: v.pipe(v.string(), v.regex(/^[a-z\d][a-z\d.-]{0,31}$/)),
    wanted: '1 to 32 small letters, digits, "." or "-"',
    optional: true,
  },
  tiersByRole: {
    schema: v.pipe(
      v.unknown(),
      v.check((input) => {
        const tiers = roleTiersOf(input)
        return tiers !== undefined && tiers.length <= MAX_ROLES && tiers.every(isRoleTier)
      }),
    ),
    wanted: `at most ${MAX_ROLES} tiers by role, such as { gold: pro } or [{ role: gold, tier: pro }]`,
    optional: true,
  },
} as const satisfies FieldRules

/**
 * Checks the settings of a JWT source and reports every mistake in them.
 *
 * @param sources the JWT sources before it. Sources with the same issuer share their users; those of different issuers
 * never do.
 */
export function parseJwtSettings(
  input: unknown,
  place: Place,
  issues: Mistake[],
  sources: readonly JwtSettings[] = [],
): JwtSettings | undefined {
  const before = issues.length
  const fields = checkFields(input, JWT_FIELDS, 'a jwt source', place, issues) as JwtSettingsInput | undefined
  if (!fields) return undefined
  const { issuer, audience, jwksUri, header = 'authorization', tokenUse, userClaim = 'sub', rolesClaim } = fields
  if (tokenUse !== undefined && issuer !== undefined && !isCognito(issuer))
    report(issues, 'field_not_applicable', `tokenUse applies to Cognito only, and the issuer is ${issuer}`, place)
  if (fields.tiersByRole !== undefined && rolesClaim === undefined)
    report(issues, 'missing_field', 'tiersByRole needs rolesClaim, the claim that holds the roles', place)
  const same = sources.find((one) => one.issuer === issuer)
  const namespace = fields.namespace ?? same?.namespace ?? (sources.length === 0 ? '' : encodeURIComponent(issuer))
  const other = sources.find((one) => one.issuer !== issuer && one.namespace === namespace)
  if (other)
    report(
      issues,
      'invalid_identity',
      `namespace must differ from that of issuer ${other.issuer}, got ${printed(namespace)}`,
      place,
    )
  if (same && same.namespace !== namespace)
    report(
      issues,
      'invalid_identity',
      `namespace must be the same for all sources of an issuer, got ${printed(namespace)} and ${printed(same.namespace)}`,
      place,
    )
  if (issues.length > before) return undefined
  return {
    ...fields,
    namespace,
    audience: audience === 'any' ? 'any' : [audience].flat(),
    jwksUri: jwksUri ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`,
    header: header.toLowerCase(),
    userClaim,
    tiersByRole: (roleTiersOf(fields.tiersByRole ?? []) as readonly RoleTier[]).map(({ role, tier }) => ({
      role,
      tier,
    })),
  }
}

/**
 * Whether an issuer is a Cognito user pool, whose access tokens name the app client in `client_id` and not in `aud`.
 *
 * @see https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html
 */
export function isCognito(issuer: string): boolean {
  return /^https:\/\/(issuer-)?cognito-idp(-fips)?\.[a-z\d-]+\.amazonaws\.(com|com\.cn|eu)\/./.test(issuer)
}

/** As an unchecked list, from either form. */
function roleTiersOf(input: unknown): readonly unknown[] | undefined {
  if (Array.isArray(input)) return input
  return typeof input === 'object' && input ? Object.entries(input).map(([role, tier]) => ({ role, tier })) : undefined
}

function isRoleTier(input: unknown): boolean {
  const { role, tier, ...others } = Object(input)
  return v.is(text, role) && v.is(text, tier) && Object.keys(others).length === 0
}

/** HTTPS, or plain HTTP on this machine: keys fetched over plain HTTP from elsewhere could be anyone's. */
function isEndpoint(url: string): boolean {
  // encodeURIComponent, which names a namespace, throws for half of a surrogate pair
  if (!/^https?:\/\/[^\s#\p{Surrogate}]{1,1000}$/u.test(url) || !URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
