import { isIPv4 } from 'node:net'
import { UserError } from '../exit'
import { type IpAddress, type IpRange, masked, parseIpAddress, parseIpRange, toIpv4, toIpv6 } from '../facade/callers'
import { CONFIG_TABLE } from '../facade/tables'
import { printed } from '../facade/values'

export type ListKind = 'block' | 'allow'

/** The key of an entry of a list, in one spelling of its address or client. */
export interface EntryKey {
  readonly pk: string
  readonly sk: string
}

/**
 * Reads `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`, `ip:…`, `client:acme`; what is neither an address nor has a
 * prefix is a client's id.
 *
 * Addresses are spelled in one way. A network is named by its first address: by any other it is not guessed which of
 * the two is meant.
 */
export function entryKey(list: ListKind, text: string): EntryKey {
  const [, kind, rest = ''] = /^(ip|client):(.*)$/s.exec(text) ?? []
  const who = kind === undefined ? text : rest
  const network = kind === 'client' ? undefined : networkOf(who)
  if (network !== undefined) return { pk: CONFIG_TABLE.policySet, sk: `${list}#ip#${network}` }
  if (kind === 'ip' || (kind === undefined && /\/|^[\d.]+$|^[\da-f]*:[\da-f:]*$/i.test(who))) {
    throw new UserError(wrongAddress(who))
  }
  if (who === '' || who.length > 256)
    throw new UserError(`a client's id must be a string of 1 to 256 characters, got ${printed(who)}`)
  return { pk: CONFIG_TABLE.policySet, sk: `${list}#client#${who}` }
}

/** `{ list: 'block', who: 'ip:203.0.113.7' }` of a sort key; `undefined` when it is not an entry's. */
export function entryOf(sk: string): { readonly list: ListKind; readonly who: string } | undefined {
  const [, list, kind, who] = /^(block|allow)#(ip|client)#(.+)$/s.exec(sk) ?? []
  return who === undefined ? undefined : { list: list as ListKind, who: `${kind}:${who}` }
}

/** Reads an address or a network, for an option. @throws UserError with what is wrong. */
export function rangeOf(text: string): IpRange {
  const network = networkOf(text.replace(/^ip:/, ''))
  const range = parseIpRange(network ?? '')
  if ('wrong' in range) throw new UserError(wrongAddress(text))
  return range
}

const wrongAddress = (text: string): string =>
  `an address must look like 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32, got ${printed(text)}`

function networkOf(text: string): string | undefined {
  const [, written = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? []
  const address = parseIpAddress(written)
  if (!address || digits === undefined) return address && spelled(address)
  // A mapped address has 96 bits more than the IPv4 address that it is; whoever writes a network means one or the
  // other, so it is not guessed.
  if (toIpv4(address) !== undefined && !isIPv4(written)) return undefined
  const [bits, outside] = [Number(digits), isIPv4(written) ? 96 : 0]
  if (bits === 0) throw new UserError(`${printed(text)} covers every address, which an entry cannot do`)
  if (bits + outside > 128) return undefined
  const [network, given] = [spelled(masked(address, bits + outside)), spelled(address)]
  if (network !== given)
    throw new UserError(
      `${given}/${bits} is not a network: use ${network}/${bits} for the network, or ${given} for one address`,
    )
  return `${network}/${bits}`
}

const spelled = (address: IpAddress): string => toIpv4(address) ?? toIpv6(address)
