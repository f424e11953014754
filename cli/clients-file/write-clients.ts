import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import type { Session } from '../command'
import { EXIT, failureOf, InterruptedError, linesOf, ServiceError, UserError } from '../exit'
import type { ConfigTable } from '../tables/config-table'

/** Clients under way at once: some thousand items a second. */
const AT_ONCE = 16

/** Clients that are told by name. */
const MAX_SHOWN = 20

interface ClientWrites {
  readonly id: string
  readonly writes: readonly GuardedWrite[]
}

/**
 * Writes many clients, several at once, each client's records together. What somebody else has changed meanwhile is
 * left as it is. Ctrl-C stops after the writes under way.
 *
 * @returns how many clients were written, where all were.
 * @throws an error that says how many were written, and whose were not because somebody changed them.
 */
export async function writeClients(
  session: Session,
  table: ConfigTable,
  clients: readonly ClientWrites[],
): Promise<number> {
  const left = [...clients].reverse()
  const conflicts: string[] = []
  let written = 0
  let failure: unknown
  await session.io.interrupts.during(async (pressed) => {
    const work = async () => {
      while (failure === undefined && !pressed.aborted) {
        const client = left.pop()
        if (!client) return
        try {
          await table.write(client.writes)
          written++
        } catch (error) {
          if (error instanceof WriteConflictError) conflicts.push(client.id)
          else failure ??= error
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    if (failure === undefined && left.length > 0 && pressed.aborted) failure = new InterruptedError('stopped')
  })
  const progress = `written: ${written} of ${clients.length} clients`
  const others = conflicts.sort().slice(0, MAX_SHOWN)
  const more = conflicts.length > others.length ? ` and ${conflicts.length - others.length} more` : ''
  const changed =
    conflicts.length === 0
      ? []
      : [`left as they are, because they were changed at the same moment: ${others.join(', ')}${more}`]
  const advice = 'Run the command again to continue: items that are already written stay.'
  if (failure === undefined && conflicts.length === 0) return written
  if (failure === undefined) throw new UserError([progress, ...changed, advice])
  const { code } = failureOf(failure)
  const lines = [...linesOf(failure), progress, ...changed, advice]
  if (code === EXIT.interrupted) throw new InterruptedError(lines)
  throw code === EXIT.service ? new ServiceError(lines) : new UserError(lines)
}
