import { purgeHolds } from './algorithms/holds'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import type { StoreCalls } from './store-calls'
import { fitted, inWrites } from './stores/expression-budget'
import { itemAfter } from './stores/memory-store'
import type { Item, ItemWrite, PolicyWrite } from './stores/store'
import type { Subjects } from './subject'

/**
 * Keeps a subject's item small: removes expired fields, if there are enough of them, and what requests held long ago,
 * whichever policies this one has. The request is decided already; where this fails, the next one removes them.
 *
 * @param isOnlyWriter whether nobody else writes to the item: what this process charges is purged as it is written.
 * @default false
 * @returns `undefined` where there is nothing to remove.
 */
export function purge(
  calls: StoreCalls,
  subjects: Subjects,
  key: string,
  policies: readonly CompiledPolicy[],
  item: Item,
  now: EpochMs,
  deadline: Deadline,
  isOnlyWriter = false,
): Promise<void> | undefined {
  const found: PolicyWrite[] = []
  for (const prefix in item.policies) {
    const write = purgeHolds(item.policies[prefix]!, now)
    if (write) found.push({ prefix, write })
  }
  if (!isOnlyWriter)
    for (const policy of policies) {
      const write = policy.counter.purge(fieldsOf(item, policy)!, now)
      if (write) found.push({ prefix: policy.prefix, write })
    }
  return found.length === 0 ? undefined : removed(inWrites(found)[0]!, calls, subjects, key, now, deadline)
}

async function removed(
  parts: readonly PolicyWrite[],
  calls: StoreCalls,
  subjects: Subjects,
  key: string,
  now: EpochMs,
  deadline: Deadline,
): Promise<void> {
  const write: ItemWrite = fitted({ parts, id: calls.nextId(), at: now })
  try {
    const outcome = await calls.write(key, write, deadline, 1)
    if (outcome.kind === 'applied') subjects.learn(key, itemAfter(outcome, write), now)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}
