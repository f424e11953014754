import type { StoredItem } from '../../provisioning/documents'
import { UserError } from '../exit'
import { hashApiKey } from '../facade/callers'
import { type PolicySet, splitVariant } from '../facade/policies'
import { clientKey } from '../facade/tables'
import { type EpochMs, printed } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'

type Fields = Readonly<Record<string, unknown>>

/** Other credentials than Sluice's own keys: the option that names one, and how the table does. */
export const SOURCES = {
  apiGatewayKey: 'api-gateway-key',
  user: 'user',
  certificate: 'client-certificate',
  caller: 'client',
} as const
export type Source = keyof typeof SOURCES

const OWN_KEY = /^client#([0-9a-f]{64})$/

/** The key of the record of an API key. */
export const ownKey = (apiKey: string) => clientKey(hashApiKey(apiKey))

/**
 * The key of the record of another kind of credential.
 *
 * @param namespace of the issuer, unless it is the first one in the settings.
 */
export function sourceKey(source: Source, value: string, namespace?: string) {
  if (namespace !== undefined && (!['user', 'caller'].includes(source) || !/^[^:\s]{1,1024}$/.test(namespace)))
    throw new UserError(`--namespace needs --user or --caller, and is a text without ":", got ${printed(namespace)}`)
  if (value === '' || value.length > 256)
    throw new UserError(`a credential must be a string of 1 to 256 characters, got ${printed(value)}`)
  return clientKey(
    `${SOURCES[source]}${namespace === undefined ? '' : `@${namespace}`}:${source === 'certificate' ? fingerprint(value) : value}`,
  )
}

/** As `openssl x509 -fingerprint -sha256` prints it, or without its colons. */
function fingerprint(text: string): string {
  const hex = text.replaceAll(':', '').toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(hex)) {
    throw new UserError(
      `--certificate must be a SHA-256 fingerprint, as openssl x509 -fingerprint -sha256 prints it, got ${printed(text)}`,
    )
  }
  return hex
}

/**
 * How a record's credential is shown: a source and its value, or the beginning of a key's hash. Neither opens anything.
 */
export function credentialOf({ pk }: { readonly pk: string }): string {
  const [, hash] = OWN_KEY.exec(pk) ?? []
  return hash === undefined ? pk.slice('client#'.length) : `key ${hash.slice(0, 12)}`
}

const OF_SOURCE = new RegExp(`^client#(${Object.values(SOURCES).join('|')})(@[^:\\s]+)?:.`, 's')

/** Whether some request can show the credential of a record. */
export const isOfCredential = (pk: string): boolean => OWN_KEY.test(pk) || OF_SOURCE.test(pk)

/** Whether it is the partition key of the record of an API key. */
export const isOwnKey = (pk: string): boolean => OWN_KEY.test(pk)

export const hasOwnKey = ({ item }: StoredItem): boolean => isOwnKey(item.pk)

export function isExpired({ expiresAt }: Fields, now: EpochMs): boolean {
  return typeof expiresAt === 'string' && Date.parse(expiresAt) <= now
}

/** Whether requests with this record get a 401. */
export const isTurnedAway = (item: Fields, now: EpochMs): boolean => item.disabled === true || isExpired(item, now)

/** The state of a client's record, in a word. */
export function stateOf(item: Fields, now: EpochMs): string {
  if (item.disabled === true) return 'disabled'
  if (isExpired(item, now)) return 'expired'
  return typeof item.expiresAt === 'string' ? `until ${item.expiresAt}` : 'active'
}

/** All records of a client; throws when there are none. */
export async function recordsOf(table: ConfigTable, id: string): Promise<StoredItem[]> {
  const records = await table.clients(id)
  if (records.length === 0) throw new UserError(`there is no client ${printed(id)}: list them with sluice clients list`)
  return records
}

/** Throws unless the config table has a tier of this name. */
export async function checkTier(table: ConfigTable, tier: string): Promise<void> {
  const named = (await table.policySet()).flatMap(({ item: { sk } }) =>
    sk.startsWith('tier#') ? splitVariant(sk.slice('tier#'.length))[0] : [],
  )
  checkTierName([...new Set(named)], tier)
}

/** The same among those that were read. */
export const checkTierIn = ({ tiers, scoped }: PolicySet, tier: string): void =>
  checkTierName([...new Set([...tiers.keys(), ...(scoped?.tiers.keys() ?? [])])].sort(), tier)

function checkTierName(tiers: readonly string[], tier: string): void {
  if (!tiers.includes(tier)) {
    throw new UserError(
      `there is no tier ${printed(tier)}: ${tiers.length === 0 ? 'none is configured yet' : `known are ${tiers.join(', ')}`}`,
    )
  }
}
