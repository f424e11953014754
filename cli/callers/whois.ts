import type { StoredItem } from '../../provisioning/documents'
import { type IpRange, parseIpRange } from '../facade/callers'
import type { PolicySet } from '../facade/policies'
import { type SubjectKeys, subjectKey } from '../facade/tables'
import { counted } from '../terminal/output'
import { addressNames, MAX_ADDRESSES } from './address-names'
import { entryOf } from './block-entries'
import { nameOfCredential } from './forget'
import { knownNames } from './known-names'
import { type Match, matcherOf, type StoredHash, scopeOf } from './stored-hash'

/** Everything of the tables by which a hash can be recognized, and addresses that somebody suspects. */
export interface Suspects {
  /** All of the partition `policy-set`. */
  readonly items: readonly StoredItem[]
  readonly clients: readonly StoredItem[]
  readonly policies: PolicySet
  readonly keys: SubjectKeys
  /** Ranges to try beside those of the block and allow lists. */
  readonly addresses: readonly IpRange[]
  readonly ipv6Prefix: number
}

/** Whose hash it is. */
export interface Found extends Match {
  /** `client:acme`, `ip:203.0.113.7`. */
  readonly name: string
  /** Where the name was found, in words: `client record`, `block list`. */
  readonly source: string
  /** The id of the client whose record has this name or this credential. */
  readonly client?: string
}

/** Why nobody was found. */
export interface NotFound {
  readonly name: undefined
  readonly why: string
}

interface Candidate {
  readonly name: string
  readonly source: string
  readonly client?: string
}

/** Finds the subject of a hash among all that are known, by hashing each of them as the authorizer does. */
export function findByHash(hash: StoredHash, suspects: Suspects): Found | NotFound {
  if (hash.isKeyed && suspects.keys.keys.length === 0)
    return { name: undefined, why: 'it was made with a secret, and this deployment has none: is this the right table?' }
  const matchOf = matcherOf(hash, suspects.keys)
  const listed = listedIn(suspects)
  const tried = addressesTried(hash, suspects, listed)
  for (const candidate of candidatesOf(hash, suspects, listed, tried.candidates)) {
    const match = matchOf(candidate.name)
    if (match) return { ...candidate, ...match }
  }
  return { name: undefined, why: whyNot(hash, suspects, tried) }
}

/** The same for many hashes at once, by the hash; those of which nobody is known are missing. */
export function findAllByHash(hashes: readonly StoredHash[], suspects: Suspects): Map<string, string> {
  const listed = listedIn(suspects)
  const found = new Map<string, string>()
  for (const scope of new Set(hashes.map((hash) => hash.scope))) {
    const wanted = new Set(hashes.filter((hash) => hash.scope === scope).map(({ text }) => text))
    const any = { text: '', scope, isKeyed: true }
    for (const { name } of candidatesOf(any, suspects, listed, addressesTried(any, suspects, listed).candidates)) {
      if (wanted.size === 0) break
      if (scopeOf(name) !== scope) continue
      for (const secret of [undefined, ...suspects.keys.keys.map((key) => key.secret)]) {
        const text = subjectKey(name, secret)
        if (wanted.delete(text)) found.set(text, name)
      }
    }
  }
  return found
}

interface Listed {
  readonly clients: readonly Candidate[]
  readonly ranges: readonly IpRange[]
}

/** Who stands on the block and allow lists. */
function listedIn({ items }: Suspects): Listed {
  const entries = items.flatMap(({ item }) => entryOf(item.sk) ?? [])
  return {
    clients: entries
      .filter(({ who }) => who.startsWith('client:'))
      .map(({ who, list }) => ({ name: who, source: `${list} list` })),
    ranges: entries.flatMap(({ who }) => {
      const range = who.startsWith('ip:') ? parseIpRange(who.slice('ip:'.length), { mask: true }) : { wrong: '' }
      return 'wrong' in range ? [] : range
    }),
  }
}

interface Tried {
  readonly candidates: readonly Candidate[]
  /** Networks that have too many addresses to try. */
  readonly tooLarge: readonly string[]
}

const ABOUT_ADDRESSES = ['ip', 'preflight', 'several']

