/** What the console's page and the local gateway tell each other. Times are epoch milliseconds of the gateway. */

/** How many requests of a second, which is its epoch seconds, were allowed, denied, and so on. */
export type Tally = readonly [
  second: number,
  counts: readonly [allowed: number, denied: number, allowedDegraded: number, deniedDegraded: number, other: number],
]

/** A request that the gateway sends; a page chooses among these. */
export interface Sample {
  /** `GET /hello`. */
  readonly route: string
  /** With its query, as it is sent. */
  readonly target: string
  /** What it costs, in words. */
  readonly cost: string
}

/** A caller that a page can choose. */
export interface Caller {
  readonly label: string
  /** `null` without a key. */
  readonly apiKey: string | null
}

/** How requests are sent. */
export type Pace =
  | { readonly kind: 'burst'; readonly requests: number }
  /** Until it is stopped, at even distances or at random ones with this mean. */
  | { readonly kind: 'steady' | 'poisson'; readonly perSecond: number }

export interface Shot {
  readonly route: string
  /** `null` for nobody's. */
  readonly apiKey: string | null
  readonly pace: Pace
}

export type Trouble = 'none' | 'slow' | 'throttled' | 'down'

/** What does not depend on the caller. */
export interface Standing {
  readonly now: number
  /** Since the gateway was started. */
  readonly requests: number
  readonly allowed: number
  readonly denied: number
  readonly degraded: number
  readonly backendCalls: number
  /** Since the console is used, to the table of counters; those to the table of tiers are apart. */
  readonly stateCalls: number
  /** Those of them to the items that all callers share. */
  readonly sharedCalls: number
  readonly configCalls: number
  /** Calls while DynamoDB was away or throttling, which are in neither. */
  readonly failedCalls: number
  /** Allowed requests since the console is used. */
  readonly allowedWatched: number
  readonly trouble: Trouble
  readonly slowMs: number
  /** Authorizer instances whose circuit breaker is open, of so many. */
  readonly circuitsOpen: number
  readonly instances: number
  /** What is being sent, or `null`. */
  readonly firing: Shot | null
  /** The change of tiers that was last asked for. */
  readonly change: TierChange | null
  readonly last: LastAnswer | null
  /** The last write of each of the items that were written lately, the latest first. */
  readonly writes: readonly LastWrite[]
}

export interface TierChange {
  readonly at: number
  /** `unchanged`: the table had it already, so there was nothing to apply. */
  readonly state: 'applying' | 'in-force' | 'unchanged'
  /** When all authorizers had it. */
  readonly inForceAt?: number
  readonly message: string
}

export interface LastAnswer {
  readonly at: number
  /** `GET /hello`. */
  readonly request: string
  /** Whose it was; `null` without a key. */
  readonly apiKey: string | null
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
  /** How the authorizer decided it; absent where it did not. */
  readonly decision?: Decision | undefined
  /** Of which burst it is, and how many of that passed so far. */
  readonly burst?: { readonly requests: number; readonly passed: number }
}

/** A decision in the authorizer's context. */
export interface Decision {
  readonly allowed: boolean
  readonly degraded: boolean
  readonly reason: string
  /** Which denied, or has least left. */
  readonly policy: string
  readonly detail: string
  readonly limit: number
  readonly remaining: number
  /** Seconds. */
  readonly retryAfter: number
}

/** An `UpdateItem` as an authorizer sent it. */
export interface LastWrite {
  readonly at: number
  readonly key: string
  readonly update: string
  readonly condition: string
  readonly values: Readonly<Record<string, string>>
  /** `undefined` while it is not answered, or never was. */
  readonly refused?: boolean
  readonly changes: readonly string[]
  readonly conditions: readonly string[]
}

/** The first event of a stream. */
export interface Hello {
  readonly samples: readonly Sample[]
  readonly callers: readonly Caller[]
  /** The header of an API key; `null` where the tiers read none. */
  readonly keyHeader: string | null
  readonly api: 'rest' | 'http'
  readonly url: string
  /** Whether DynamoDB is on this machine, so that a page may change and break it. */
  readonly isLocal: boolean
  readonly tallies: readonly Tally[]
  readonly standing: Standing
}

/** The only event of a stream for which there is no room. */
export interface Full {
  /** Pages that are looked at at once. */
  readonly most: number
}

/** A policy of a caller and how it stands. */
export interface Gauge {
  readonly policy: string
  /** Whether requests of the route that was asked for are counted by it. */
  readonly isCharged: boolean
  readonly route: string | null
  /** Who shares it, where it is not the caller's own. */
  readonly who?: string
  readonly counts: string | null
  readonly algorithm: string
  readonly limit: number
  /** Of a caller who has sent nothing. */
  readonly whole: number
  readonly window: string
  readonly remaining: number
  /** Milliseconds; `null` where nothing is missing. */
  readonly nextUnitMs: number | null
  readonly wholeMs: number
  /** What will remain, if nothing is sent: milliseconds from now, and units. */
  readonly forecast: readonly (readonly [inMs: number, remaining: number])[]
}

interface Attribute {
  readonly name: string
  readonly value: string
  readonly meaning: string
}

interface StoredItem {
  readonly key: string
  /** Whose it is. */
  readonly of: string
  readonly bytes: number
  readonly attributes: readonly Attribute[]
}

/** A caller as the tables know them. */
export interface Look {
  /** `client:demo-free`, `ip:127.0.0.1`. */
  readonly subject: string
  readonly tier: string | null
  readonly blocked: boolean
  readonly withoutTable: WithoutTable
  readonly gauges: readonly Gauge[]
  readonly items: readonly StoredItem[]
}

/** How a caller's requests are decided while the table cannot be asked. */
export interface WithoutTable {
  readonly failureMode: 'local' | 'allow' | 'deny'
  /** The part of each limit that one authorizer admits by itself, in mode `local`. */
  readonly localShare: number
}

/** Why nothing was done, beside the field that is wrong. */
export interface Wrong {
  readonly field: string
  readonly message: string
}
