import type { ItemKey, StoredItem } from '../../provisioning/documents'
import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import { newRingKey, newSignedKey } from '../../provisioning/make-key-ring'
import { ServiceError } from '../exit'
import { type RingKey, SIGNING_RING, signingKeyId } from '../facade/tables'
import type { EpochMs } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { readKeyRing, ringWrite } from '../tables/key-ring'
import { isExpired, isOwnKey, ownKey } from './client-records'

/**
 * The item that says which signing key an API key was signed with: in the ring's partition, by the partition key of the
 * API key's record. It is not in the record, since the release before refuses records with a field that it does not
 * know; authorizers never read it.
 */
const signatureKey = (pk: string): ItemKey => ({ pk: SIGNING_RING.name, sk: pk })

/** An API key that nobody has yet. */
export interface NewApiKey {
  readonly apiKey: string
  /** Of its record. */
  readonly key: ItemKey
  /** The id of the signing key. */
  readonly signedBy: string
  /** To be written together with its record, and before it. */
  readonly signature: GuardedWrite
}

/** Makes an API key, and the deployment's first signing key where there is none. */
export async function newApiKey(table: ConfigTable, now: EpochMs): Promise<NewApiKey> {
  const signer = await signerOf(table, now)
  const apiKey = newSignedKey(signer)
  const [key, signedBy] = [ownKey(apiKey), signingKeyId(signer)]
  const at = signatureKey(key.pk)
  return { apiKey, key, signedBy, signature: { key: at, after: { ...at, signedBy } } }
}

/** Commands that make the first signing key at the same time find that of one of them. */
const ATTEMPTS = 5

async function signerOf(table: ConfigTable, now: EpochMs): Promise<RingKey> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { ring } = await readKeyRing(SIGNING_RING, table)
    const active = ring.activeAt(now) ?? ring.keys[0]
    if (active) return active
    try {
      await table.write([ringWrite(SIGNING_RING, [newRingKey(0)])])
    } catch (error) {
      if (!(error instanceof WriteConflictError)) throw error
    }
  }
  throw new ServiceError('the signing key is being written at the same moment: try again')
}

/** The ids of the signing keys of all signed API keys, by the partition key of the API key's record. */
export async function readSignatures(table: ConfigTable): Promise<ReadonlyMap<string, string>> {
  const items = await table.partition(SIGNING_RING.name)
  return new Map(items.flatMap(({ item: { sk, signedBy } }) => (typeof signedBy === 'string' ? [[sk, signedBy]] : [])))
}

/** The records whose API keys a signing key has signed and that have not expired, by the signing key's id. */
export async function recordsBySigner(table: ConfigTable, now: EpochMs): Promise<ReadonlyMap<string, StoredItem[]>> {
  const signatures = await readSignatures(table)
  const bySigner = new Map<string, StoredItem[]>()
  for (const record of await table.clients()) {
    const id = signatures.get(record.item.pk)
    if (id === undefined || isExpired(record.item, now)) continue
    const known = bySigner.get(id)
    if (known) known.push(record)
    else bySigner.set(id, [record])
  }
  return bySigner
}

/** The ids of the signing keys of some records, as `readSignatures` has them. */
export async function signaturesOf(
  table: ConfigTable,
  records: readonly { readonly item: ItemKey }[],
): Promise<ReadonlyMap<string, string>> {
  const own = records.map(({ item }) => item.pk).filter(isOwnKey)
  const items = await Promise.all(own.map((pk) => table.item(signatureKey(pk))))
  return new Map(items.flatMap((stored) => (stored ? [[stored.item.sk, String(stored.item.signedBy)]] : [])))
}

/** The writes that delete what is stored beside the records of API keys. */
export async function signatureDeletions(table: ConfigTable, pks: readonly string[]): Promise<GuardedWrite[]> {
  const keys = pks.filter(isOwnKey).map(signatureKey)
  const items = await Promise.all(keys.map((key) => table.item(key)))
  return keys.flatMap((key, i) => (items[i] ? [{ key, before: items[i].exact }] : []))
}

/** Deletes what is noted of the API keys of a signing key that is gone. */
export async function deleteSignaturesBy(table: ConfigTable, id: string): Promise<void> {
  const signatures = await readSignatures(table)
  const pks = [...signatures.keys()].filter((pk) => signatures.get(pk) === id)
  for (const write of await signatureDeletions(table, pks)) await table.write([write])
}

/**
 * Which kind of API key a record is of, by its signing key. Unsigned are those that older releases have made at random,
 * and those that people bring. Of credentials of other sources it is nothing.
 */
export function kindOf({ pk }: Pick<ItemKey, 'pk'>, signatures: ReadonlyMap<string, string>): string {
  if (!isOwnKey(pk)) return ''
  const signedBy = signatures.get(pk)
  return signedBy === undefined ? 'unsigned' : `signed (${signedBy})`
}

/** The same for programs: `signedBy` is the id of the signing key, `null` for unsigned API keys. */
export const signedByOf = ({ pk }: Pick<ItemKey, 'pk'>, signatures: ReadonlyMap<string, string>) =>
  isOwnKey(pk) ? { signedBy: signatures.get(pk) ?? null } : {}
