import type { IncomingMessage } from 'node:http'
import type { AccessLog } from './access-log'
import { type GatewayResponse, jsonResponse } from './api'
import type { BackendCalls } from './backend-calls'
import { refusalOf } from './guard'
import type { RecentDenials } from './recent-denials'

/** A gateway's information about itself, and the hosts that may read it. */
export interface OwnAnswers {
  readonly calls: BackendCalls
  readonly denials: RecentDenials
  readonly accessLog: AccessLog
  /** What `GET /_local/gateway` answers. */
  readonly about: object
  /** Host names other than this machine's under which it may be called. */
  readonly allowHosts: readonly string[]
}

/** The response to a `GET` of a gateway's information about itself; `undefined` for all other requests. */
export function ownAnswer(
  incoming: IncomingMessage,
  path: string,
  rawQuery: string,
  { calls, denials, accessLog, about, allowHosts }: OwnAnswers,
): GatewayResponse | undefined {
  const answers: Readonly<Record<string, () => GatewayResponse>> = {
    '/_local/backend-calls': () => jsonResponse(200, calls.toJSON()),
    '/_local/denials': () => denials.answer(rawQuery),
    '/_local/access-log': () => accessLog.answer(),
    '/_local/gateway': () => jsonResponse(200, about),
  }
  if (incoming.method !== 'GET' || !Object.hasOwn(answers, path)) return undefined
  const refusal = refusalOf(incoming, allowHosts, true)
  return refusal ? jsonResponse(refusal.statusCode, { message: refusal.message }) : answers[path]!()
}
