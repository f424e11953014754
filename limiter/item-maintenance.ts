import { purgeHolds } from './algorithms/holds'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import type { StoreCalls } from './store-calls'
import { fitted, inWrites } from './stores/expression-budget'
import { afterWrite } from './stores/memory-store'
import type { Item, ItemWrite, PolicyWrite } from './stores/store'
import type { SubjectCache } from './subject-cache'

/**
 * Keeps a subject's item small: removes expired fields, if there are enough of them, and what requests held long ago,
 * whichever policies this one has. The request is decided already; where this fails, the next one removes them.
 *
 * @param isOnlyWriter whether nobody else writes to the item: what this process charges is purged as it is written.
 * @default false
 */
export async function purge(
  calls: StoreCalls,
  cache: SubjectCache,
  key: string,
  policies: readonly CompiledPolicy[],
  item: Item,
  now: EpochMs,
  deadline: Deadline,
  isOnlyWriter = false,
): Promise<void> {
  const ofPolicies = isOnlyWriter
    ? []
    : policies.flatMap((policy): PolicyWrite[] => {
        const write = policy.counter.purge(fieldsOf(item, policy)!, now)
        return write ? [{ prefix: policy.prefix, write }] : []
      })
  const held = Object.entries(item.policies).flatMap(([prefix, fields]): PolicyWrite[] => {
    const write = purgeHolds(fields, now)
    return write ? [{ prefix, write }] : []
  })
  const [parts = []] = inWrites([...held, ...ofPolicies])
  if (parts.length === 0) return
  const write: ItemWrite = fitted({ parts, id: calls.nextId(), at: now })
  try {
    const outcome = await calls.write(key, write, deadline, 1)
    if (outcome.kind === 'applied') cache.learn(key, afterWrite(outcome.item, write), now)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}
