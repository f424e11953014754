import type { CompiledPolicy } from '../compiled-policy'
import { type KnownItems, type Plan, writing } from '../plan'
import type { Item } from '../stores/store'
import { type Board, boardIn, type Report, reported } from './share-board'

/** Prefix of a board's fields; no policy can have it. */
const PREFIX = 'f0__'

export const boardOf = (item: Item | undefined): Board => boardIn(item?.policies[PREFIX])

/**
 * Adds what an instance saw in a window to what the others did. The first to do so in a window makes the share that
 * held in the last one the one before.
 *
 * @param limit units that all callers together may take in a window.
 */
export function* tell(
  items: KnownItems,
  key: string,
  policy: CompiledPolicy,
  window: number,
  report: Report,
  limit: number,
): Plan<void> {
  for (let isFirst = true; ; isFirst = false) {
    const item = items.view(key)?.item
    const board = boardOf(item)
    const write = reported(board, window, report, limit, isFirst)
    const { kind } = yield writing(items.fit([{ prefix: PREFIX, write }], [policy], item, items.now()))
    if (kind !== 'refused') return
  }
}