/** Addresses that somebody suspects come first: theirs are those that must have room. */
function addressesTried({ scope }: StoredHash, { addresses, ipv6Prefix }: Suspects, { ranges }: Listed): Tried {
  if (!ABOUT_ADDRESSES.includes(scope)) return { candidates: [], tooLarge: [] }
  const given = addressNames(addresses, ipv6Prefix)
  const listed = addressNames(ranges, ipv6Prefix)
  const toCandidate = (source: string) => (name: string) => ({ name, source })
  return {
    candidates: [...given.names.map(toCandidate('--address')), ...listed.names.map(toCandidate('block or allow list'))],
    tooLarge: [...given.tooLarge, ...listed.tooLarge],
  }
}

function* candidatesOf(
  { scope }: StoredHash,
  { clients, items, policies }: Suspects,
  listed: Listed,
  addresses: readonly Candidate[],
): Generator<Candidate> {
  const people = clients.map(namesOfRecord)
  if (scope !== 'several') {
    yield* people.flat()
    yield* listed.clients
    for (const one of addresses) yield scope === 'preflight' ? { ...one, name: `preflight:${one.name}` } : one
    yield { name: 'global', source: 'policies by "global"' }
    const routes = [...policies.routes, ...(policies.scoped?.routes ?? [])]
    for (const pattern of ['*', ...routes.map((route) => route.pattern.text)])
      yield { name: `route:${pattern}`, source: 'policies by "route"' }
    for (const { item } of items) {
      const [, id] = /^api#(.+)$/s.exec(item.sk) ?? []
      if (id !== undefined) yield { name: `api:${id}`, source: 'label of an API' }
    }
    return
  }
  // Names of one caller together, with each address: what policies by [client, ip] count.
  let left = MAX_ADDRESSES
  for (const person of people) {
    for (const address of [undefined, ...addresses]) {
      if (left-- <= 0) return
      const given = [...person.map(({ name }) => name), ...(address ? [address.name] : [])]
      for (const name of knownNames(given, policies).names) yield { ...person[0]!, name }
    }
  }
}

/** The names that a client's record stands for: the client, and the user or caller that its credential names. */
function namesOfRecord(record: StoredItem): Candidate[] {
  const client = String(record.item.id)
  const named = nameOfCredential(record)
  return [
    { name: `client:${client}`, source: 'client record', client },
    ...(named === undefined ? [] : [{ name: named, source: `credential of client ${client}`, client }]),
  ]
}

/** What cannot be known about a subject of each kind. */
const UNKNOWN: Readonly<Record<string, string>> = {
  client:
    'no client record has an id with this hash: the record was deleted, or an issuer’s clientClaim or a trusted value names the client',
  user: 'users of tokens are stored as hashes only; users with a client record were tried',
  ip: 'addresses are in no table, only their hashes',
  preflight: 'addresses are in no table, only their hashes',
  header: 'values of headers are in no table, only their hashes',
  claim: 'values of claims are in no table, only their hashes',
  route: 'no configured route has this hash: it was removed, or its pattern was different',
  api: 'no API with a label has this hash',
  stage: 'names of stages are in no table, only their hashes',
  several: 'it counts by several values at once, and not all of them are in a table',
  subject:
    'no client record and no credential has this hash: callers of a second issuer are in no table, only their hashes',
}

function whyNot({ scope, isKeyed }: StoredHash, { keys, addresses, clients }: Suspects, tried: Tried): string {
  const parts = [UNKNOWN[scope] ?? `subjects of the kind "${scope}" are defined by a program`]
  if (ABOUT_ADDRESSES.includes(scope)) {
    const count = tried.candidates.length
    parts.push(count === 0 ? 'none was tried' : `tried: ${count === 1 ? '1 address' : `${count} addresses`}`)
    if (tried.tooLarge.length > 0)
      parts.push(`not tried, because only ${MAX_ADDRESSES} addresses are tried at once: ${tried.tooLarge.join(', ')}`)
    if (addresses.length === 0) parts.push('try suspected addresses with sluice whois HASH --address 203.0.113.0/24')
  } else parts.push(`tried: ${counted(clients.length, 'credential')}`)
  if (isKeyed) parts.push(`under ${keys.keys.length === 1 ? 'the only secret' : `each of ${keys.keys.length} secrets`}`)
  return parts.join('; ')
}
