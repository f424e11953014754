import type { Configuration } from '../../lambda/config-table/configuration'
import type { Access } from '../../lambda/config-table/items/access-list'
import { type Client, clientAt, parseClientItem } from '../../lambda/config-table/items/client-item'
import { clientKey } from '../../lambda/config-table/items/config-items'
import { setFor } from '../../lambda/config-table/items/scoped-set'
import type { ApiStage, Apis } from '../../lambda/config-table/items/scopes'
import type { Settings } from '../../lambda/config-table/items/settings'
import { ANONYMOUS, type Tier } from '../../lambda/config-table/items/tiers'
import type { SubjectKeys } from '../../lambda/config-table/subject-keys'
import { clientIpKey } from '../../lambda/identity/client-ip'
import { parseIpAddress } from '../../lambda/ip-address'
import type { EpochMs } from '../../limiter/clock'
import { printed } from '../../limiter/errors'
import type { StoredItem } from '../../provisioning/documents'
import type { PolicySetItem } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import type { ConfigTable } from '../tables/config-table'
import { readHmacKeys } from '../tables/hmac-key'
import { switchText } from '../tiers/mode-switch'
import { readPolicySet } from '../tiers/read-policy-set'
import { ipv6PrefixIn } from './address-names'
import { isTurnedAway, stateOf } from './client-records'
import { hint, noSuchClient } from './hints'

/** A subject, with what is needed to compute its counters. */
export interface Subject {
  /** `client:acme`, `user:42`, `ip:203.0.113.7`, `global`, `route:GET /export`. */
  readonly name: string
  /** The hash that it was given by, where nobody knows the subject; its name then stands for it in policies only. */
  readonly hash?: string
  /** Where any subject has its state: now, at a charge of that moment, and, after now, with a secret to come. */
  readonly stateKeys: StateKeys
  /** `undefined` for those who have none, such as `global`. */
  readonly tier: Tier | undefined
  /** The record of a client, for its own numbers. */
  readonly client: Client | undefined
  /** The state of its client record, if not simply active: `disabled`, `until 2027-01-31`. */
  readonly remark: string | undefined
  /** Why limits do not decide its requests: they are denied before, or allowed without counting. */
  readonly beforeLimits: 'blocked' | 'unauthorized' | 'exempt' | undefined
  /** What `sluice off` or `sluice observe on` did, in a line. */
  readonly switched: string | undefined
  /** The API and stage that its requests are for, where somebody asks about these. */
  readonly at: ApiStage
  /** As requests there find it. */
  readonly configuration: Configuration
}

export const NOWHERE: ApiStage = { apiId: undefined, stageName: undefined }

/** A client, user or claim of another issuer than the first has its namespace behind an `@`. */
export const KINDS = /^((?:client|user|claim)(?:@[^:]+)?|ip|route|header|api|stage):(.*)$/s
const WANTED =
  "a client's id, client:…, user:…, ip:…, global, api:…, stage:<api>/<stage>, route:…, header:<name>=<value> or claim:<name>=<value>"

/** Where subjects have their state, at the moment of a command. */
export interface StateKeys {
  keyOf(name: string): string
  keyOfCharge(name: string, chargedAt: EpochMs): string
  /** Counters may have been copied to a secret that is to come. */
  keysToReset(name: string): string[]
}

/** What is known of the table's subjects, as far as any of them needs it. */
export interface Known {
  readonly items: readonly PolicySetItem[]
  readonly configuration: Configuration
  readonly keys: SubjectKeys
}

export async function readKnown(table: ConfigTable): Promise<Known> {
  const items = (await table.policySet()).map(({ item }) => item)
  const { keys } = await readHmacKeys(table)
  return { items, configuration: readPolicySet(items).configuration, keys }
}

/**
 * Finds out who is meant: a client's id, or spelled out `client:acme`, `user:42`, `ip:203.0.113.7`, `global`,
 * `route:GET /export`, `header:x-tenant=north`, `claim:org=acme`, `api:shop`, `stage:shop/prod`.
 *
 * @param place the API, `shop`, or its stage, `shop/prod`, that requests are for.
 * @param tier to take for one whom the config table knows nothing of; wins over its record.
 * @param ipv6Prefix bits of an IPv6 address that tell callers apart, where the settings say nothing.
 */
