import type { ItemKey, StoredItem } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { clientKey } from '../facade/tables'
import { distinctNames } from './distinct-names'
import type { ApiKey } from './read-plans'
import type { Left, Tiers } from './to-tiers'

/** Of a client's id. Names need not be unique, and clients with one id share a quota. */
const MAX_ID_LENGTH = 256

/** What becomes of API keys. */
export interface ClientsPlan {
  readonly added: readonly NewClient[]
  readonly unchanged: number
  readonly left: readonly Left[]
}

interface NewClient {
  readonly id: string
  readonly tier: string
  readonly disabled: boolean
  readonly keyId: string
  readonly writes: readonly GuardedWrite[]
}

export interface ClientOptions {
  /** Whether clients are identified by their key's value, as its hash, or by its id. */
  readonly by: 'value' | 'id'
  /** Whether usage plans go on counting them. */
  readonly metering: boolean
}

/**
 * Makes a client of each key. A record that the table has already stays as it is, so a second run changes nothing and
 * nobody's edit is undone.
 *
 * @param pages the records of all clients.
 */
export async function planClients(
  keys: readonly ApiKey[],
  { tierOf, closed }: Tiers,
  { by, metering }: ClientOptions,
  pages: AsyncIterable<readonly StoredItem[]>,
): Promise<ClientsPlan> {
  const [records, taken] = await recordsOf(pages)
  const left: Left[] = []
  const added: NewClient[] = []
  let unchanged = 0
  const credentialOf = ({ id, hash }: ApiKey) => (by === 'id' ? `api-gateway-key:${id}` : hash)
  const recordOf = (credential: string | undefined) => credential && records.get(clientKey(credential).pk)
  // one that the table has by its other credential is the same client, with the same settings
  const knownAs = (key: ApiKey) => recordOf(`api-gateway-key:${key.id}`) || recordOf(key.hash) || undefined
  const unnamed = keys.filter((key) => tierOf.has(key.id) && credentialOf(key) !== undefined && !knownAs(key))
  const names = distinctNames(
    unnamed.map(({ id, name }) => ({ id, wanted: name })),
    (name) => taken.has(name),
    MAX_ID_LENGTH,
  )
  for (const key of keys) {
    const tier = tierOf.get(key.id)
    const what = `API key ${key.id}`
    const credential = credentialOf(key)
    if (tier === undefined) {
      left.push({ what, why: 'none of its plans is imported' })
      continue
    }
    if (credential === undefined) {
      left.push({ what, why: 'API Gateway did not return its value' })
      continue
    }
    const record: ItemKey = clientKey(credential)
    const disabled = !key.enabled || closed.has(key.id)
    const known = knownAs(key)
    const isAsThere = known?.tier === tier && (known.disabled === true) === disabled
    const isThere = records.has(record.pk)
    if (known && !isAsThere)
      left.push({ what, why: `client "${known.id}" has it already, with other settings, which are kept` })
    if (isThere) {
      if (isAsThere) unchanged++
      continue
    }
    if (known) {
      const { usageIdentifierKey, ...fields } = known.exact
      const counts = by === 'id' && usageIdentifierKey === true ? undefined : metering || usageIdentifierKey
      const after = { ...fields, ...record, ...(counts && { usageIdentifierKey: counts }) }
      added.push({
        id: known.id,
        tier: String(known.tier),
        disabled: known.disabled === true,
        keyId: key.id,
        writes: [{ key: record, after }],
      })
      continue
    }
    const id = names.get(key.id)!
    const notes = [`API Gateway key ${key.id}`, key.description].filter((text) => text !== '').join(': ')
    const after = {
      ...record,
      id,
      tier,
      ...(key.name !== '' && { name: key.name }),
      notes: notes.slice(0, 1024),
      ...(disabled && { disabled }),
      ...(metering && { usageIdentifierKey: true }),
    }
    added.push({ id, tier, disabled, keyId: key.id, writes: [{ key: record, after }] })
  }
  return { added, unchanged, left }
}

interface Stored {
  readonly id: string
  readonly tier: unknown
  readonly disabled: unknown
  readonly exact: StoredItem['exact']
}

async function recordsOf(
  pages: AsyncIterable<readonly StoredItem[]>,
): Promise<[ReadonlyMap<string, Stored>, Set<string>]> {
  const records = new Map<string, Stored>()
  const taken = new Set<string>()
  for await (const page of pages) {
    for (const { item, exact } of page) {
      const id = String(item.id)
      records.set(item.pk, { id, tier: item.tier, disabled: item.disabled, exact })
      taken.add(id)
    }
  }
  return [records, taken]
}
