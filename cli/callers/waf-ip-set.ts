import { UserError } from '../exit'
import { type AccessEntry, type IpRange, masked, toIpv4, toIpv6 } from '../facade/callers'

/** What `aws wafv2 create-ip-set` and `aws wafv2 update-ip-set` both take by `--cli-input-json`. */
export interface WafIpSet {
  readonly Addresses: readonly string[]
}

/** @see https://docs.aws.amazon.com/waf/latest/developerguide/limits.html addresses in CIDR notation for an IP set */
const MAX_WAF_ADDRESSES = 10_000

/**
 * The ranges that are blocked, without those in them that are allowed: an address is in one exactly if the authorizer
 * would turn it away.
 *
 * @param entries those in force.
 */
export function blockedRanges(entries: readonly AccessEntry[]): IpRange[] {
  const rangesOf = (access: AccessEntry['access']) =>
    entries.flatMap((entry) => (entry.access === access && 'range' in entry.whom ? [entry.whom.range] : []))
  const allowed = rangesOf('allow')
  return rangesOf('block').flatMap((range) =>
    without(
      range,
      allowed.filter((one) => one.bits > range.bits && holds(range, one)),
    ),
  )
}

/** A range in as few as are left of it; what is taken out is narrower. */
function without(range: IpRange, taken: readonly IpRange[]): IpRange[] {
  if (taken.length === 0) return [range]
  if (taken.some((one) => holds(one, range))) return []
  return halvesOf(range).flatMap((half) =>
    without(
      half,
      taken.filter((one) => holds(half, one) || holds(one, half)),
    ),
  )
}

function halvesOf({ first, bits }: IpRange): IpRange[] {
  const upper = first.map((group, i) => (i === bits >> 4 ? group | (0x8000 >> (bits & 15)) : group))
  return [first, upper].map((start) => ({ first: start, bits: bits + 1 }))
}

const holds = (outer: IpRange, inner: IpRange): boolean =>
  inner.bits >= outer.bits && masked(inner.first, outer.bits).join() === outer.first.join()

/** Mapped IPv4 addresses have 96 bits before their own. */
export const isIpv4 = ({ first, bits }: IpRange): boolean => bits >= 96 && toIpv4(first) !== undefined

/** `203.0.113.7/32`, `2001:db8::/32`. */
const cidr = (range: IpRange): string =>
  isIpv4(range) ? `${toIpv4(range.first)}/${range.bits - 96}` : `${toIpv6(range.first)}/${range.bits}`

/**
 * Ranges of one version in CIDR notation, each once, and none that another one holds.
 *
 * @throws UserError for more than an IP set takes, and for all addresses there are, which AWS WAF takes in none.
 */
export function toWafIpSet(ranges: readonly IpRange[], version: 4 | 6): WafIpSet {
  const those = ranges.filter((range) => isIpv4(range) === (version === 4)).sort((a, b) => a.bits - b.bits)
  const all = those.find(({ bits }) => bits === (version === 4 ? 96 : 0))
  if (all) throw new UserError(`an IP set of AWS WAF cannot hold the range of all addresses, got ${cidr(all)}`)
  const kept = new Set<string>()
  const lengths = new Set<number>()
  for (const range of those) {
    // it, or one around it
    if ([...lengths].some((bits) => kept.has(cidr({ first: masked(range.first, bits), bits })))) continue
    kept.add(cidr(range))
    lengths.add(range.bits)
  }
  if (kept.size > MAX_WAF_ADDRESSES) {
    const advice = 'block networks instead of addresses, or lower --top'
    throw new UserError(`an IP set of AWS WAF holds at most ${MAX_WAF_ADDRESSES} ranges, got ${kept.size}: ${advice}`)
  }
  return { Addresses: [...kept] }
}
