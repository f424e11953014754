import {
  HMAC_KEY_ITEM,
  HMAC_KEY_LEAD_MS,
  hmacKeyItem,
  parseHmacKeys,
} from '../../lambda/config-table/items/hmac-key-item'
import type { HmacKey, SubjectKeys } from '../../lambda/config-table/subject-keys'
import type { Clock, EpochMs } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import type { StoredItem } from '../../provisioning/documents'
import { WriteConflictError } from '../../provisioning/guarded-writes'
import { moment } from '../arguments'
import { failureOf, UserError } from '../exit'
import type { Check } from './check'
import type { ConfigTable } from './config-table'
import type { Connection } from './connection'
import { checkClock } from './health'

/**
 * Reads the secrets under which the authorizer stores subjects, and their item.
 *
 * @throws UserError for an invalid item, because then no subject's key can be computed.
 */
export async function readHmacKeys(
  table: ConfigTable,
): Promise<{ readonly keys: SubjectKeys; readonly stored: StoredItem | undefined }> {
  const stored = await table.item(HMAC_KEY_ITEM)
  const issues: Mistake[] = []
  const keys = parseHmacKeys(stored?.item, issues)
  if (issues.length > 0)
    throw new UserError(`the HMAC key in the config table is invalid, so no state can be found: ${issues.join('; ')}`)
  return { keys, stored }
}

/**
 * Writes the secrets, unless somebody has meanwhile.
 *
 * @throws UserError then.
 */
export async function writeHmacKeys(
  table: ConfigTable,
  stored: StoredItem | undefined,
  keys: readonly HmacKey[],
): Promise<void> {
  try {
    await table.write([{ key: HMAC_KEY_ITEM, before: stored?.exact, after: hmacKeyItem(keys) }])
  } catch (error) {
    throw error instanceof WriteConflictError
      ? new UserError('somebody changed the HMAC key just now: sluice hmac-key status')
      : error
  }
}

/** Time between a change and its writing for a person to say yes, in milliseconds. */
const TO_ANSWER_MS = 300_000

/**
 * When a new secret is to be active, as somebody said or as soon as it can be.
 *
 * @throws UserError for a moment that some instance could miss, and where this machine's clock cannot be relied on to
 * tell.
 */
export async function activation(said: string | undefined, connection: Connection, clock: Clock): Promise<EpochMs> {
  const check = await checkClock(connection.client, await connection.tableName('config'), clock)
  if (check.status === 'FAILED')
    throw new UserError(`the time of a change depends on this machine’s clock, which is wrong: ${check.found}`)
  if (said === undefined) return clock() + HMAC_KEY_LEAD_MS + TO_ANSWER_MS
  const at = Date.parse(moment(said, '--at', clock))
  checkLead(at, clock())
  return at
}

/** Throws unless every running instance will read the secret again before that moment. */
export function checkLead(at: EpochMs, now: EpochMs): void {
  if (at - now >= HMAC_KEY_LEAD_MS) return
  const earliest = iso(now + HMAC_KEY_LEAD_MS)
  throw new UserError(
    `a secret can become active ${HMAC_KEY_LEAD_MS / 60_000} minutes after it is written, at ${earliest} at the earliest, got ${iso(at)}`,
  )
}

export const iso = (at: EpochMs): string => new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z')

/** From when on a secret is active, in words: that of a new deployment always was. */
export const fromText = (at: EpochMs): string => (at === 0 ? 'the beginning' : iso(at))

/** Checks that subjects are stored under hashes that cannot be computed from the state table alone. */
export async function checkHmacKey(table: ConfigTable, clock: Clock): Promise<Check> {
  const name = 'HMAC key'
  try {
    const { keys } = await readHmacKeys(table)
    const [active, next] = [keys.activeAt(clock()), keys.nextAfter(clock())]
    const coming = next ? `, another from ${iso(next.activeFrom)}` : ''
    if (active) return { name, status: 'ok', found: `active from ${fromText(active.activeFrom)}${coming}` }
    const found = 'none: anybody who can read the state table can find out which addresses are in it'
    if (next) return { name, status: 'ok', found: `none yet${coming}` }
    return { name, status: 'warning', found, remedy: 'sluice hmac-key enable, see docs/privacy.md' }
  } catch (error) {
    return {
      name,
      status: 'FAILED',
      found: failureOf(error).message,
      remedy:
        error instanceof UserError
          ? 'restore the item "hmac-key"; without it new instances reject every request'
          : 'allow dynamodb:GetItem on the config table',
    }
  }
}
