import { purgeHolds } from './algorithms/holds'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { ignoreUnavailable } from './errors'
import type { KnownItems, Plan } from './plan'
import { fitted, inWrites } from './stores/expression-budget'
import type { Item, PolicyWrite } from './stores/store'

/**
 * Keeps a subject's item small: removes expired fields, if there are enough of them, and what requests held long ago,
 * whichever policies this one has. The request is decided already; where this fails, the next one removes them.
 *
 * @param isOnlyWriter whether nobody else writes to the item: what this process charges is purged as it is written.
 * @default false
 * @returns `undefined` where there is nothing to remove.
 */
export function purge(
  items: KnownItems,
  policies: readonly CompiledPolicy[],
  item: Item,
  now: EpochMs,
  isOnlyWriter = false,
): Plan<void> | undefined {
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
  return found.length === 0 ? undefined : removed(items, inWrites(found)[0]!, now)
}

function* removed(items: KnownItems, parts: readonly PolicyWrite[], now: EpochMs): Plan<void> {
  try {
    yield { kind: 'write', write: fitted({ parts, id: items.nextId(), at: now }), isTidying: true }
  } catch (error) {
    ignoreUnavailable(error)
  }
}
