import { isIPv4 } from 'node:net'
import { printed } from '../lambda/errors'
import { clientIpKey } from '../lambda/identity/client-ip'
import { CONFIG_TABLE } from '../lambda/tiers/config-items'
import { UserError } from './exit'

export type ListKind = 'block' | 'allow'

/** The key of an entry of a list, in one spelling of its address or client. */
export interface EntryKey {
  readonly pk: string
  readonly sk: string
}

/**
 * Reads `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`, `ip:…`, `client:acme`; what is neither an address nor has a prefix is a client's id.
 *
 * Addresses are spelled in one way, and a network by its first address.
 */
export function entryKey(list: ListKind, text: string): EntryKey {
  const [, kind, rest = ''] = /^(ip|client):(.*)$/s.exec(text) ?? []
  const who = kind === undefined ? text : rest
  const network = kind === 'client' ? undefined : networkOf(who)
  if (network !== undefined) return { pk: CONFIG_TABLE.policySet, sk: `${list}#ip#${network}` }
  if (kind === 'ip' || (kind === undefined && /\/|^[\d.]+$|^[\da-f]*:[\da-f:]*$/i.test(who))) {
    throw new UserError(`an address must be such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32, got ${printed(who)}`)
  }
  if (who === '' || who.length > 256) throw new UserError(`a client's id must be a text of 1 to 256 characters, got ${printed(who)}`)
  return { pk: CONFIG_TABLE.policySet, sk: `${list}#client#${who}` }
}

/** `{ list: 'block', who: 'ip:203.0.113.7' }` of a sort key; `undefined` when it is not an entry's. */
export function entryOf(sk: string): { readonly list: ListKind; readonly who: string } | undefined {
  const [, list, kind, who] = /^(block|allow)#(ip|client)#(.+)$/s.exec(sk) ?? []
  return who === undefined ? undefined : { list: list as ListKind, who: `${kind}:${who}` }
}

function networkOf(text: string): string | undefined {
  const [, address = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? []
  const whole = clientIpKey(address, 0)
  if (whole === undefined || digits === undefined) return whole
  const bits = Number(digits)
  // A mapped address has 96 bits more than the IPv4 address that it is; whoever writes a network means one or the other, so it is not guessed.
  if (isIPv4(whole)) return isIPv4(address) && bits >= 1 && bits <= 32 ? ipv4Network(whole, bits) : undefined
  return bits >= 1 && bits <= 128 ? clientIpKey(address, bits) : undefined
}

function ipv4Network(address: string, bits: number): string {
  const number = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0)
  const first = number - (number % 2 ** (32 - bits))
  return `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')}/${bits}`
}
