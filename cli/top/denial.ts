import type { EpochMs } from '../facade/values'

/** What a line of the authorizer's log says of denials; the local gateway says it in the same words. */
export interface Denial {
  readonly at: EpochMs
  /** The caller's hash; empty where nobody was identified. */
  readonly subject: string
  /** In clear, where the log may name callers. */
  readonly caller?: string
  readonly tier: string
  readonly policy: string
  readonly reason: string
  readonly route: string
  readonly api: string
  /** Denials of the same caller, tier, policy and reason that were in no line, after `since`. Routes may differ. */
  readonly before: number
  /** When the line before was written. Missing where nothing says it, as in lines of older versions. */
  readonly since?: EpochMs
}

type Entry = Readonly<Record<string, unknown>>

/** The denials of one entry of the log; `undefined` for an entry about something else. */
export function denialOf(entry: Entry, at: EpochMs): Denial | undefined {
  if (entry.event !== 'request_denied') return undefined
  const text = (field: string) => (typeof entry[field] === 'string' ? (entry[field] as string) : '')
  const caller = text('caller') || (text('ip') && `ip:${text('ip')}`)
  const { since } = entry
  return {
    at,
    subject: text('subject'),
    ...(caller !== '' && { caller }),
    tier: text('tier'),
    policy: text('policy'),
    reason: text('reason'),
    route: routeOf(text('method'), text('route')),
    api: text('api'),
    before: countIn(entry.leftOut),
    ...(Number.isSafeInteger(since) && { since: since as number }),
  }
}

/** How many requests an entry says are in no line of their callers. Entries that are not of requests count others. */
export const othersIn = ({ event, othersLeftOut }: Entry): number =>
  String(event).startsWith('request_') ? countIn(othersLeftOut) : 0

/** A pattern of the config table has its method, and a resource of API Gateway has none. */
const routeOf = (method: string, route: string): string =>
  route.includes(' ') || !route.startsWith('/') || method === '' ? route : `${method} ${route}`

const countIn = (value: unknown): number => (Number.isSafeInteger(value) && (value as number) > 0 ? Number(value) : 0)
