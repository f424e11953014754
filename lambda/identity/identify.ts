import type { Claim, RequestFacts, Source } from './source'

/** What the config table may have about a caller. */
export interface KnownClient {
  readonly id: string
  readonly tier: string
  readonly disabled: boolean
  /** Epoch milliseconds. */
  readonly expiresAt?: number
}

/** Who the caller is. */
export type Identity<Client extends KnownClient> =
  | {
      readonly kind: 'known'
      /** `client:acme`, `user:42`. */
      readonly caller: string
      /** `user:42`; the caller itself where no user is named. */
      readonly user: string
      readonly tier?: string
      readonly client?: Client
      /** The credential that was shown, as it was looked up. */
      readonly credential?: string
      /** Why the config table could not say whether the caller is disabled or expired. */
      readonly unchecked?: Unchecked
      readonly claims: Readonly<Record<string, unknown>>
      /** Namespace of the issuer of the claims; empty for the first issuer. */
      readonly namespace: string
    }
  /** No credentials, or unknown ones. `unchecked`: a credential was shown, and was not looked up. */
  | { readonly kind: 'anonymous'; readonly credential?: string; readonly unchecked?: Unchecked }
  /** Bad credentials, or those of a client that is disabled or has expired. */
  | { readonly kind: 'rejected'; readonly credential?: string; readonly client?: Client }
  /** Credentials that cannot be checked at the moment. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/**
 * Why a credential was not looked up: the table is unavailable, or the caller's address has shown too many unknown
 * credentials.
 */
type Unchecked = 'unavailable' | 'limited'

export interface Directory<Client extends KnownClient> {
  /**
   * @param apiKey whose hash the credential is, if anybody could make it up. A directory may refuse to look up such a
   * one: `limited`.
   */
  find(credential: string, apiKey?: string): Promise<Client | undefined | Unchecked>
}

const NO_CLAIMS = Object.freeze({})

/**
 * Tries one source of identity after the other; the first that knows the caller decides. A credential that is not in
 * the config table is ignored: the next sources are tried, and at the end the caller is anonymous, so that made-up keys
 * get no quota of their own.
 *
 * @param now epoch milliseconds.
 */
export async function identify<Client extends KnownClient>(
  request: RequestFacts,
  sources: readonly Source[],
  clients: Directory<Client>,
  now: number,
): Promise<Identity<Client>> {
  let rejected = false
  let unchecked: Unchecked | undefined
  let credential: string | undefined
  for (const source of sources) {
    const result = await source.resolve(request)
    if (result.kind === 'unavailable') return result
    if (result.kind === 'rejected') {
      if (!result.tryNextSource) return { kind: 'rejected' }
      rejected = true
    }
    if (result.kind !== 'claim') continue
    const identity = await identityOf(result, clients, now)
    if (typeof identity === 'object') return identity
    unchecked ??= identity
    credential = result.credential
  }
  return rejected ? { kind: 'rejected' } : { kind: 'anonymous', unchecked, credential }
}

async function identityOf<Client extends KnownClient>(
  { credential, apiKey, caller, user, tier, claims = NO_CLAIMS, namespace = '' }: Claim,
  clients: Directory<Client>,
  now: number,
): Promise<Identity<Client> | undefined | Unchecked> {
  const found = credential === undefined ? undefined : await clients.find(credential, apiKey)
  const [client, unchecked] = typeof found === 'string' ? [undefined, found] : [found, undefined]
  if (client && (client.disabled || now >= (client.expiresAt ?? Infinity)))
    return { kind: 'rejected', credential, client }
  const name = client ? `client:${client.id}` : caller
  return name === undefined
    ? unchecked
    : {
        kind: 'known',
        caller: name,
        user: user ?? caller ?? name,
        tier: client?.tier ?? tier,
        client,
        credential,
        unchecked,
        claims,
        namespace,
      }
}
