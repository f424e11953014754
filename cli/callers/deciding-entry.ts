import type { PolicySetItem } from '../../provisioning/tiers-file'
import { AccessList, type IpAddress } from '../facade/callers'
import { knownIn, type TraceWith } from '../facade/decisions'
import { type EpochMs, printed } from '../facade/values'
import { accessOf } from '../tiers/read-policy-set'
import { entryOf, type ListKind } from './block-entries'

/** An entry of a list, as `block list` shows it. */
export interface ListEntry {
  readonly list: ListKind
  readonly who: string
  /** ISO 8601. Absent where it has no end. */
  readonly expiresAt?: string
  readonly note?: string
}

/** The entry because of which a request is blocked or exempt; `undefined` where no list decides about it. */
export function decidingEntry(
  items: readonly PolicySetItem[],
  trace: Pick<TraceWith<'outcome'>, 'now' | 'event' | 'ip' | 'identity' | 'outcome'>,
): ListEntry | undefined {
  const { ip, now, outcome } = trace
  const list = outcome.reason === 'blocked' ? 'block' : outcome.reason === 'exempt' ? 'allow' : undefined
  const client = knownIn(trace)?.client?.id
  return list && ((client && entryFor(items, list, client, now)) || entryFor(items, list, ip, now))
}

/**
 * The entry of a list that holds for an address, or for a client's id: of several networks the narrowest. Each item is
 * read as the authorizer does, so that a block with a mistake is found as well.
 */
export function entryFor(
  items: readonly PolicySetItem[],
  list: ListKind,
  whom: IpAddress | string | undefined,
  now: EpochMs,
): ListEntry | undefined {
  let found: { readonly entry: ListEntry; readonly bits: number } | undefined
  for (const item of items) {
    const { who, list: kind } = entryOf(item.sk) ?? {}
    if (who === undefined || kind !== list) continue
    const access = accessOf(item)
    if (!access) continue
    const alone = new AccessList([access])
    if ((typeof whom === 'string' ? alone.ofClient(whom, now) : alone.ofAddress(whom, now)) !== list) continue
    const bits = 'range' in access.whom ? access.whom.range.bits : 0
    if (found && found.bits >= bits) continue
    const { expiresAt, note } = item
    const ends = access.expiresAt < Infinity && typeof expiresAt === 'string'
    found = {
      entry: { list, who, ...(ends && { expiresAt }), ...(typeof note === 'string' && note && { note }) },
      bits,
    }
  }
  return found?.entry
}

/** `ip:203.0.113.0/24 until 2026-11-30T00:00:00Z, note "scraper"`. */
export function entryText({ who, expiresAt, note }: ListEntry): string {
  const end = expiresAt === undefined ? 'without an end' : `until ${expiresAt}`
  return `${who} ${end}${note === undefined ? '' : `, note ${printed(note)}`}`
}
