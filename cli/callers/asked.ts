import type { StoredItem } from '../../provisioning/documents'
import { UserError } from '../exit'
import { type Claim, type SubjectInputs, subjectOf } from '../facade/callers'
import type { ApiStage, Dimension, SourceSettings } from '../facade/policies'
import { printed } from '../facade/values'

/** Whom a command is about, and what their requests show to the authorizer. */
export interface Asked {
  /** `client:acme`, `user:42`, `ip:203.0.113.7`, `global`, `route:GET /export`. */
  readonly name: string
  /** The API and stage that the requests are for. */
  readonly at: ApiStage
  /** The caller's address as it was given; absent where it is not known. */
  readonly address?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What a source of identity finds; absent for anonymous callers. */
  readonly claim?: Claim
  /** The tier that was given. @default that of the record or the claim */
  readonly tier?: string
  /** The record of the credential. */
  readonly record?: StoredItem
  /** `part`: the subject is no caller, but one by which requests of many callers are counted, such as `global`. */
  readonly kind: 'client' | 'user' | 'anonymous' | 'part'
}

/** A client, user or claim of another issuer than the first has its namespace behind an `@`. */
export const KINDS = /^((?:client|user|claim)(?:@[^:]+)?|ip|route|header|api|stage):(.*)$/s
export const WANTED =
  "a client's id, client:…, user:…, ip:…, global, api:…, stage:<api>/<stage>, route:…, header:<name>=<value> or claim:<name>=<value>"

/** `client:acme` in its parts; what has no kind is a client's id. */
export function namedBy(text: string): { readonly kind: string; readonly id: string } {
  const [, kind = 'client', id = text] = KINDS.exec(text) ?? []
  if (id === '') throw new UserError(`a subject must be ${WANTED}, got ${printed(text)}`)
  return { kind, id }
}

/** A caller of whom nothing is known, for subjects that are none themselves. */
const ELSEWHERE = 'client:elsewhere'

/** What else than a caller is counted: the subjects of a header, a claim, a route, an API, or of everybody. */
export function askedPart(name: string, at: ApiStage, tier: string | undefined): Asked {
  const [, kind = name, rest = ''] = KINDS.exec(name) ?? []
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(rest) ?? []
  const [base, namespace] = kind.split('@')
  return {
    name,
    at,
    kind: 'part',
    tier,
    headers: kind === 'header' ? { [key]: value } : {},
    claim: {
      kind: 'claim',
      caller: ELSEWHERE,
      tier,
      claims: base === 'claim' ? { [key]: value } : {},
      namespace,
    },
  }
}

/** An address, of anonymous callers, or of callers in a tier that was given. */
export function askedAddress(name: string, address: string, at: ApiStage, tier: string | undefined): Asked {
  const anonymous: Asked = { name, at, address, kind: 'anonymous' }
  return tier === undefined ? anonymous : { ...askedPart(name, at, tier), address }
}

/**
 * What the sources of identity find in a request of a caller, `user:42`, `client@partner:acme`; `undefined` where none
 * names such callers. Of several sources, one that looks the caller up.
 */
export function claimFor(name: string, identity: readonly SourceSettings[]): Claim | undefined {
  const claims = identity.flatMap((source) => claimBy(source, name) ?? [])
  return claims.find(({ credential }) => credential !== undefined) ?? claims[0]
}

function claimBy(source: SourceSettings, name: string): Claim | undefined {
  const { kind, id } = namedBy(name)
  const [base, namespace = ''] = kind.split('@')
  if ('as' in source) {
    const { as, tier, lookup } = source
    return as === kind ? { kind: 'claim', caller: name, tier, ...(lookup && { credential: name }) } : undefined
  }
  if (source.source !== 'jwt') return undefined
  const { clientClaim, issuer, lookup } = source
  const claim = { kind: 'claim', caller: name, namespace: source.namespace } as const
  if (base === 'user')
    return namespace === source.namespace ? { ...claim, user: name, ...(lookup && { credential: name }) } : undefined
  if (clientClaim === undefined || namespace !== (source.namespace || encodeURIComponent(issuer))) return undefined
  const at = source.namespace && `@${source.namespace}`
  return { ...claim, ...(lookup && { credential: `client${at}:${id}` }) }
}

/** What the source of a record's credential finds in a request with it. */
export function claimWith(pk: string, identity: readonly SourceSettings[]): Claim {
  const credential = pk.slice('client#'.length)
  if (!/^(user|client)(@[^:]+)?:/.test(credential)) return { kind: 'claim', credential }
  return { ...(claimFor(credential, identity) ?? { kind: 'claim', caller: credential }), credential }
}

/** Whether a policy by these dimensions counts the subject, by itself or together with its API or stage. */
export function isCounted(
  { name, at }: Pick<Asked, 'name' | 'at'>,
  who: readonly Dimension[],
  route: string | undefined,
  inputs: SubjectInputs,
): boolean {
  if (subjectOf(who, inputs, route) === name) return true
  const others = who.filter(
    (dimension) => at.apiId === undefined || (dimension !== 'api' && (dimension !== 'stage' || !at.stageName)),
  )
  return others.length > 0 && others.length < who.length && subjectOf(others, inputs, route) === name
}
