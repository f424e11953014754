import type { PolicySetItem } from '../../provisioning/tiers-file'
import { splitVariant } from '../facade/policies'
import type { EpochMs } from '../facade/values'
import { entryOf } from './block-entries'
import { entryFor, entryText, type ListEntry } from './deciding-entry'

/** What the table says of a client besides its records. */
export interface ClientStanding {
  /** The list that it is on: a block wins. */
  readonly entry?: ListEntry
  /** Its tier does not exist. Absent where it does. */
  readonly isTierGone?: true
}

/** Finds out of any client, from items that are read once. */
export function standingsIn(
  items: readonly PolicySetItem[],
  now: EpochMs,
): (client: Readonly<Record<string, unknown>>) => ClientStanding {
  const tiers = new Set(items.map(({ sk }) => splitVariant(sk)[0]))
  const listed = new Map<string, PolicySetItem[]>()
  for (const item of items) {
    const { who } = entryOf(item.sk) ?? {}
    if (who !== undefined) listed.set(who, [...(listed.get(who) ?? []), item])
  }
  return ({ id, tier }) => {
    const own = listed.get(`client:${id}`) ?? []
    const entry = entryFor(own, 'block', String(id), now) ?? entryFor(own, 'allow', String(id), now)
    return { ...(entry && { entry }), ...(!tiers.has(`tier#${tier}`) && { isTierGone: true }) }
  }
}

/** `blocked`, for a cell of a table. */
export const listWord = ({ list }: ListEntry): string => (list === 'block' ? 'blocked' : 'exempt')

/** `blocked by client:acme until 2026-11-30T00:00:00Z`. */
export const listText = (entry: ListEntry): string => `${listWord(entry)} by ${entryText(entry)}`
