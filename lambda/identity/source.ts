/** The parts of a request that identify the caller. */
export interface RequestFacts {
  /** Names in lower case; several values of one name joined by `, `. */
  readonly headers: ReadonlyMap<string, string>
  readonly query: ReadonlyMap<string, string>
  readonly pathParameters: ReadonlyMap<string, string>
  /** The TCP peer, which a client cannot choose. */
  readonly sourceIp: string | undefined
  /** Set by API Gateway where a method requires one of its keys; unlike a header, it is verified. */
  readonly apiKeyId: string | undefined
  /** The client's certificate in PEM, which API Gateway has verified. */
  readonly clientCertificate: string | undefined
}

/** A source of identity: one kind of credential, such as an API key or a token. */
export interface Source {
  resolve(request: RequestFacts): SourceResult | Promise<SourceResult>
}

/**
 * - a claim: who the caller is, as far as this source knows.
 * - `none`: the request has no such credential; the next source is asked.
 * - `rejected`: a credential was shown, and it is bad.
 * - `unavailable`: a credential was shown, and cannot be checked at the moment.
 */
export type SourceResult =
  | Claim
  | { readonly kind: 'none' }
  /** `tryNextSource`: a later source may still accept the credential. */
  | { readonly kind: 'rejected'; readonly tryNextSource?: true }
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface Claim {
  readonly kind: 'claim'
  /**
   * The key under which the config table may have the caller: the hash of an API key, or `<kind>:<value>`. Without one,
   * there is no look-up.
   */
  readonly credential?: string
  /**
   * The API key whose hash the credential is. Anybody can make one up: it has not been checked, and the config table
   * decides what it is worth. @default the credential was verified elsewhere
   */
  readonly apiKey?: string
  /**
   * The caller as the source itself knows it, such as `user:42`. Without it the caller is the client in the config
   * table, or anonymous.
   */
  readonly caller?: string
  /** The user, where it differs from the caller: a client may act for many users. */
  readonly user?: string
  /** The tier that the source assigns. */
  readonly tier?: string
  readonly claims?: Readonly<Record<string, unknown>>
  /** The issuer's namespace for the claims, where there are several issuers. @default '' */
  readonly namespace?: string
}

export const NO_CREDENTIAL: SourceResult = { kind: 'none' }

/**
 * Identities are bounded before they are looked up or become part of a subject: a longer one than this is ignored. So
 * is one with half a surrogate pair: DynamoDB refuses it, and some refusals in a row keep all other callers from being
 * looked up.
 */
const MAX_IDENTITY_LENGTH = 256

export const isIdentity = (value: string | undefined): value is string =>
  value !== undefined && value !== '' && value.length <= MAX_IDENTITY_LENGTH && !/\p{Surrogate}/u.test(value)
