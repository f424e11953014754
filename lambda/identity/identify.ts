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
      readonly claims: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'stranger' }
  /** Bad credentials, or ones that are good no more. */
  | { readonly kind: 'rejected' }
  /** Credentials that cannot be checked at the moment. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface Directory<Client extends KnownClient> {
  find(credential: string): Promise<Client | undefined>
}

const NO_CLAIMS = Object.freeze({})

/**
 * Asks one source after the other; the first that can tell who is asking is believed. A credential that the config table does not know tells
 * nothing: its bearer is whoever the next sources say, in the end a stranger, so that made-up keys mint no fresh quota.
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
  for (const source of sources) {
    const answer = await source.claim(request)
    if (answer.kind === 'unavailable') return answer
    if (answer.kind === 'rejected') {
      if (!answer.perhapsGoodElsewhere) return { kind: 'rejected' }
      rejected = true
    }
    const identity = answer.kind === 'claim' ? await known(answer, clients, now) : undefined
    if (identity) return identity
  }
  return { kind: rejected ? 'rejected' : 'stranger' }
}

async function known<Client extends KnownClient>(
  { credential, caller, user, tier, claims = NO_CLAIMS }: Extract<Answer, { kind: 'claim' }>,
  clients: Directory<Client>,
  now: number,
): Promise<Identity<Client> | undefined> {
  const client = credential === undefined ? undefined : await clients.find(credential)
  if (client && (client.disabled || now >= (client.expiresAt ?? Infinity))) return { kind: 'rejected' }
  const name = client ? `client:${client.id}` : caller
  return name === undefined
    ? undefined
    : { kind: 'known', caller: name, user: user ?? caller ?? name, tier: client?.tier ?? tier, client, claims }
}
