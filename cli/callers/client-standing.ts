import type { PolicySetItem } from '../../provisioning/tiers-file'
import { splitVariant } from '../facade/policies'
import type { EpochMs } from '../facade/values'
import { entryFor, entryText, type ListEntry } from './deciding-entry'

/** What the table says of a client besides its records. */
export interface ClientStanding {
  /** The list that it is on: a block wins. */
  readonly entry?: ListEntry
  /** Its tier does not exist. Absent where it does. */
  readonly isTierGone?: true
}

export function standingOfClient(
  items: readonly PolicySetItem[],
  { id, tier }: Readonly<Record<string, unknown>>,
  now: EpochMs,
): ClientStanding {
  const entry = entryFor(items, 'block', String(id), now) ?? entryFor(items, 'allow', String(id), now)
  const hasTier = items.some(({ sk }) => splitVariant(sk)[0] === `tier#${tier}`)
  return { ...(entry && { entry }), ...(!hasTier && { isTierGone: true }) }
}

/** `blocked`, for a cell of a table. */
export const listWord = ({ list }: ListEntry): string => (list === 'block' ? 'blocked' : 'exempt')

/** `blocked by client:acme until 2026-11-30T00:00:00Z`. */
export const listText = (entry: ListEntry): string => `${listWord(entry)} by ${entryText(entry)}`
