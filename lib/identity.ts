import { Token } from 'aws-cdk-lib'
import type { JwtSettingsInput } from '../lambda/config-table/items/jwt-settings-input'
import { parseSettings } from '../lambda/config-table/items/settings'
import { ConfigError, type Mistake } from '../limiter/errors'

/** A value that a proxy in front of the API sets and callers cannot: `trusted: true` confirms that. */
export interface TrustedValueSource {
  readonly source: 'header' | 'query' | 'path'
  readonly name: string
  readonly trusted: true
  /** @default 'client' */
  readonly as?: 'client' | 'user' | undefined
  /** @default the default tier */
  readonly tier?: string | undefined
  /** @default false */
  readonly lookup?: boolean | undefined
}

/** The caller's address; the last source, if it is named at all. */
export interface AddressSource {
  readonly source: 'ip'
  /** @default 56 bits */
  readonly ipv6Prefix?: number | undefined
  /** @default 0 */
  readonly trustedHops?: number | undefined
  /** @default false */
  readonly viewerAddress?: boolean | undefined
}

/** A source of identity, as in the settings of a tiers file. docs/identity.md describes each. */
export type IdentitySource =
  | 'api-key'
  | 'api-gateway-key'
  | 'client-certificate'
  | 'ip'
  | { readonly source: 'api-key'; readonly header?: string | undefined }
  | { readonly source: 'api-gateway-key' | 'client-certificate' }
  | JwtSettingsInput
  | TrustedValueSource
  | AddressSource

/**
 * A source of identity: tokens of an OpenID Connect issuer, verified by Sluice.
 *
 * ```ts
 * identity: jwt({ issuer: userPool.userPoolProviderUrl, audience: client.userPoolClientId, tokenUse: 'access' })
 * ```
 */
export function jwt(settings: Omit<JwtSettingsInput, 'source'>): JwtSettingsInput {
  return { source: 'jwt', ...settings }
}

/**
 * The `identity` of the settings for one source or several.
 *
 * @throws ConfigError with every mistake in them.
 */
export function identityOf(sources: IdentitySource | readonly IdentitySource[]): readonly IdentitySource[] {
  const identity = [sources].flat() as IdentitySource[]
  const issues: Mistake[] = []
  parseSettings({ identity: checkable(identity) }, ['prop "identity"'], issues)
  if (issues.length > 0) throw new ConfigError(issues)
  return identity
}

/**
 * A placeholder for values that are unknown before the deployment: an issuer of Cognito, which is valid for any text of
 * a source.
 */
const UNKNOWN_URL = 'https://cognito-idp.unknown.amazonaws.com/unknown'

/** A copy with placeholders for what CloudFormation will fill in, so that the rest can be checked. */
export function checkable(value: unknown): unknown {
  if (typeof value === 'string') return Token.isUnresolved(value) ? filledIn(value) : value
  if (Array.isArray(value)) return value.map(checkable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, checkable(inner)]))
}

function filledIn(text: string): string {
  const filled = text.replace(/\$\{Token\[[^\]]*\]\}/g, 'unknown')
  return filled === 'unknown' ? UNKNOWN_URL : filled
}
