import { isIPv4, isIPv6 } from 'node:net'

/** A home or an office gets a /56 from its provider, so anything narrower lets one customer have thousands of buckets. */
const HOUSEHOLD = 56

/** The longest spelling of an address, with brackets, a zone and a port, is well below this. */
const LONGEST_ADDRESS = 128

/**
 * One key for each IPv4 address and for each IPv6 network, whatever the spelling: it is made of the address's bits. An IPv4 address that is
 * mapped or compatible (`::ffff:1.2.3.4`, `::1.2.3.4`) is that IPv4 address; one that only ends in a dotted quad is not. Brackets, a port
 * and a zone are ignored.
 *
 * @param ipv6Prefix bits that make a network, from 1 to 128; 0 keeps the whole address.
 * @returns `1.2.3.4`, `2001:db8:1234:5600::/56`; `undefined` for what is no address.
 */
export function clientIpKey(address: string, ipv6Prefix = HOUSEHOLD): string | undefined {
  const bare = withoutPort(address)
  if (isIPv4(bare)) return bare
  const groups = groupsOf(bare)
  if (groups === undefined) return undefined
  if (isEmbeddedIpv4(groups)) return groups.slice(6).flatMap(bytesOf).join('.')
  if (ipv6Prefix === 0) return spelled(groups)
  return `${spelled(groups.map((group, index) => group & maskOf(ipv6Prefix - 16 * index)))}/${ipv6Prefix}`
}

function withoutPort(address: string): string {
  if (address.length > LONGEST_ADDRESS) return ''
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
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return Number.parseInt(group, 16)
    const [a, b, c, d] = group.split('.').map(Number)
    return [a! * 256 + b!, c! * 256 + d!]
  })
}

/** RFC 4291 §2.5.5: 80 zeros and 16 ones, or 96 zeros. Of the latter, `::`, `::1` and the like are plain IPv6: nobody has 0.0.x.x. */
function isEmbeddedIpv4(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && (groups[5] === 0xffff || (groups[5] === 0 && groups[6] !== 0))
}

const bytesOf = (group: number): [number, number] => [group >> 8, group & 255]

/** The first `bits` of a group. */
function maskOf(bits: number): number {
  return 0xffff & (0xffff << (16 - Math.max(0, Math.min(16, bits))))
}

/** RFC 5952: the longest run of zeros, the first of equals, is `::` if it has two groups or more. */
function spelled(groups: readonly number[]): string {
  let [from, to] = [0, 1]
  for (let start = 0; start < 8; start++) {
    let end = start
    while (groups[end] === 0) end++
    if (end - start > to - from) [from, to] = [start, end]
  }
  const hex = groups.map((group) => group.toString(16))
  return to - from < 2 ? hex.join(':') : `${hex.slice(0, from).join(':')}::${hex.slice(to).join(':')}`
}
