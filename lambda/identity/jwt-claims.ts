import type { JwtSettings } from '../config-table/items/jwt-settings'
import { isIdentity } from './source'
import type { Claims } from './token-verifier'

/** The caller, by the claims of a verified token. */
export interface TokenCaller {
  readonly user: string
  readonly client?: string
  /** The name of a tier, which may or may not exist. */
  readonly tier?: string
  readonly roles: readonly string[]
}

const MAX_ROLES = 100

/**
 * The token of a request, unverified: what follows `Bearer` in the `Authorization` header, or the whole of another
 * header.
 *
 * @param headers names in lower case.
 * @returns `undefined` when there is none, as with `Authorization: Basic …`, which is not meant for this source.
 */
export function tokenFrom(
  headers: ReadonlyMap<string, string>,
  { header }: Pick<JwtSettings, 'header'>,
): string | undefined {
  const value = headers.get(header)?.trim()
  if (value === undefined) return undefined
  const [, bearer] = /^bearer +([^ ].*)$/is.exec(value) ?? []
  return bearer ?? (header === 'authorization' || value === '' ? undefined : value)
}

/**
 * The caller by verified claims. The tier is the one that a claim names, else that of the first role in `tiersByRole`
 * that the caller has.
 *
 * @returns `undefined` when the user's claim is missing, empty or too long.
 */
export function callerFrom(claims: Claims, settings: JwtSettings): TokenCaller | undefined {
  const named = (name: string | undefined) => (name === undefined ? undefined : textOf(claimOf(claims, name)))
  const user = named(settings.userClaim)
  if (user === undefined) return undefined
  const roles = settings.rolesClaim === undefined ? [] : rolesOf(claimOf(claims, settings.rolesClaim))
  const tier = named(settings.tierClaim) ?? settings.tiersByRole.find(({ role }) => roles.includes(role))?.tier
  return { user, client: named(settings.clientClaim), tier, roles }
}

/**
 * The claim with exactly this name, else the one at a path of names such as `realm_access.roles`. Inherited properties
 * are not claims.
 */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let found: unknown = claims
  for (const step of name.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Claims)[step]
  }
  return found
}

function textOf(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && isIdentity(text) ? text : undefined
}

function rolesOf(value: unknown): readonly string[] {
  const listed = typeof value === 'string' ? value.split(' ') : value
  return Array.isArray(listed) ? listed.slice(0, MAX_ROLES).flatMap((role) => textOf(role) ?? []) : []
}
