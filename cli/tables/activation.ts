import { moment } from '../arguments'
import { UserError } from '../exit'
import { RING_KEY_LEAD_MS } from '../facade/tables'
import { type Clock, type EpochMs, parseDuration } from '../facade/values'
import type { Connection } from './connection'
import { checkClock } from './health'
import { iso } from './key-ring'

/** When a new secret is active where nobody says when, after it was written. */
const DEFAULT_MS = 900_000

/**
 * When a new secret is to be active, as somebody said: at a time, or so long after it is written.
 *
 * @returns the moment, for one that is written now; it throws a UserError where some instance could miss it.
 * @throws UserError where this machine's clock cannot be relied on to tell.
 */
export async function activation(
  requested: string | undefined,
  connection: Connection,
  clock: Clock,
): Promise<() => EpochMs> {
  const check = await checkClock(connection.client, await connection.tableName('config'), clock)
  if (check.status === 'FAILED')
    throw new UserError(`the time of a change depends on this machine’s clock, which is wrong: ${check.found}`)
  const afterMs = requested === undefined ? DEFAULT_MS : parseDuration(requested)
  const fixed = afterMs === undefined ? Date.parse(moment(requested!, '--at', clock)) : undefined
  const activeFrom = () => {
    const now = clock()
    const at = fixed ?? now + afterMs!
    if (at - now >= RING_KEY_LEAD_MS) return at
    throw new UserError(
      `a secret can become active ${RING_KEY_LEAD_MS / 60_000} minutes after it is written, at ${iso(now + RING_KEY_LEAD_MS)} at the earliest, got ${iso(at)}`,
    )
  }
  activeFrom()
  return activeFrom
}
