import { UserError } from '../exit'
import type { IpRange } from '../facade/callers'
import type { ReadOnlyParts } from '../facade/decisions'
import { type Item, NO_ITEM } from '../facade/tables'
import type { ConfigTable } from '../tables/config-table'
import { ipv6PrefixIn } from './address-names'
import { type Asked, askedPart, KINDS } from './asked'
import { NOWHERE } from './place'
import { stateKeysAt } from './state-keys'
import { allKeysOf, presentKeyOf, type StoredHash } from './stored-hash'
import { type Known, type Subject, toSubject } from './subjects'
import { type Found, findByHash, type NotFound } from './whois'

/** Looks for the subject of a hash among all that the tables know. */
export async function whoHas(
  hash: StoredHash,
  table: ConfigTable,
  { configuration, keys }: Known,
  ipv6Prefix: number,
  addresses: readonly IpRange[] = [],
): Promise<Found | NotFound> {
  const { policies } = configuration
  return findByHash(hash, {
    items: await table.policySet(),
    clients: await table.clients(),
    policies,
    keys,
    addresses,
    ipv6Prefix: ipv6PrefixIn(policies.settings, ipv6Prefix),
  })
}

/** Whether commands about a caller take such a name: preflights and combinations have only their state. */
export const isSubjectName = (name: string): boolean => name === 'global' || KINDS.test(name)

/** `client:acme (client record)`. */
export const foundText = ({ name, source }: Found): string => `${name} (${source})`

/**
 * A subject of which nothing but the hash is known: where its state is follows from that, the rest from the options.
 *
 * @param why nobody is known by it.
 * @param read the state, which must be there: a hash of nobody is no caller without requests.
 * @throws UserError where the state cannot be told from that of another secret, or is not there.
 */
export async function unknownSubject(
  hash: StoredHash,
  why: string,
  options: { readonly tier?: string; readonly api?: string },
  known: Known,
  read: (key: string) => Promise<Item>,
  parts: ReadOnlyParts,
): Promise<Subject> {
  const { text, scope } = hash
  const now = parts.clock()
  const key = presentKeyOf(hash, known.keys, now)
  if (key === undefined)
    throw new UserError(
      `${text} cannot be resolved: ${why}. Which of the secrets made it is not known, so neither are its counters`,
    )
  if (options.api !== undefined)
    throw new UserError(`${text} cannot be resolved: ${why}. Without the name, --api cannot be used`)
  if ((await read(key)) === NO_ITEM)
    throw new UserError(`nothing is stored under ${text}, and it cannot be resolved: ${why}`)
  const name = `${scope}:${text}`
  const ofAll = stateKeysAt(known.keys, now)
  const stateKeys = {
    ...ofAll,
    keyOf: (one: string) => (one === name ? key : ofAll.keyOf(one)),
    keyOfCharge: () => key,
    keysToReset: () => allKeysOf(hash, known.keys),
  }
  return toSubject(askedHash(name, scope, options.tier, known), known, parts, stateKeys, text)
}

/** The name stands for the subject in policies, so the authorizer is shown a caller, or an address, of this name. */
function askedHash(name: string, scope: string, given: string | undefined, { configuration }: Known): Asked {
  const tier = given ?? (isCaller(scope) ? configuration.policies.settings.defaultTier : undefined)
  if (scope === 'ip')
    return { name, at: NOWHERE, kind: 'anonymous', ...(tier !== undefined && askedPart(name, NOWHERE, tier)) }
  if (!isCaller(scope) || tier === undefined) return askedPart(name, NOWHERE, tier)
  const kind = scope === 'client' ? 'client' : 'user'
  return { name, at: NOWHERE, kind, tier, claim: { kind: 'claim', caller: name, tier } }
}

const isCaller = (scope: string): boolean => scope === 'client' || scope === 'user'

/**
 * Throws unless a subject's policies are known: those of a hash that nobody is known by follow from its tier.
 */
export function checkPoliciesKnown({ hash, tier, name }: Subject): void {
  if (hash === undefined) return
  const [scope = ''] = name.split(':', 1)
  if (scope !== 'ip' && !isCaller(scope))
    throw new UserError(`${hash} cannot be resolved, so its policies are not known: only reset and forget take it`)
  if (!tier) throw new UserError(`${hash} cannot be resolved, so its tier is not known: give it with --tier`)
}
