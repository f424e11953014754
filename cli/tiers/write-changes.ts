import { keepExact, type StoredItem } from '../../provisioning/documents'
import { type GuardedWrite, WriteConflictError } from '../../provisioning/guarded-writes'
import type { Change, PolicySetItem } from '../../provisioning/tiers-file'
import { failureOf, InterruptedError, linesOf, ServiceError, UserError } from '../exit'
import { CONFIG_TABLE } from '../facade/tables'
import type { ConfigTable } from '../tables/config-table'
import { applied, safeOrder } from './safe-order'
import { titlesOf } from './titles'

/**
 * Writes changes to a policy set: all or nothing where the engine and their number allow, else in as few transactions
 * as they fit, or one by one where the engine has no transactions. The table is valid after each of them.
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
  const fits = (batch: readonly Change[]) => table.fits(batch.map(toWrite))
  if (fits(changes) && (await together(table, changes.map(toWrite)))) {
    changes.forEach(done)
    return
  }

  const items = new Map(stored.map(({ item }) => [item.sk, item]))
  const written: Change[] = []
  let left = inOrder(items, changes, fits(changes) ? undefined : fits)
  if (left.length > 1)
    tell(`${changes.length} changes do not fit one transaction: they are written in ${left.length} steps`)
  while (left.length > 0) {
    const [batch, ...others] = left as [readonly Change[], ...(readonly Change[])[]]
    if (pressed.aborted) throw new InterruptedError(progress(['stopped'], written, left.flat()))
    const isWritten = await table.tryWrite(batch.map(toWrite)).catch((error) => {
      throw toFailure(error, written, left.flat())
    })
    if (!isWritten) {
      left = inOrder(applied(items, written), left.flat(), undefined, written)
      continue
    }
    batch.forEach(done)
    written.push(...batch)
    left = others
  }
}

/**
 * @param fits what one transaction takes; without it each change is written by itself, because there are none.
 * @param written before these.
 * @throws UserError where there is no order in which the table is valid after each batch.
 */
function inOrder(
  items: ReadonlyMap<string, PolicySetItem>,
  changes: readonly Change[],
  fits?: (batch: readonly Change[]) => boolean,
  written: readonly Change[] = [],
): readonly (readonly Change[])[] {
  const { batches, stuck } = safeOrder([...items.values()], changes, fits)
  if (stuck.length === 0) return batches
  const why = fits ? `${changes.length} changes do not fit one transaction` : 'this DynamoDB has no transactions'
  const sentence = `${why}, and written one after another the table would be invalid in between (${namesOf(stuck)})`
  throw new UserError(
    written.length === 0
      ? `nothing was written: ${sentence}: apply them in two steps`
      : progress([sentence], written, changes, 'Apply what is left in two steps.'),
  )
}

async function together(table: ConfigTable, writes: readonly GuardedWrite[]): Promise<boolean> {
  try {
    return await table.tryWrite(writes)
  } catch (error) {
    throw error instanceof WriteConflictError ? new UserError(`nothing was written: ${meanwhile(error)}`) : error
  }
}

function toFailure(error: unknown, written: readonly Change[], left: readonly Change[]): Error {
  if (error instanceof WriteConflictError) return new UserError(progress([meanwhile(error)], written, left))
  const { code } = failureOf(error)
  return new (code === 1 ? UserError : ServiceError)(progress(linesOf(error), written, left))
}

const meanwhile = ({ keys }: WriteConflictError): string =>
  `another writer edited ${titlesOf(keys.map(({ sk }) => sk))} at the same moment`

const namesOf = (changes: readonly Change[]): string => titlesOf(changes.map(({ sk }) => sk))

/** What was written and what was not, so that the user can continue. */
function progress(
  why: readonly string[],
  written: readonly Change[],
  left: readonly Change[],
  advice = 'Apply the same file again to continue.',
): string[] {
  return [
    ...why,
    `written, ${written.length} of ${written.length + left.length}: ${namesOf(written)}`,
    `not written: ${namesOf(left)}`,
    `The table is valid as it is. ${advice}`,
  ]
}
