import type { Answer, RequestFacts, Source } from './source'

/** What the config table may know of a caller. */
export interface KnownClient {
  readonly id: string
  readonly tier: string
  readonly disabled: boolean
  /** Epoch milliseconds. */
  readonly expiresAt?: number
}

/** Who is asking. */
export type Identity<Client extends KnownClient> =
  | {
      readonly kind: 'known'
      /** `client:acme`, `user:42`. */
      readonly caller: string
      /** `user:42`; the caller itself where no user is named. */
      readonly user: string
      readonly tier?: string
      readonly client?: Client
      /** Why the config table could not say whether the caller is still welcome. */
      readonly unchecked?: Unchecked
      readonly claims: Readonly<Record<string, unknown>>
      /** Of the issuer of the claims; empty for the first. */
      readonly namespace: string
    }
  /** `unchecked`: a credential was shown, and was not looked up. */
  | { readonly kind: 'stranger'; readonly unchecked?: Unchecked }
  /** Bad credentials, or ones that are good no more. */
  | { readonly kind: 'rejected' }
  /** Credentials that cannot be checked at the moment. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/**
 * Why a credential was not looked up: the table cannot say, or its bearer's address has shown too many that nobody has.
 */
type Unchecked = 'unavailable' | 'limited'

export interface Directory<Client extends KnownClient> {
  /**
   * @param isGuess whether anybody can make the credential up. A directory may refuse to look such a one up: `limited`.
   */
  find(credential: string, isGuess: boolean): Promise<Client | undefined | Unchecked>
}

const NO_CLAIMS = Object.freeze({})

/**
 * Asks one source after the other; the first that can tell who is asking is believed. A credential that the config
 * table does not know tells nothing: its bearer is whoever the next sources say, in the end a stranger, so that made-up
 * keys mint no fresh quota.
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
  for (const source of sources) {
    const answer = await source.claim(request)
    if (answer.kind === 'unavailable') return answer
    if (answer.kind === 'rejected') {
      if (!answer.perhapsGoodElsewhere) return { kind: 'rejected' }
      rejected = true
    }
    const identity = answer.kind === 'claim' ? await known(answer, clients, now) : undefined
    if (typeof identity === 'object') return identity
    unchecked ??= identity
  }
  return rejected ? { kind: 'rejected' } : { kind: 'stranger', unchecked }
}

async function known<Client extends KnownClient>(
  {
    credential,
    isGuess = false,
    caller,
    user,
    tier,
    claims = NO_CLAIMS,
    namespace = '',
  }: Extract<Answer, { kind: 'claim' }>,
  clients: Directory<Client>,
  now: number,
): Promise<Identity<Client> | undefined | Unchecked> {
  const found = credential === undefined ? undefined : await clients.find(credential, isGuess)
  const [client, unchecked] = typeof found === 'string' ? [undefined, found] : [found, undefined]
  if (client && (client.disabled || now >= (client.expiresAt ?? Infinity))) return { kind: 'rejected' }
  const name = client ? `client:${client.id}` : caller
  return name === undefined
    ? unchecked
    : {
        kind: 'known',
        caller: name,
        user: user ?? caller ?? name,
        tier: client?.tier ?? tier,
        client,
        unchecked,
        claims,
        namespace,
      }
}
