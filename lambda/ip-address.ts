import { isIPv4, isIPv6 } from 'node:net'

/** An IPv6 address, or an IPv4 address as the IPv6 address it is mapped to: eight groups of 16 bits. */
export type IpAddress = readonly number[]

/** The addresses that share their first bits. */
export interface IpRange {
  /** The first of them. */
  readonly first: IpAddress
  /** How many bits they share, 0 to 128; an IPv4 prefix plus 96. */
  readonly bits: number
}

const IPV4_MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0xffff]

/** The longest spelling of an address, with brackets, a zone and a port, is well below this. */
const MAX_ADDRESS_LENGTH = 128

/**
 * Parses an address in any spelling; brackets, a port and a zone are ignored. A mapped or compatible IPv4 address
 * (`::ffff:1.2.3.4`, `::1.2.3.4`) is that IPv4 address; one that only ends in a dotted quad is not.
 *
 * @returns `undefined` for an invalid address.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  const bare = withoutPort(text)
  if (isIPv4(bare)) return [...IPV4_MAPPED, ...dottedQuad(bare)]
  const groups = groupsOf(bare)
  return groups && isEmbeddedIpv4(groups) ? [...IPV4_MAPPED, ...groups.slice(6)] : groups
}

/** The dotted quad of an address that is IPv4. */
export function toIpv4(address: IpAddress): string | undefined {
  return IPV4_MAPPED.every((group, i) => address[i] === group) ? address.slice(6).flatMap(bytesOf).join('.') : undefined
}

/** RFC 5952: the longest run of zeros, the first of equals, is `::` if it has two groups or more. */
export function toIpv6(address: IpAddress): string {
  let [from, to] = [0, 1]
  for (let start = 0; start < 8; start++) {
    let end = start
    while (address[end] === 0) end++
    if (end - start > to - from) [from, to] = [start, end]
  }
  const hex = address.map((group) => group.toString(16))
  return to - from < 2 ? hex.join(':') : `${hex.slice(0, from).join(':')}::${hex.slice(to).join(':')}`
}

/** The address with all but its first bits zero. */
export const masked = (address: IpAddress, bits: number): IpAddress =>
  address.map((group, i) => group & maskOf(bits - 16 * i))

/**
 * Parses an address, or a range in CIDR notation: `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`.
 *
 * @returns a sentence about what is invalid, when the text is neither, or has bits set after its prefix, which leaves
 * open whether the address or the range was meant.
 * @param options `mask`: bits behind the prefix are ignored.
 */
export function parseIpRange(text: string, { mask = false } = {}): IpRange | { readonly wrong: string } {
  const [, written = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = isIPv4(written) || isIPv6(written) ? parseIpAddress(written) : undefined
  if (!address) return { wrong: 'must be an IP address or a range such as "203.0.113.0/24" or "2001:db8::/32"' }
  const outside = isIPv4(written) ? 96 : 0
  const bits = prefix === undefined ? 128 : Number(prefix) + outside
  if (bits > 128) return { wrong: `prefix must be from 0 to ${128 - outside}` }
  const first = masked(address, bits)
  if (!mask && first.some((group, i) => group !== address[i])) {
    const range = `${outside ? toIpv4(first) : toIpv6(first)}/${bits - outside}`
    return { wrong: `has bits set after its prefix, the range is ${range}` }
  }
  return { first, bits }
}

/** A range in its canonical spelling. */
export function printedRange({ first, bits }: IpRange): string {
  const ipv4 = bits >= 96 ? toIpv4(first) : undefined
  const address = ipv4 ?? toIpv6(first)
  return bits === 128 ? address : `${address}/${ipv4 === undefined ? bits : bits - 96}`
}

function withoutPort(address: string): string {
  if (address.length > MAX_ADDRESS_LENGTH) return ''
  const bare = address.trim()
  const [, bracketed, dotted] = /^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(bare) ?? []
  return bracketed ?? dotted ?? bare
}

/** The eight groups of 16 bits of an IPv6 address. */
function groupsOf(address: string): number[] | undefined {
  const bare = address.split('%', 1)[0]!
  if (!isIPv6(bare)) return undefined
  const [head, tail] = bare.split('::').map(parsed)
  if (tail === undefined) return head
  return [...head!, ...Array<number>(8 - head!.length - tail.length).fill(0), ...tail]
}

/** Groups of one side of `::`; a dotted quad is two of them. */
function parsed(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => (group.includes('.') ? dottedQuad(group) : Number.parseInt(group, 16)))
}

function dottedQuad(text: string): number[] {
  const [a, b, c, d] = text.split('.').map(Number)
  return [a! * 256 + b!, c! * 256 + d!]
}

/**
 * RFC 4291 §2.5.5: 80 zeros and 16 ones, or 96 zeros. Of the latter, `::`, `::1` and the like are plain IPv6: 0.0.x.x
 * is not assigned to anybody.
 */
function isEmbeddedIpv4(groups: readonly number[]): boolean {
  return (
    groups.slice(0, 5).every((group) => group === 0) && (groups[5] === 0xffff || (groups[5] === 0 && groups[6] !== 0))
  )
}

const bytesOf = (group: number): [number, number] => [group >> 8, group & 255]

/** The first `bits` of a group. */
function maskOf(bits: number): number {
  return 0xffff & (0xffff << (16 - Math.max(0, Math.min(16, bits))))
}
