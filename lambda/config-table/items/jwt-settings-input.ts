/**
 * Whose tokens are accepted, and which claims say who calls, as it is written in `tiers.yaml` and in the config table.
 */
export interface JwtSettingsInput {
  readonly source: 'jwt'
  /**
   * The `iss` of every token, character by character; Cognito's is `https://cognito-idp.<region>.amazonaws.com/<pool>`.
   */
  readonly issuer: string
  /** The API, or the app client, that a token must be issued for; `any` accepts every audience. */
  readonly audience: string | readonly string[]
  /** Where the issuer's keys are. @default `<issuer>/.well-known/jwks.json`, as Cognito and Auth0 have it */
  readonly jwksUri?: string | undefined
  /** The header that holds the token. @default 'authorization' */
  readonly header?: string | undefined
  /** Cognito: take only access tokens, or only ID tokens. @default both */
  readonly tokenUse?: 'access' | 'id' | undefined
  /** @default 'sub' */
  readonly userClaim?: string | undefined
  readonly clientClaim?: string | undefined
  readonly tierClaim?: string | undefined
  /** A list of roles, or a text of roles with spaces between. */
  readonly rolesClaim?: string | undefined
  /**
   * The tier of callers with a role; the first role that applies decides. A list of `{ role, tier }`, or an object from
   * role to tier. DynamoDB does not keep an object's order: use a list where a caller may have two of the roles.
   */
  readonly tiersByRole?: Readonly<Record<string, string>> | readonly RoleTier[] | undefined
  /**
   * Whether callers are also looked up in the config table, under `client#user:<user>` or `client#client:<client>`.
   * @default false
   */
  readonly lookup?: boolean | undefined
  /**
   * Keeps users of this issuer apart from users with the same name at other issuers: its users are
   * `user@<namespace>:<user>`.
   * @default none for the first issuer of the settings, whose users are `user:<user>`; for any other the issuer,
   * percent-encoded
   */
  readonly namespace?: string | undefined
}

/** Callers with this role are in this tier. */
export interface RoleTier {
  readonly role: string
  readonly tier: string
}
