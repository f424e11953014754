import { type IpAddress, parseIpAddress } from '../facade/callers'

/** What lines of the authorizer's log say of who was denied. */
export interface DenialsInLog {
  /** Of each address, the most first. */
  readonly addresses: readonly { readonly address: IpAddress; readonly denials: number }[]
  /** Lines about denials that have no address. */
  readonly withoutAddress: number
}

/** Denials that the caller caused: not those caused by a missing table or an issuer's missing keys. */
const REASONS: readonly unknown[] = ['over-limit', 'blocked', 'unauthorized', 'malformed']

/** Counts denials by address, those that were left out of the log, too, as far as a later line tells of them. */
export function denialsInLog(text: string): DenialsInLog {
  const counts = new Map<string, number>()
  let withoutAddress = 0
  for (const line of text.split('\n')) {
    const { event, reason, ip, leftOut } = entryIn(line)
    if (event !== 'request_denied' || !REASONS.includes(reason)) continue
    if (typeof ip !== 'string' || !parseIpAddress(ip)) withoutAddress++
    else
      counts.set(ip, (counts.get(ip) ?? 0) + 1 + (Number.isSafeInteger(leftOut) ? Math.max(0, leftOut as number) : 0))
  }
  const addresses = [...counts].map(([ip, denials]) => ({ address: parseIpAddress(ip)!, denials }))
  return { addresses: addresses.sort((a, b) => b.denials - a.denials), withoutAddress }
}

/** A line as the function wrote it, or behind what `aws logs tail` puts before it; without fields where it is none. */
export function entryIn(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line.slice(line.indexOf('{'))) ?? {}
  } catch {
    return {}
  }
}
