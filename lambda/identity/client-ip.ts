import { type IpAddress, masked, parseIpAddress, toIpv4, toIpv6 } from '../ip-address'
import type { RequestFacts } from './source'

/**
 * A home or an office gets a /56 from its provider, so anything narrower lets one customer have thousands of buckets.
 */
const HOUSEHOLD = 56

/**
 * One key for each IPv4 address and for each IPv6 network, whatever the spelling: it is made of the address's bits.
 *
 * @param ipv6Prefix bits that make a network, from 1 to 128; 0 keeps the whole address.
 * @returns `1.2.3.4`, `2001:db8:1234:5600::/56`; `undefined` for what is no address.
 */
export function clientIpKey(text: string, ipv6Prefix = HOUSEHOLD): string | undefined {
  const address = parseIpAddress(text)
  return address && addressKey(address, ipv6Prefix)
}

/** The same for an address that has been read already. */
export function addressKey(address: IpAddress, ipv6Prefix = HOUSEHOLD): string {
  const ipv4 = toIpv4(address)
  if (ipv4 !== undefined) return ipv4
  return ipv6Prefix === 0 ? toIpv6(address) : `${toIpv6(masked(address, ipv6Prefix))}/${ipv6Prefix}`
}

export interface AddressRules {
  /** Entries at the right end of `X-Forwarded-For` that trusted machines have added behind the caller's. */
  readonly trustedHops: number
  /** Whether CloudFront, and nothing else, is in front, so that `CloudFront-Viewer-Address` is the caller. */
  readonly viewerAddress: boolean
}

/**
 * The caller's address: the TCP peer, unless the operator has declared what stands in front of the API. Entries of
 * `X-Forwarded-For` are counted from the right, since anybody can send some of his own at the left. Where what was
 * declared is not there, the peer is the caller.
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

/** The header has the port behind the last colon, of IPv6 addresses too, and those without brackets. */
function viewerAddress(header: string | undefined): string | undefined {
  const [, address] = /^(.+):\d{1,5}$/.exec(header?.trim() ?? '') ?? []
  return address
}
