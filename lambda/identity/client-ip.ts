import { type IpAddress, masked, parseIpAddress, toIpv4, toIpv6 } from '../ip-address'
import type { RequestFacts } from './source'

/** Providers assign a /56 to a home or an office, so a narrower prefix gives one customer thousands of buckets. */
const HOUSEHOLD = 56

/**
 * One key for each IPv4 address and for each IPv6 network, whatever the spelling: it is made of the address's bits.
 *
 * @param ipv6Prefix bits that identify a network, from 1 to 128; 0 keeps the whole address.
 * @returns `1.2.3.4`, `2001:db8:1234:5600::/56`; `undefined` for an invalid address.
 */
export function clientIpKey(text: string, ipv6Prefix = HOUSEHOLD): string | undefined {
  const address = parseIpAddress(text)
  return address && addressKey(address, ipv6Prefix)
}

/** The same for an address that is parsed already. */
export function addressKey(address: IpAddress, ipv6Prefix = HOUSEHOLD): string {
  const ipv4 = toIpv4(address)
  if (ipv4 !== undefined) return ipv4
  return ipv6Prefix === 0 ? toIpv6(address) : `${toIpv6(masked(address, ipv6Prefix))}/${ipv6Prefix}`
}

export interface AddressRules {
  /** Entries at the right end of `X-Forwarded-For` that trusted proxies have added after the caller's address. */
  readonly trustedHops: number
  /** Whether CloudFront, and nothing else, is in front, so that `CloudFront-Viewer-Address` is the caller. */
  readonly viewerAddress: boolean
}

/**
 * The caller's address: the TCP peer, unless the operator has declared what stands in front of the API. Entries of
 * `X-Forwarded-For` are counted from the right, since a client can send entries of its own at the left. Where the
 * declared header or entry is missing, the peer is the caller.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/adding-cloudfront-headers.html
 */
export function addressOf(
  { headers, sourceIp }: Pick<RequestFacts, 'headers' | 'sourceIp'>,
  rules: AddressRules,
): IpAddress | undefined {
  const declared = [
    rules.viewerAddress ? viewerAddress(headers.get('cloudfront-viewer-address')) : undefined,
    rules.trustedHops > 0
      ? headers
          .get('x-forwarded-for')
          ?.split(',')
          .at(-1 - rules.trustedHops)
      : undefined,
  ]
  for (const text of [...declared, sourceIp]) {
    const address = text === undefined ? undefined : parseIpAddress(text)
    if (address) return address
  }
  return undefined
}

/** The port follows the last colon of the header, for IPv6 addresses as well, with or without brackets. */
function viewerAddress(header: string | undefined): string | undefined {
  const [, address] = /^(.+):\d{1,5}$/.exec(header?.trim() ?? '') ?? []
  return address
}
