import type { AuthorizerContext } from '../lambda/responses/context'

/** What the client of a WebSocket receives for a denied message. */
export interface MessageDenial {
  /** 429 over the limit, 401 without the credentials that the route requires, 500 where they cannot be checked. */
  readonly status: 401 | 429 | 500
  /** `Too Many Requests`, as API Gateway names its own errors. */
  readonly message: string
  /** `over-limit`, `blocked` and so on. */
  readonly code: AuthorizerContext['reason']
  /** As API Gateway names them in its own errors. */
  readonly connectionId: string
  readonly requestId: string
  /** The route for which API Gateway took the message. */
  readonly routeKey: string
  /** Seconds until the same message passes, at least 1; 31536000 for never. */
  readonly retryAfter: number
  readonly policy: string
  readonly limit: number
  /** Units that are left. */
  readonly remaining: number
  /** Epoch seconds at which the message passes. */
  readonly reset: number
  /** A sentence for people. */
  readonly detail: string
}

const MESSAGES = { 401: 'Unauthorized', 429: 'Too Many Requests', 500: 'Internal Server Error' } as const

/** @param about the event's `requestContext`. */
export function messageDenial(
  status: MessageDenial['status'],
  { reason, retryAfter, policy, limit, remaining, reset, detail }: AuthorizerContext,
  about: Readonly<Record<string, unknown>>,
): MessageDenial {
  const { connectionId, requestId, routeKey } = about
  const ids = { connectionId: textOf(connectionId), requestId: textOf(requestId), routeKey: textOf(routeKey) }
  return {
    status,
    message: MESSAGES[status],
    code: reason,
    ...ids,
    retryAfter,
    policy,
    limit,
    remaining,
    reset,
    detail,
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
