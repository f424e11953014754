import type { EpochMs } from '../../../limiter/clock'
import { type Mistake, printed } from '../../../limiter/errors'
import { checkFields, type FieldRules, type Place, report, TEXT } from '../../../limiter/policies/report'
import { type IpAddress, type IpRange, masked, parseIpRange } from '../../ip-address'
import { DATE } from './client-item'

/** Blocked callers are denied before anything is counted; allowed ones pass uncounted. */
export type Access = 'block' | 'allow'

/** A client, an address or a range of addresses that is blocked or allowed. */
export interface AccessEntry {
  readonly access: Access
  readonly whom: { readonly client: string } | { readonly range: IpRange }
  /** From when on it is no longer in force. */
  readonly expiresAt: EpochMs
}

/** The fields of an entry's item. */
export const ACCESS_FIELDS = {
  note: TEXT,
  expiresAt: DATE,
} as const satisfies FieldRules

/**
 * The entry of an item, whose sort key says what it is: `block#ip#203.0.113.0/24`, `allow#client#acme`.
 *
 * @param words the sort key behind its access, `ip#203.0.113.0/24`.
 */
export function parseAccess(
  access: Access,
  words: string,
  input: unknown,
  place: Place,
  issues: Mistake[],
): AccessEntry | undefined {
  const before = issues.length
  const [kind = '', ...rest] = words.split('#')
  const whom = toWhom(kind, rest.join('#'), place, issues)
  const fields = checkFields(input, ACCESS_FIELDS, `a ${access} entry`, place, issues)
  if (issues.length > before || !whom) return undefined
  const until = fields?.expiresAt as string | undefined
  return { access, whom, expiresAt: until === undefined ? Infinity : Date.parse(until) }
}

/**
 * A block stays in force although its item is invalid: for the whole range where bits are set behind its prefix, and
 * without an end.
 */
export function strictBlock(words: string): AccessEntry | undefined {
  const [kind = '', ...rest] = words.split('#')
  const value = rest.join('#')
  const range = kind === 'ip' ? parseIpRange(value, { mask: true }) : undefined
  const whom =
    kind === 'client' && value !== '' ? { client: value } : range && !('wrong' in range) ? { range } : undefined
  return whom && { access: 'block', whom, expiresAt: Infinity }
}

function toWhom(kind: string, value: string, place: Place, issues: Mistake[]): AccessEntry['whom'] | undefined {
  if (kind === 'client' && value !== '') return { client: value }
  if (kind !== 'ip')
    return void report(
      issues,
      'invalid_access_entry',
      `sk must name "ip#…" or "client#…" behind its first "#", got ${printed(kind)}`,
      place,
    )
  const range = parseIpRange(value)
  if ('wrong' in range)
    return void report(issues, 'invalid_access_entry', `ip ${range.wrong}, got ${printed(value)}`, place)
  return { range }
}

/**
 * Who is blocked and who passes uncounted. Of several ranges that contain an address the narrowest decides, and a block
 * wins over an allowance of the same width; so one address in a blocked network can be allowed. A look-up takes one
 * step for each prefix length in use.
 */
export class AccessList {
  private readonly byClient = new Map<string, AccessEntry>()
  /** The narrowest first. */
  private readonly byPrefix: (readonly [bits: number, ranges: ReadonlyMap<string, readonly AccessEntry[]>])[]

  constructor(entries: readonly AccessEntry[]) {
    const prefixes = new Map<number, Map<string, AccessEntry[]>>()
    for (const entry of [...entries].sort(blocksFirst)) {
      const { whom } = entry
      if ('client' in whom) {
        const id = `${entry.access} ${whom.client}`
        this.byClient.set(id, entry)
        continue
      }
      const ranges = prefixes.get(whom.range.bits) ?? new Map<string, AccessEntry[]>()
      prefixes.set(whom.range.bits, ranges)
      const first = whom.range.first.join()
      ranges.set(first, [...(ranges.get(first) ?? []), entry])
    }
    this.byPrefix = [...prefixes].sort(([a], [b]) => b - a)
  }

  /** What holds for an address; `undefined` when nothing is said about it. */
  ofAddress(address: IpAddress | undefined, now: EpochMs): Access | undefined {
    if (!address) return undefined
    for (const [bits, ranges] of this.byPrefix) {
      const entry = ranges.get(masked(address, bits).join())?.find(({ expiresAt }) => now < expiresAt)
      if (entry) return entry.access
    }
    return undefined
  }

  /** What holds for a client; `undefined` when nothing is said about it. */
  ofClient(id: string, now: EpochMs): Access | undefined {
    const access = (['block', 'allow'] as const).find(
      (one) => now < (this.byClient.get(`${one} ${id}`)?.expiresAt ?? -Infinity),
    )
    return access
  }
}

const blocksFirst = (a: AccessEntry, b: AccessEntry): number =>
  Number(b.access === 'block') - Number(a.access === 'block')
