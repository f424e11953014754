import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import type { StoreCalls } from './store-calls'
import { fitted } from './stores/expression-budget'
import { afterWrite } from './stores/memory-store'
import type { Item, ItemWrite, PolicyWrite } from './stores/store'
import type { SubjectCache } from './subject-cache'

/**
 * Keeps a subject's item small: removes expired fields, if there are enough of them. The request is decided already;
 * where this fails, the next one removes them.
 */
export async function purge(
  calls: StoreCalls,
  cache: SubjectCache,
  key: string,
  policies: readonly CompiledPolicy[],
  item: Item,
  now: EpochMs,
  deadline: Deadline,
): Promise<void> {
  const parts = policies.flatMap((policy): PolicyWrite[] => {
    const write = policy.counter.purge(fieldsOf(item, policy)!, now)
    return write ? [{ prefix: policy.prefix, write }] : []
  })
  if (parts.length === 0) return
  const write: ItemWrite = fitted({ parts, id: calls.nextId(), at: now })
  try {
    const outcome = await calls.write(key, write, deadline, 1)
    if (outcome.kind === 'applied') cache.learn(key, afterWrite(outcome.item, write), now)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}
