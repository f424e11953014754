import type { StoredItem } from '../../provisioning/documents'
import type { PolicySetItem } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import { type Claim, type Client, clientAt, clientIpKey, type SubjectInputs } from '../facade/callers'
import type { Outcome, ReadOnlyParts } from '../facade/decisions'
import { ANONYMOUS, type ApiStage, type Configuration, type Settings, type Tier } from '../facade/policies'
import { clientKey, HMAC_RING, type SubjectKeys } from '../facade/tables'
import { type EpochMs, printed } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { readKeyRing } from '../tables/key-ring'
import { switchText } from '../tiers/mode-switch'
import { readPolicySet } from '../tiers/read-policy-set'
import { ipv6PrefixIn } from './address-names'
import { type Asked, askedAddress, askedPart, claimFor, claimWith, namedBy, WANTED } from './asked'
import { isTurnedAway, stateOf } from './client-records'
import { decidingEntry, type ListEntry } from './deciding-entry'
import { hint, noSuchClient } from './hints'
import { NOWHERE, placeNamed } from './place'
import { type StateKeys, stateKeysAt } from './state-keys'
import { heldTo, OTHER_REQUEST, traceBeforeLimits } from './subject-traces'
import { unreadCredentials } from './unread-credentials'

/** A subject, with what is needed to compute its counters. */
export interface Subject {
  /** `client:acme`, `user:42`, `ip:203.0.113.7`, `global`, `route:GET /export`. */
  readonly name: string
  /** The hash that it was given by, where nobody knows the subject; its name then stands for it in policies only. */
  readonly hash?: string
  /** Where any subject has its state: now, at a charge of that moment, and, after now, with a secret to come. */
  readonly stateKeys: StateKeys
  /** What its requests show to the authorizer. */
  readonly asked: Asked
  /** `undefined` for those who have none, such as `global`. */
  readonly tier: Tier | undefined
  /** The record of a client, for its own numbers, as they are now. */
  readonly client: Client | undefined
  /** Of what its state is made, and that of what it is together with its API or stage. */
  readonly inputs: SubjectInputs
  /** What its client record says, if not simply that it is active: `disabled`, `until 2027-01-31`. */
  readonly remark: string | undefined
  /** Why limits do not decide its requests, as the authorizer says it: `blocked`, `exempt`. */
  readonly beforeLimits: Outcome['reason']
  /** The entry of a list because of which it is blocked or exempt. */
  readonly entry: ListEntry | undefined
  /** That no source of identity reads its credentials, in a sentence. */
  readonly unread: string | undefined
  /** What `sluice off` or `sluice observe on` did, in a line. */
  readonly switched: string | undefined
  /** The API and stage that its requests are for, where somebody asks about these. */
  readonly at: ApiStage
  /** As requests there find it. */
  readonly configuration: Configuration
}

/** What is known of the table's subjects, as far as any of them needs it. */
export interface Known {
  readonly items: readonly PolicySetItem[]
  readonly configuration: Configuration
  readonly keys: SubjectKeys
}

export async function readKnown(table: ConfigTable): Promise<Known> {
  const items = (await table.policySet()).map(({ item }) => item)
  const { ring: keys } = await readKeyRing(HMAC_RING, table)
  return { items, configuration: readPolicySet(items).configuration, keys }
}

/**
 * Finds out who is meant: a client's id, or spelled out `client:acme`, `user:42`, `ip:203.0.113.7`, `global`,
 * `route:GET /export`, `header:x-tenant=north`, `claim:org=acme`, `api:shop`, `stage:shop/prod`; and what the
 * authorizer makes of it.
 *
 * @param place the API, `shop`, or its stage, `shop/prod`, that requests are for.
 * @param tier to take for one whom the config table knows nothing of; wins over its record.
 */
export async function findSubject(
  text: string,
  tier: string | undefined,
  place: string | undefined,
  table: ConfigTable,
  known: Known,
  parts: ReadOnlyParts,
): Promise<Subject> {
  const asked = await askedFor(text, tier, place, table, known, parts)
  return toSubject(asked, known, parts)
}

