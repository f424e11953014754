import { contentHash, fileOf, isInFile, type PolicySetItem, type TiersFile } from '../../provisioning/tiers-file'
import { CONFIG_TABLE } from '../facade/tables'
import type { RecordedChange } from './history'

/** What undoing a change would do. */
export interface RollbackPlan {
  /** The tiers as they would be. */
  readonly file: TiersFile
  /** Sort keys that somebody has changed since, and that this would change back. */
  readonly edited: readonly string[]
  /** Sort keys whose former fields are not in the record, since they were too large. */
  readonly cut: readonly string[]
  /** What else the change was about, such as clients, which is left as it is. */
  readonly left: readonly string[]
}

/** @param items all of the partition `policy-set`. */
export function planRollback({ entries }: RecordedChange, items: readonly PolicySetItem[]): RollbackPlan {
  const after = new Map(items.map((item) => [item.sk, item]))
  const hashes = new Map(items.map((item) => [item.sk, contentHash(item)]))
  const [edited, cut, left] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const isTiers = (sk: string | undefined): sk is string => sk !== undefined && isInFile({ sk })
  for (const { item } of entries) if (!isTiers(item)) left.add(item ?? 'an erased person')
  for (const sk of new Set(entries.map(({ item }) => item).filter(isTiers))) {
    const own = entries.filter(({ item }) => item === sk)
    const [first, last] = [own[0]!, own.at(-1)!]
    if (hashes.get(sk) === first.was) continue
    if (hashes.get(sk) !== last.is) edited.add(sk)
    if (first.was === undefined) after.delete(sk)
    else if (first.before) after.set(sk, { ...first.before, pk: CONFIG_TABLE.policySet, sk })
    else cut.add(sk)
  }
  return { file: fileOf([...after.values()]), edited: [...edited], cut: [...cut], left: [...left] }
}
