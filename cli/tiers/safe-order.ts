import { inWritingOrder } from '../../provisioning/change-order'
import { MAX_ITEMS } from '../../provisioning/guarded-writes'
import type { Change, PolicySetItem } from '../../provisioning/tiers-file'
import { readPolicySet } from './read-policy-set'

/** Changes in an order in which the configuration is valid after each batch. */
export interface SafeOrder {
  readonly batches: readonly (readonly Change[])[]
  /** Those for which there is no such order. Without them the others are no whole. */
  readonly stuck: readonly Change[]
}

/**
 * Orders changes so that the configuration is valid after each batch of them: whoever reads in between, and whatever
 * the last write was, finds nothing wrong that was not wrong before.
 *
 * @param fits whether so many changes can be written at once. One always can.
 */
export function safeOrder(
  items: readonly PolicySetItem[],
  changes: readonly Change[],
  fits: (batch: readonly Change[]) => boolean = () => false,
): SafeOrder {
  const allowed = new Set(readPolicySet(items).issues.map(String))
  const now = new Map(items.map((item) => [item.sk, item]))
  const isSafe = (batch: readonly Change[]) =>
    readPolicySet([...applied(now, batch).values()]).issues.every(({ message }) => allowed.has(message))
  let left = inWritingOrder(changes)
  const batches: Change[][] = []
  while (left.length > 0) {
    const batch = longestPrefix(left, (some) => fits(some) && isSafe(some)) ?? firstAlone(left)
    if (!batch) break
    batches.push(batch)
    for (const change of batch) apply(now, change)
    const done = new Set(batch)
    left = left.filter((change) => !done.has(change))
  }
  return { batches, stuck: left }

  function firstAlone(some: readonly Change[]): Change[] | undefined {
    const first = some.find((change) => isSafe([change]))
    return first && [first]
  }
}

/** One transaction also has the record of them. */
const MAX_CHANGES = MAX_ITEMS - 1

/** Some of the first elements, as many as halving finds: two at least, else `undefined`. */
function longestPrefix<T>(all: readonly T[], holds: (some: readonly T[]) => boolean): T[] | undefined {
  for (let length = Math.min(all.length, MAX_CHANGES); length > 1; length = Math.floor(length / 2)) {
    const some = all.slice(0, length)
    if (holds(some)) return some
  }
  return undefined
}

/** The items after some changes. */
export function applied(
  items: ReadonlyMap<string, PolicySetItem>,
  changes: readonly Change[],
): Map<string, PolicySetItem> {
  const after = new Map(items)
  for (const change of changes) apply(after, change)
  return after
}

function apply(items: Map<string, PolicySetItem>, { sk, after }: Change): void {
  if (after) items.set(sk, after)
  else items.delete(sk)
}