async function askedFor(
  text: string,
  tier: string | undefined,
  place: string | undefined,
  table: ConfigTable,
  { configuration }: Known,
  { ipv6Prefix, clock }: ReadOnlyParts,
): Promise<Asked> {
  const { apis, settings } = configuration.policies
  const at = place === undefined ? NOWHERE : placeNamed(place, '--api', apis)
  if (text === 'global') return askedPart(text, at, tier)
  const { kind, id } = namedBy(text)
  if (kind === 'api' || kind === 'stage') {
    const there = placeNamed(id, 'a subject', apis)
    const stage = `${there.apiId}/${there.stageName}`
    if ((kind === 'stage') !== (there.stageName !== undefined))
      throw new UserError(`a subject must be ${WANTED}, got ${printed(text)}`)
    return askedPart(`${kind}:${kind === 'api' ? there.apiId : stage}`, there, tier)
  }
  if (kind === 'ip') return askedAddress(addressName(id, settings, ipv6Prefix), id, at, tier)
  if (!isCallerKind(kind)) return askedPart(`${kind}:${id}`, at, tier)
  const name = `${kind}:${id}`
  const called = claimFor(name, settings.identity)
  const record = await recordNamed(table, kind, id, called, settings, clock())
  const claim =
    (kind === 'client' && record ? claimWith(record.item.pk, settings.identity) : called) ??
    (record ? claimWith(record.item.pk, settings.identity) : { kind: 'claim', caller: name })
  const wanted = tier ?? record?.item.tier ?? claim.tier ?? settings.defaultTier
  if (typeof wanted !== 'string') throw await unknownCaller(table, kind, id)
  return {
    name,
    at,
    kind: kind.startsWith('client') ? 'client' : 'user',
    tier,
    claim: { ...claim, tier: tier ?? claim.tier },
    record,
  }
}

const isCallerKind = (kind: string): boolean => /^(client|user)(@|$)/.test(kind)

/**
 * The record of a client, or the one of a user or caller whom a credential names. Of several, one that requests can
 * show, and that is accepted: one good credential is enough.
 */
async function recordNamed(
  table: ConfigTable,
  kind: string,
  id: string,
  called: Claim | undefined,
  { identity }: Settings,
  now: EpochMs,
): Promise<StoredItem | undefined> {
  if (kind !== 'client') {
    const credential = called ? called.credential : `${kind}:${id}`
    return credential === undefined ? undefined : table.item(clientKey(credential))
  }
  const records = await table.clients(id)
  const read = records.filter((record) => unreadCredentials(identity, [record]).length === 0)
  const those = read.length > 0 ? read : records
  return those.find(({ item }) => !isTurnedAway(item, now)) ?? those[0]
}

/** Says what else may have been meant: a client's id is not the name by which a token calls its user. */
async function unknownCaller(table: ConfigTable, kind: string, id: string): Promise<UserError> {
  if (kind === 'client') {
    const advice = '; for a caller without a record give the tier with --tier, for an address write ip:…'
    return noSuchClient(table, id, advice)
  }
  const name = `${kind}:${id}`
  const isClient = (await table.clients(id)).length > 0
  const instead = isClient ? `; there is a client ${printed(id)}: use client:${id}` : ''
  return new UserError(
    `no client record has the credential ${name}, so its tier is not known: give it with --tier${instead}`,
  )
}

/**
 * A subject as the authorizer finds it.
 *
 * @param stateKeys where its state is, if that does not follow from its name.
 * @param hash that it was given by, where nobody knows it: what becomes of its requests is not known then.
 */
export async function toSubject(
  asked: Asked,
  { items, keys }: Known,
  parts: ReadOnlyParts,
  stateKeys?: StateKeys,
  hash?: string,
): Promise<Subject> {
  const { name, at, record } = asked
  const { configuration, identity, tier, inputs, now } = await heldTo(asked, OTHER_REQUEST, parts)
  const wanted = asked.tier ?? record?.item.tier
  const tiers = [...configuration.policies.tiers.keys()]
  const missing = asked.tier ?? (tier || asked.kind === 'part' ? undefined : String(wanted ?? ANONYMOUS))
  if (missing !== undefined && configuration.policies.tiers.get(missing) === undefined)
    throw new UserError(`there is no valid tier ${printed(missing)} for ${name}${hint(missing, tiers)}`)
  const client = identity?.kind === 'known' ? identity.client : undefined
  const state = record && stateOf(record.item, now)
  const before = hash === undefined ? await traceBeforeLimits(asked, OTHER_REQUEST, parts) : undefined
  const remarks = [
    state === 'active' ? undefined : state,
    tier && wanted !== undefined && tier.name !== wanted ? `its tier ${printed(wanted)} does not exist` : undefined,
  ].filter((remark) => remark !== undefined)
  return {
    name,
    hash,
    asked,
    at,
    stateKeys: stateKeys ?? stateKeysAt(keys, now),
    configuration,
    tier,
    inputs,
    client: client && clientAt(client, now),
    remark: remarks.join(', ') || undefined,
    beforeLimits: before?.outcome.reason,
    entry: before && decidingEntry(items, before),
    unread: record && unreadCredentials(configuration.policies.settings.identity, [record])[0],
    switched: switchText(items),
  }
}

/** The subject of an address: itself, or the IPv6 network by which it is counted. */
export function addressName(text: string, settings: Settings, ipv6Prefix: number): string {
  const address = clientIpKey(text, ipv6PrefixIn(settings, ipv6Prefix))
  if (address === undefined)
    throw new UserError(`an address must look like ip:203.0.113.7, got ${printed(`ip:${text}`)}`)
  return `ip:${address}`
}
