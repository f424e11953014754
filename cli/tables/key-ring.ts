import type { StoredItem } from '../../provisioning/documents'
import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import { failureOf, UserError } from '../exit'
import {
  HMAC_RING,
  type KeyRing,
  keyRingItem,
  parseKeyRing,
  type RingKey,
  type RingKind,
  ringKey,
} from '../facade/tables'
import type { Clock, EpochMs, Mistake } from '../facade/values'
import type { Check } from './check'
import type { ConfigTable } from './config-table'

/** What commands call a ring's secrets, and what becomes of those who read an invalid one. */
const WORDS = {
  'hmac-key': {
    called: 'HMAC key',
    invalid: 'so no state can be found',
    remedy: 'restore the item "hmac-key"; without it new instances reject every request',
  },
  'signing-key': {
    called: 'signing key',
    invalid: 'so no API key can be signed',
    remedy: 'restore the item "signing-key"; without it new instances look up signed API keys like any others',
  },
} as const

/**
 * Reads the secrets of a ring, and their item.
 *
 * @throws UserError for an invalid item.
 */
export async function readKeyRing<Ring extends KeyRing>(
  kind: RingKind<Ring>,
  table: ConfigTable,
): Promise<{ readonly ring: Ring; readonly stored: StoredItem | undefined }> {
  const stored = await table.item(ringKey(kind))
  const issues: Mistake[] = []
  const ring = parseKeyRing(kind, stored?.item, issues)
  const { called, invalid } = WORDS[kind.name]
  if (issues.length > 0)
    throw new UserError(`the ${called} in the config table is invalid, ${invalid}: ${issues.join('; ')}`)
  return { ring, stored }
}

/**
 * Writes the secrets, unless somebody has meanwhile.
 *
 * @throws UserError then.
 */
export async function writeKeyRing(
  kind: RingKind,
  table: ConfigTable,
  stored: StoredItem | undefined,
  keys: readonly RingKey[],
): Promise<void> {
  try {
    await table.write([ringWrite(kind, keys, stored)])
  } catch (error) {
    throw error instanceof WriteConflictError
      ? new UserError(
          `another writer changed the ${WORDS[kind.name].called} at the same moment: sluice ${kind.name} status`,
        )
      : error
  }
}

/** The write of a ring's secrets. @param stored as they were read. @default there were none */
export const ringWrite = (kind: RingKind, keys: readonly RingKey[], stored?: StoredItem): GuardedWrite => ({
  key: ringKey(kind),
  before: stored?.exact,
  after: keyRingItem(kind, keys),
})

export const iso = (at: EpochMs): string => new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z')

/** From when on a secret is active, in words: that of a new deployment always was. */
export const fromText = (at: EpochMs): string => (at === 0 ? 'the beginning' : iso(at))

/** Checks that a ring is valid, and that subjects are stored under hashes that the state table alone does not tell. */
export async function checkKeyRing(kind: RingKind, table: ConfigTable, clock: Clock): Promise<Check> {
  const { called: name, remedy } = WORDS[kind.name]
  try {
    const { ring } = await readKeyRing(kind, table)
    const [active, next] = [ring.activeAt(clock()), ring.nextAfter(clock())]
    const coming = next ? `, another from ${iso(next.activeFrom)}` : ''
    if (active) return { name, status: 'ok', found: `active from ${fromText(active.activeFrom)}${coming}` }
    if (next) return { name, status: 'ok', found: `none yet${coming}` }
    if (kind.name !== HMAC_RING.name) return { name, status: 'ok', found: 'none yet: clients create makes it' }
    const found = 'none: readers of the state table can find out which addresses are in it'
    return { name, status: 'warning', found, remedy: 'sluice hmac-key enable, see docs/privacy.md' }
  } catch (error) {
    return {
      name,
      status: 'FAILED',
      found: failureOf(error).message,
      remedy: error instanceof UserError ? remedy : 'allow dynamodb:GetItem on the config table',
    }
  }
}