export async function findSubject(
  text: string,
  tier: string | undefined,
  place: string | undefined,
  table: ConfigTable,
  known: Known,
  ipv6Prefix: number,
  now: EpochMs,
): Promise<Subject> {
  const { apis, settings } = known.configuration.policies
  const at = place === undefined ? NOWHERE : placeNamed(place, '--api', apis)
  const stateKeys = stateKeysAt(known.keys, now)
  const subject = (name: string, tierName: string | undefined, there = at, more: Partial<Subject> = {}): Subject =>
    toSubject(name, tierName, there, stateKeys, known, more)
  const { access } = known.configuration
  const asListed = (one: Subject, listed: Access | undefined): Subject =>
    listed === undefined || one.beforeLimits ? one : { ...one, beforeLimits: listed === 'block' ? 'blocked' : 'exempt' }
  if (text === 'global') return subject(text, tier)
  const { kind, id } = namedBy(text)
  if (kind === 'api' || kind === 'stage') {
    const there = placeNamed(id, 'a subject', apis)
    const stage = `${there.apiId}/${there.stageName}`
    if ((kind === 'stage') !== (there.stageName !== undefined))
      throw new UserError(`a subject must be ${WANTED}, got ${printed(text)}`)
    return subject(`${kind}:${kind === 'api' ? there.apiId : stage}`, tier, there)
  }
  if (kind === 'ip')
    return asListed(
      subject(addressName(id, settings, ipv6Prefix), tier ?? ANONYMOUS),
      access.ofAddress(parseIpAddress(id), now),
    )
  if (!/^(client|user)(@|$)/.test(kind)) return subject(`${kind}:${id}`, tier)
  const name = `${kind}:${id}`
  const records = (await recordsNamed(table, kind, id)).map(({ item }) => item)
  const record = records.find((one) => !isTurnedAway(one, now)) ?? records[0] // one good credential is enough
  const found = tier ?? record?.tier ?? settings.defaultTier
  if (typeof found !== 'string') throw await unknownCaller(table, kind, id)
  const state = record && stateOf(record, now)
  const client = record && parseClientItem(record, [])
  const made = subject(name, found, at, {
    client: client && clientAt(client, now),
    remark: state === 'active' ? undefined : state,
  })
  if (record && isTurnedAway(record, now)) return { ...made, beforeLimits: 'unauthorized' }
  return record || kind === 'client' ? asListed(made, access.ofClient(String(record?.id ?? id), now)) : made
}

/** The records of a client, or the one of a user or caller whom a credential names. */
async function recordsNamed(table: ConfigTable, kind: string, id: string): Promise<StoredItem[]> {
  if (kind === 'client') return table.clients(id)
  const record = await table.item(clientKey(`${kind}:${id}`))
  return record ? [record] : []
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

export function stateKeysAt(keys: SubjectKeys, now: EpochMs): StateKeys {
  const next = keys.nextAfter(now)
  return {
    keyOf: (name) => keys.keyOf(name, now),
    keyOfCharge: (name, chargedAt) => keys.keyOfCharge(name, chargedAt, now),
    keysToReset: (name) => [...(next ? [keys.keyOf(name, next.activeFrom)] : []), keys.keyOf(name, now)],
  }
}

/** A subject of which so much is known. */
export function toSubject(
  name: string,
  tierName: string | undefined,
  at: ApiStage,
  stateKeys: StateKeys,
  { configuration, items }: Known,
  more: Partial<Subject> = {},
): Subject {
  const nothing = { client: undefined, remark: undefined, beforeLimits: undefined }
  const held = tierOf(name, configuration, at, tierName)
  return { name, stateKeys, at, ...held, ...nothing, switched: switchText(items), ...more }
}

/** `client:acme` in its parts; what has no kind is a client's id. */
export function namedBy(text: string): { readonly kind: string; readonly id: string } {
  const [, kind = 'client', id = text] = KINDS.exec(text) ?? []
  if (id === '') throw new UserError(`a subject must be ${WANTED}, got ${printed(text)}`)
  return { kind, id }
}

/** The subject of an address: itself, or the IPv6 network by which it is counted. */
export function addressName(text: string, settings: Settings, ipv6Prefix: number): string {
  const address = clientIpKey(text, ipv6PrefixIn(settings, ipv6Prefix))
  if (address === undefined)
    throw new UserError(`an address must be such as ip:203.0.113.7, got ${printed(`ip:${text}`)}`)
  return `ip:${address}`
}

function tierOf(
  name: string,
  all: Configuration,
  at: ApiStage,
  tierName: string | undefined,
): Pick<Subject, 'tier' | 'configuration'> {
  const { apiId, stageName = apiId && '' } = at // who names no stage asks what holds for the API
  const configuration = { ...all, policies: setFor(all.policies, { apiId, stageName }) }
  const { tiers } = configuration.policies
  const tier = tierName === undefined ? undefined : tiers.get(tierName)
  if (tierName !== undefined && !tier) {
    throw new UserError(`there is no valid tier ${printed(tierName)} for ${name}${hint(tierName, [...tiers.keys()])}`)
  }
  return { tier, configuration }
}

/**
 * The API of `shop` or `shop/prod`, by its id, label or name.
 *
 * @throws UserError when several are called so.
 */
function placeNamed(text: string, what: string, apis: Apis | undefined): ApiStage {
  const [, word, stageName] = /^([^/]+)(?:\/([\w$-]+))?$/.exec(text) ?? []
  if (word === undefined)
    throw new UserError(`${what} must name an API or its stage, such as shop or shop/prod, got ${printed(text)}`)
  const ids = [...(apis?.idsOf(word) ?? [word])]
  if (ids.length > 1)
    throw new UserError(`${what} must name one API, and ${printed(word)} matches several: ${ids.join(', ')}`)
  return { apiId: ids[0], stageName }
}
