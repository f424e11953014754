/** The parts of a request that tell who is asking. */
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
  /** `tryNextSource`: unless it is good for a later source. */
  | { readonly kind: 'rejected'; readonly tryNextSource?: true }
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface Claim {
  readonly kind: 'claim'
  /**
   * Where the config table has what is known of the caller: the hash of an API key, or `<kind>:<value>`. Without one,
   * nothing is looked up.
   */
  readonly credential?: string
  /**
   * Whether anybody can make such a credential up. It has not been checked, and the config table decides what it is
   * worth. @default false
   */
  readonly isGuess?: boolean
  /**
   * The caller by what the source knows itself, such as `user:42`. Without it the caller is whoever the config table
   * has, or nobody.
   */
  readonly caller?: string
  /** The user, where that is somebody else than the caller: a client acts for many. */
  readonly user?: string
  /** The tier that the source vouches for. */
  readonly tier?: string
  readonly claims?: Readonly<Record<string, unknown>>
  /** Whose claims they are, where there are several issuers. @default '' */
  readonly namespace?: string
}

export const NO_CREDENTIAL: SourceResult = { kind: 'none' }

/**
 * Identities are bounded before they are looked up or become part of a subject: a longer one than any is none. Neither
 * is half a surrogate pair: DynamoDB refuses it, and some refusals in a row keep everybody else from being looked up.
 */
const LONGEST_IDENTITY = 256

export const isIdentity = (value: string | undefined): value is string =>
  value !== undefined && value !== '' && value.length <= LONGEST_IDENTITY && !/\p{Surrogate}/u.test(value)
