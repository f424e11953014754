import { addressKey, type IpAddress, type IpRange, printedRange, toIpv4 } from '../facade/callers'
import type { Settings } from '../facade/policies'

/** As many addresses as a /16 network of IPv4 has: about a second of hashing under each secret. */
export const MAX_ADDRESSES = 65_536

/** The bits of an IPv6 address that tell callers apart, as the settings say, else the function's environment. */
export const ipv6PrefixIn = ({ identity }: Settings, otherwise: number): number =>
  identity.find((one) => one.source === 'ip')?.ipv6Prefix ?? otherwise

/**
 * The subjects as which the addresses of these ranges are counted, `ip:203.0.113.7` or `ip:2001:db8:1:200::/56`.
 *
 * @returns `tooLarge`: ranges that did not fit into `MAX_ADDRESSES` any more, in words.
 */
export function addressNames(
  ranges: readonly IpRange[],
  ipv6Prefix: number,
): { readonly names: readonly string[]; readonly tooLarge: readonly string[] } {
  const names = new Set<string>()
  const tooLarge: string[] = []
  let left = MAX_ADDRESSES
  for (const range of [...ranges].sort((a, b) => b.bits - a.bits)) {
    const bits = bitsCounted(range, ipv6Prefix)
    const count = 2 ** Math.max(0, bits - range.bits)
    if (count > left) {
      tooLarge.push(printedRange(range))
      continue
    }
    left -= count
    for (let i = 0n; i < count; i++)
      names.add(`ip:${addressKey(plus(range.first, i << BigInt(128 - bits)), ipv6Prefix)}`)
  }
  return { names: [...names], tooLarge }
}

/** How many bits of an address of this range make a subject. */
const bitsCounted = ({ first, bits }: IpRange, ipv6Prefix: number): number =>
  (bits >= 96 && toIpv4(first) !== undefined) || ipv6Prefix === 0 ? 128 : ipv6Prefix

function plus(address: IpAddress, offset: bigint): IpAddress {
  const sum = address.reduce((all, group) => (all << 16n) | BigInt(group), 0n) + offset
  return address.map((_, i) => Number((sum >> BigInt(112 - 16 * i)) & 0xffffn))
}
