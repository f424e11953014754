import { randomUUID } from 'node:crypto'
import { type GatewayResponse, jsonResponse } from './api'
import type { Decided } from './decided'

/** A denial in the shape of a line of the authorizer's log, and when it was. */
interface Denial {
  readonly at: number
  readonly event: 'request_denied'
  readonly [field: string]: unknown
}

/** The maximum of denials kept: a reader that polls each second misses none below ten thousand a second. */
const MAX_DENIALS = 10_000

/** The last denials of a gateway, numbered from 0, without those of an earlier gateway. */
export class RecentDenials {
  private readonly gateway = randomUUID()
  private readonly startedAt = Date.now()
  private readonly kept: Denial[] = []
  private count = 0

  /** Keeps a decision if it is a denial. A status of 5xx is a failure of the authorizer, not a denial. */
  add({ method, route, status, context }: Decided): void {
    const isDenied = context === undefined ? status === 401 || status === 403 : String(context.allowed) === 'false'
    if (!isDenied || route === undefined) return
    const text = (field: string) => String(context?.[field] ?? '')
    const number = (field: string) => Number(context?.[field] ?? 0)
    this.kept[this.count++ % MAX_DENIALS] = {
      at: Date.now(),
      event: 'request_denied',
      reason: context === undefined ? 'unauthorized' : text('reason'),
      tier: text('tier'),
      policy: text('policy'),
      subject: text('subject'),
      limit: number('limit'),
      retryAfter: number('retryAfter'),
      method,
      route,
      denials: 1,
      leftOut: 0,
    }
  }

  /**
   * What `GET /_local/denials?from=<number>` answers: the denials from that number on, the oldest first, how many of
   * these are no longer kept, and the number for the next call.
   */
  answer(query: string): GatewayResponse {
    const text = new URLSearchParams(query).get('from') ?? '0'
    if (!/^\d{1,15}$/.test(text))
      return jsonResponse(400, { message: `from must be a whole number from 0, got ${JSON.stringify(text)}` })
    const { gateway, startedAt, count } = this
    const first = Math.max(Number(text), count - MAX_DENIALS)
    const denials = Array.from({ length: Math.max(0, count - first) }, (_, i) => this.kept[(first + i) % MAX_DENIALS])
    const missed = Math.min(first, count) - Math.min(Number(text), count)
    return jsonResponse(200, { gateway, startedAt, next: count, missed, denials })
  }
}
