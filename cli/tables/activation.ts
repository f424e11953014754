import { moment } from '../arguments'
import { UserError } from '../exit'
import { RING_KEY_LEAD_MS } from '../facade/tables'
import type { Clock, EpochMs } from '../facade/values'
import type { Connection } from './connection'
import { checkClock } from './health'
import { iso } from './key-ring'

/** Time between a change and its writing for a person to say yes, in milliseconds. */
const TO_ANSWER_MS = 300_000

/**
 * When a new secret is to be active, as somebody said or as soon as it can be.
 *
 * @throws UserError for a moment that some instance could miss, and where this machine's clock cannot be relied on to
 * tell.
 */
export async function activation(
  requested: string | undefined,
  connection: Connection,
  clock: Clock,
): Promise<EpochMs> {
  const check = await checkClock(connection.client, await connection.tableName('config'), clock)
  if (check.status === 'FAILED')
    throw new UserError(`the time of a change depends on this machine’s clock, which is wrong: ${check.found}`)
  if (requested === undefined) return clock() + RING_KEY_LEAD_MS + TO_ANSWER_MS
  const at = Date.parse(moment(requested, '--at', clock))
  checkLead(at, clock())
  return at
}

/** Throws unless every running instance will read the secret again before that moment. */
export function checkLead(at: EpochMs, now: EpochMs): void {
  if (at - now >= RING_KEY_LEAD_MS) return
  const earliest = iso(now + RING_KEY_LEAD_MS)
  throw new UserError(
    `a secret can become active ${RING_KEY_LEAD_MS / 60_000} minutes after it is written, at ${earliest} at the earliest, got ${iso(at)}`,
  )
}
