import type { IncomingMessage } from 'node:http'
import type { AccessLog } from './access-log'
import { type GatewayResponse, jsonResponse } from './api'
import type { BackendCalls } from './backend-calls'
import { refusalOf } from './guard'
import type { RecentDenials } from './recent-denials'

/** What a gateway says of itself, and to whom. */
export interface OwnAnswers {
  readonly calls: BackendCalls
  readonly denials: RecentDenials
  readonly accessLog: AccessLog
  /** What `GET /_local/gateway` answers. */
  readonly about: object
  /** Names other than this machine's by which it may be asked. */
  readonly allowHosts: readonly string[]
}

/** The answer to a `GET` of what a gateway says of itself; `undefined` for all other requests. */
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
