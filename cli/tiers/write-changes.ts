import { CONFIG_TABLE } from '../../lambda/config-table/items/config-items'
import { keepExact, type StoredItem } from '../../provisioning/documents'
import {
  fitOneTransaction,
  type GuardedWrite,
  WriteConflictError,
  writeAlone,
  writeTogether,
} from '../../provisioning/guarded-writes'
import type { Change } from '../../provisioning/tiers-file'
import { failureOf, InterruptedError, ServiceError, UserError } from '../exit'
import type { ConfigTable } from '../tables/config-table'
import { titleOf } from './diff-text'
import { safeOrder } from './safe-order'

/**
 * Writes changes to a policy set: all or nothing where the engine and their number allow, else one after another, in an
 * order in which the table is valid after each.
 *
 * @param done gets each change that is written.
 * @param pressed Ctrl-C: the write under way is finished, and the rest left for the next run.
 * @param tell what is worth knowing while it happens.
 */
export async function writeChanges(
  table: ConfigTable,
  stored: readonly StoredItem[],
  changes: readonly Change[],
  done: (change: Change) => void,
  pressed: AbortSignal,
  tell: (text: string) => void,
): Promise<void> {
  const before = new Map(stored.map((one) => [one.item.sk, one]))
  const toWrite = ({ sk, after }: Change): GuardedWrite => ({
    key: { pk: CONFIG_TABLE.policySet, sk },
    before: before.get(sk)?.exact,
    after: after && keepExact(after, before.get(sk)),
  })
  const writes = changes.map(toWrite)
  if (fitOneTransaction(writes) && (await together(table, writes))) {
    changes.forEach(done)
    return
  }

  const items = stored.map(({ item }) => item)
  const { steps, stuck } = safeOrder(items, changes)
  if (stuck.length > 0) {
    const names = stuck.map(({ sk }) => titleOf(sk)).join(', ')
    throw new UserError(
      `nothing was written: ${changes.length} changes do not fit one transaction, and written one by one the table would be invalid in between (${names}): ` +
        'apply them in two steps',
    )
  }
  if (steps.length > 1) tell(`${steps.length} changes do not fit one transaction: they are written one by one`)
  for (const [count, step] of steps.entries()) {
    if (pressed.aborted) throw new InterruptedError(progress('stopped', steps, count))
    try {
      await writeAlone(table.documents, table.name, toWrite(step))
    } catch (error) {
      throw toFailure(error, steps, count)
    }
    done(step)
  }
}

async function together(table: ConfigTable, writes: readonly GuardedWrite[]): Promise<boolean> {
  try {
    return await table.named(() => writeTogether(table.documents, table.name, writes))
  } catch (error) {
    throw error instanceof WriteConflictError ? new UserError(`nothing was written: ${meanwhile(error)}`) : error
  }
}

function toFailure(error: unknown, steps: readonly Change[], count: number): Error {
  if (error instanceof WriteConflictError) return new UserError(progress(meanwhile(error), steps, count))
  const { code, message } = failureOf(error)
  return new (code === 1 ? UserError : ServiceError)(progress(message, steps, count))
}

const meanwhile = ({ keys }: WriteConflictError): string =>
  `somebody edited ${keys.map(({ sk }) => titleOf(sk)).join(', ')} just now`

/** What was written and what was not, so that the user can continue. */
function progress(why: string, steps: readonly Change[], count: number): string {
  const names = (some: readonly Change[]) => some.map(({ sk }) => titleOf(sk)).join(', ') || 'nothing'
  return [
    why,
    `written, ${count} of ${steps.length}: ${names(steps.slice(0, count))}`,
    `not written: ${names(steps.slice(count))}`,
    'The table is valid as it is. Apply the same file again to continue.',
  ].join('\n')
}
