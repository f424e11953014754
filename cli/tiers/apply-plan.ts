import {
  type Change,
  contentHash,
  diff,
  isInFile,
  itemsOf,
  type PolicySetItem,
  type TiersFile,
} from '../../provisioning/tiers-file'
import type { PolicySet, SourceSettings } from '../facade/policies'
import type { Mistake } from '../facade/values'
import { readPolicySet } from './read-policy-set'
import { applied } from './safe-order'

/** What applying a file to a table would do. */
export interface ApplyPlan {
  /** To be written, by sort key. */
  readonly changes: readonly Change[]
  /** Sort keys that only the table has, and that stay. */
  readonly kept: readonly string[]
  /** Sort keys to be written that somebody has edited, made or deleted since the file was exported. */
  readonly conflicts: readonly string[]
  /** What would be wrong with the table afterwards and is not now. */
  readonly issues: readonly Mistake[]
  /** Who is asked afterwards who a caller is. */
  readonly identity: readonly SourceSettings[]
  /** As the table has it now, and as it will be. */
  readonly policies: { readonly before: PolicySet; readonly after: PolicySet }
}

/**
 * Works out what makes the table's items those of the file.
 *
 * @param items all of the partition `policy-set`.
 * @param prune whether an item that only the table has is removed, by its sort key.
 */
export function planApply(
  items: readonly PolicySetItem[],
  file: TiersFile,
  prune: boolean | ((sk: string) => boolean),
): ApplyPlan {
  const leaves = typeof prune === 'boolean' ? () => prune : prune
  const held = items.filter(isInFile)
  const all = diff(held, itemsOf(file))
  const isKept = ({ sk, kind }: Change) => kind === 'remove' && !leaves(sk)
  const changes = all.filter((change) => !isKept(change))
  const now = readPolicySet(items)
  const wrong = new Set(now.issues.map(String))
  const after = applied(new Map(items.map((item) => [item.sk, item])), changes)
  const read = readPolicySet([...after.values()])
  return {
    changes,
    kept: all.filter(isKept).map(({ sk }) => sk),
    conflicts: file.exported ? changes.filter((change) => isConflict(change, file.exported!)).map(({ sk }) => sk) : [],
    issues: read.issues.filter(({ message }) => !wrong.has(message)),
    identity: read.configuration.policies.settings.identity,
    policies: { before: now.configuration.policies, after: read.configuration.policies },
  }
}

/**
 * What the file's `exported` shall say once some changes are written: what the table then holds of what the file does.
 *
 * @param items of the table, before the changes.
 */
export function exportedAfter(
  file: TiersFile,
  items: readonly PolicySetItem[],
  done: readonly Change[],
): Record<string, string> {
  const table = applied(new Map(items.map((item) => [item.sk, item])), done)
  const exported = new Map(Object.entries(file.exported ?? {}))
  for (const item of itemsOf(file)) {
    const stored = table.get(item.sk)
    const hash = contentHash(item)
    if (stored && contentHash(stored) === hash) exported.set(item.sk, hash)
  }
  for (const { sk, after } of done) if (!after) exported.delete(sk)
  return Object.fromEntries([...exported].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function isConflict({ sk, before }: Change, exported: Readonly<Record<string, string>>): boolean {
  return (before && contentHash(before)) !== (Object.hasOwn(exported, sk) ? exported[sk] : undefined)
}
