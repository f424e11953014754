import type { EpochMs } from '../../facade/values'

/** Who sent a request, as its line tells. Requests of the same sender share one. */
export interface Sender {
  /** `client:acme`, `user:42`, `ip:203.0.113.7`, or the stored form of one, `client#…` or `client~…`. */
  readonly subject?: string
  /** A client's id, without `client:`. */
  readonly client?: string
  /** A user's id, without `user:`. */
  readonly user?: string
  /** The id of an API Gateway key, or an API key. */
  readonly key?: string
  readonly ip?: string
  readonly tier?: string
  /** For a simulation, to keep what it knows of the sender. */
  known?: object | undefined
}

/** What a request asks for. Requests for the same share one. */
export interface Target {
  /** In upper case. */
  readonly method?: string
  /** As the client sent it, possibly with the query. */
  readonly path?: string
  /** The route that API Gateway matched: `/users/{id}`, or `GET /users/{id}`. */
  readonly resource?: string
  readonly apiId?: string
  readonly stage?: string
  readonly domain?: string
  /** Of a WebSocket: `CONNECT`, `MESSAGE`, `DISCONNECT`. */
  readonly eventType?: string
  /** For a simulation, to keep what it knows of the target. */
  known?: object | undefined
}

/** One request as a log or a pattern tells of it. What it does not tell is missing. */
export interface LoggedRequest {
  readonly at: EpochMs
  /** Whether the time is given in whole seconds only. */
  readonly wholeSecond: boolean
  readonly sender: Sender
  readonly target: Target
  /** Units that the request took of policies without a `cost`; 0 where it was denied. */
  readonly cost?: number
  /** Units by the name of a cost. */
  readonly costs?: ReadonlyMap<string, number>
  /** What the authorizer answered then: `ok`, `over-limit`, `unauthorized`, `blocked` … */
  readonly reason?: string
  /** The policy that the authorizer named then. */
  readonly policy?: string
  readonly durationMs?: number
  /** No authorizer was asked, and none would be. */
  readonly unasked?: true
  /** Values by which policies may count: `header:x-tenant`, `claim:org`. */
  readonly values?: ReadonlyMap<string, string>
}

/** A field of a request that a log may have, by the name that `--map` takes. */
export type FieldName = (typeof FIELD_NAMES)[number]
export const FIELD_NAMES = [
  'time',
  'subject',
  'client',
  'user',
  'key',
  'ip',
  'tier',
  'method',
  'path',
  'resource',
  'request',
  'apiId',
  'stage',
  'domain',
  'cost',
  'reason',
  'policy',
  'eventType',
  'durationMs',
] as const
