import * as v from 'valibot'
import { apiKeySource } from '../lambda/identity/api-key'
import { type Claim, isIdentity, NO_CREDENTIAL, type Source } from '../lambda/identity/source'
import { fromEvent, type GatewayRequest } from '../lambda/responses/request'
import { ConfigError, type Mistake } from '../limiter/errors'
import { checkFields, type FieldRules, report } from '../limiter/policies/report'
import { type ConnectedCaller, claimOfConnection } from './connected-caller'

/** Headers or parameters by name; a list is several values. */
export type NamedValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** Who is calling: at most one of these. */
export interface Caller {
  /** As the caller sent it, to be looked up in the config table. An unknown key is anonymous. */
  readonly apiKey?: string | undefined
  /** A client that the program has verified, by the id of `sluice clients create --credential`. */
  readonly clientId?: string | undefined
  /** A user whom the program has verified. */
  readonly user?: string | undefined
  /**
   * The tier of that client or user, where the program knows it. The record of a client in the config table comes
   * first.
   * @default the tier of the record; else `defaultTier` of the settings, or the anonymous tier, as for an unknown one
   */
  readonly tier?: string | undefined
}

/** The request to decide. */
export interface TieredRequest extends Caller {
  /** `GET`, in any case. */
  readonly method: string
  /** Begins with a slash, and has no query. */
  readonly path: string
  /**
   * The caller's IP address, or the TCP peer if `headers` have the caller's and the settings say how many proxies are
   * in front.
   * @default unknown: anonymous callers without one count as one caller
   */
  readonly address?: string | undefined
  /**
   * The settings' sources of identity read them if no caller is named here; costs and policies may depend on them.
   * @default none
   */
  readonly headers?: NamedValues | undefined
  /** The parameters of the query, decoded. @default none */
  readonly query?: NamedValues | undefined
  /** The API and stage, for tiers, routes and settings with `apis`. @default none: items without `apis` apply */
  readonly apiId?: string | undefined
  readonly stage?: string | undefined
  /** Whole units that the request takes. @default the route's cost */
  readonly cost?: number | undefined
  /** Whole units by the name of a cost: `{ tokens: 500 }`. @default the route's cost, for each that is missing */
  readonly costs?: Readonly<Record<string, number>> | undefined
}

/** A request as the authorizer's steps get it, and the caller that the program names. */
interface KnownRequest extends GatewayRequest {
  readonly claim: Claim | undefined
}

const text = { schema: v.string(), wanted: 'a text', optional: true } as const
const identity = {
  schema: v.custom(isIdentityText),
  wanted: 'a string of 1 to 256 characters',
  optional: true,
} as const
const values = {
  schema: v.pipe(v.custom(isPlain), v.record(v.string(), v.optional(v.union([v.string(), v.array(v.string())])))),
  wanted: 'a plain object of strings or lists of strings, such as Object.fromEntries(headers)',
  optional: true,
} as const
const units = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

const FIELDS = {
  method: { schema: v.string(), wanted: 'a string such as "GET"' },
  path: { schema: v.string(), wanted: 'a string such as "/orders"' },
  apiKey: text,
  clientId: identity,
  user: identity,
  tier: text,
  address: text,
  headers: values,
  query: values,
  apiId: text,
  stage: text,
  cost: { schema: units, wanted: 'an integer from 0', optional: true },
  costs: { schema: v.record(v.string(), units), wanted: 'an object of integers from 0', optional: true },
} as const satisfies FieldRules

/** An object whose entries `Object.entries` lists: not a `Headers` or a `Map`, which would seem empty. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function isIdentityText(value: unknown): boolean {
  return typeof value === 'string' && isIdentity(value)
}

/** @throws ConfigError with every mistake of the program; what a caller can get wrong is denied instead. */
export function checkRequest(request: TieredRequest): void {
  const issues: Mistake[] = []
  checkFields(request, FIELDS, 'request', [], issues)
  const named = (['apiKey', 'clientId', 'user'] as const).filter((field) => request?.[field] !== undefined)
  if (named.length > 1)
    report(issues, 'fields_conflict', `a request has one of apiKey, clientId and user, got ${named.join(' and ')}`, [])
  if (request?.tier !== undefined && request.clientId === undefined && request.user === undefined)
    report(issues, 'missing_field', 'tier needs clientId or user, whose tier it is, got neither', [])
  if (issues.length > 0) throw new ConfigError(issues)
}

/** Reads a request as the authorizer reads an event; `undefined` if its method or path is invalid. */
export function toRequest(event: unknown): KnownRequest | undefined {
  const { method, path, address, headers, query, apiId, stage, connection, ...caller } = event as TieredRequest & {
    readonly connection?: ConnectedCaller
  }
  const request = fromEvent({
    httpMethod: method,
    path,
    resource: '$default', // API Gateway matched no route
    headers,
    queryStringParameters: query,
    requestContext: { apiId, stage, identity: { sourceIp: address } },
  })
  return (
    request && { ...request, stage: undefined, claim: connection ? claimOfConnection(connection) : claimOf(caller) }
  ) // the path does not begin with the stage
}

/** The source of identity for the caller that the program names. */
export const programSource: Source = {
  resolve: (request) => (request as KnownRequest).claim ?? NO_CREDENTIAL,
}

const KEY = 'key'

/** What the sources for keys, and for trusted values with `lookup`, make of them. */
function claimOf({ apiKey, clientId, user, tier }: Caller): Claim | undefined {
  if (apiKey !== undefined) {
    const found = apiKeySource(KEY).resolve({ headers: new Map([[KEY, apiKey]]) } as never)
    return 'kind' in found && found.kind === 'claim' ? found : undefined
  }
  const caller = clientId !== undefined ? `client:${clientId}` : user !== undefined ? `user:${user}` : undefined
  return caller === undefined ? undefined : { kind: 'claim', caller, credential: caller, tier }
}
