import { hash } from 'node:crypto'
import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { BoundedMap } from '../../limiter/bounded-map'
import { CircuitBreaker } from '../../limiter/circuit-breaker'
import type { Clock, EpochMs } from '../../limiter/clock'
import { waitAtMost } from '../../limiter/deadline'
import type { Mistake } from '../../limiter/errors'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { errorDetails, type Log } from '../telemetry/log'
import { type Client, parseClientItem } from './items/client-item'
import { fromAttributes } from './items/config-items'
import { clientKey } from './items/config-keys'
import { readWithRetry } from './read-with-retry'
import { endOf, isUnderWay, REFRESH_SHARE, type Reading } from './refresher'

export interface ClientsOptions {
  readonly calls: ItemCalls
  readonly tableName: string
  readonly clock: Clock
  /** How long a client is used before it is looked up again, in milliseconds. */
  readonly ttlMs: number
  /** The same for an unknown credential. */
  readonly negativeTtlMs: number
  /** Time for one look-up, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

/** `undefined`: the credential is unknown. `unavailable`: the table did not answer, or its item is invalid. */
type Found = Client | undefined | 'unavailable'

interface CachedLookUp {
  readonly client: Found
  /** When the look-up began. */
  readonly since: EpochMs
  /** When it is looked up again in the background. */
  readonly refreshAt: EpochMs
  /** From when on a request waits for the look-up. */
  readonly until: EpochMs
  /** Whether a request has used it since. */
  isUsed: boolean
}

/**
 * Pause after a failed look-up, in milliseconds. A credential that is not yet known has no pause: its next request
 * looks it up again.
 */
const RETRY_AFTER_MS = 1000

interface Times {
  readonly since: EpochMs
  readonly refreshMs: number
  readonly forMs: number
}

/** Credentials remembered. Known and unknown ones are bounded apart, so that made-up keys push no client out. */
const MAX_KEYS = 10_000

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html */
const MAX_AT_ONCE = 100

/**
 * Clients by credential, looked up in the config table once and then remembered; unknown credentials are remembered,
 * too. Shortly before its time to live ends, a client is looked up again in the background; a request that comes after
 * it has ended waits for the look-up. Each such call also refreshes other clients that were used since their own last
 * look-up and are past half their time to live: in steady traffic a hundred clients cost one call in each time to live,
 * not a hundred.
 */
export class Clients {
  private readonly clients = new BoundedMap<string, CachedLookUp>(MAX_KEYS)
  private readonly unknown = new BoundedMap<string, CachedLookUp>(MAX_KEYS)
  private readonly looking = new Map<string, Reading>()
  private readonly circuit: CircuitBreaker

  constructor(private readonly options: ClientsOptions) {
    this.circuit = new CircuitBreaker({ clock: options.clock })
  }

  /**
   * The client with this credential, `undefined` when it is unknown, `unavailable` when the table cannot say. While the
   * table does not answer, a known client stays in force.
   *
   * @param credential the hash of an API key, or `<source>:<value>`.
   */
  async find(credential: string): Promise<Found> {
    const known = this.known(credential)
    const now = this.options.clock()
    if (known) known.isUsed = true
    const isCurrent = known !== undefined && now >= known.since && now < known.until
    if (isCurrent && now < known.refreshAt) return known.client
    const { done } = this.lookUpUnderWay(credential) ?? this.lookUp(credential, !isCurrent, known !== undefined)
    if (isCurrent) return known.client
    // if a later one has begun meanwhile, its result counts
    const found = done.then(() => this.looking.get(credential)?.done)
    await waitAtMost(this.options.deadlineMs, found)
    return this.foundOf(credential)
  }

  /** Whether `find` answers from memory. */
  remembers(credential: string): boolean {
    const known = this.known(credential)
    const now = this.options.clock()
    return known !== undefined && (typeof known.client === 'object' || (now >= known.since && now < known.until))
  }

  private known(credential: string): CachedLookUp | undefined {
    return this.clients.get(credential) ?? this.unknown.get(credential)
  }

  private foundOf(credential: string): Found {
    const known = this.known(credential)
    return known ? known.client : 'unavailable'
  }

  /** The look-up in progress. One past its deadline was frozen with its instance, and its result would be too old. */
  private lookUpUnderWay(credential: string): Reading | undefined {
    const lookUp = this.looking.get(credential)
    return lookUp && isUnderWay(lookUp, this.options) ? lookUp : undefined
  }

  private lookUp(credential: string, awaited: boolean, isKnown: boolean): Reading {
    const along = isKnown ? this.dueForRefresh(credential) : [] // a new caller waits for its own look-up only
    const lookUp: Reading = { startedAt: this.options.clock(), done: Promise.resolve() }
    const all = [credential, ...along]
    for (const one of all) this.looking.set(one, lookUp)
    lookUp.done = this.read(all, lookUp, awaited).finally(() => {
      for (const one of this.thoseOf(lookUp, all)) this.looking.delete(one)
    })
    return lookUp
  }

  /** Without those for which a later look-up has begun. */
  private thoseOf(lookUp: Reading, credentials: readonly string[]): string[] {
    return credentials.filter((one) => this.looking.get(one) === lookUp)
  }

  /** Other clients that are in use and due for a refresh soon. */
  private dueForRefresh(credential: string): string[] {
    const now = this.options.clock()
    const old: string[] = []
    for (const map of [this.clients, this.unknown]) {
      for (const [one, { isUsed, since, until }] of map) {
        if (old.length === MAX_AT_ONCE - 1) return old
        if (isUsed && one !== credential && now >= (since + until) / 2 && !this.looking.has(one)) old.push(one)
      }
    }
    return old
  }

  private async read(credentials: readonly string[], lookUp: Reading, awaited: boolean): Promise<void> {
    const { tableName, log, ttlMs } = this.options
    if (!this.circuit.allows()) return // who is known stays so, and is asked about with the next request again
    const items = new Map<string, Record<string, AttributeValue>>()
    let left = credentials
    try {
      await readWithRetry({ ...this.options, awaited }, async (signal) => {
        while (left.length > 0) left = await this.get(left, items, signal)
      })
    } catch (error) {
      log('error', 'client_unreadable', { table: tableName, ...errorDetails(error) })
    }
    this.circuit.report(left.length === 0, endOf(lookUp, this.options))
    for (const credential of this.thoseOf(lookUp, credentials)) {
      if (!left.includes(credential)) {
        this.take(credential, items.get(clientKey(credential).pk), lookUp.startedAt)
        continue
      }
      const known = this.known(credential)
      const forMs = Math.min(RETRY_AFTER_MS, ttlMs)
      if (known)
        this.remember(credential, known.client, { since: endOf(lookUp, this.options), refreshMs: forMs, forMs })
    }
  }

  /**
   * Adds the items that exist to `items`, by partition key: one key by GetItem, several by BatchGetItem.
   *
   * @returns the credentials about which the table has not answered yet.
   */
  private async get(
    credentials: readonly string[],
    items: Map<string, Record<string, AttributeValue>>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { calls, tableName } = this.options
    const keys = credentials.map(clientKey)
    if (keys.length === 1) {
      const input = { TableName: tableName, Key: attributes(keys[0]!) }
      const { Item } = await calls.call('GetItem', input, { signal })
      if (Item) items.set(keys[0]!.pk, Item)
      return []
    }
    const input = { RequestItems: { [tableName]: { Keys: keys.map(attributes) } } }
    const { Responses, UnprocessedKeys } = await calls.call('BatchGetItem', input, { signal })
    for (const item of Object.values(Responses ?? {}).flat()) items.set(item.pk?.S ?? '', item)
    const left = new Set(Object.values(UnprocessedKeys ?? {}).flatMap(({ Keys = [] }) => Keys.map(({ pk }) => pk?.S)))
    return credentials.filter((_, i) => left.has(keys[i]!.pk))
  }

  private take(credential: string, item: Record<string, AttributeValue> | undefined, since: EpochMs): void {
    const { log, ttlMs, negativeTtlMs } = this.options
    const issues: Mistake[] = []
    const found = item && parseClientItem(fromAttributes(item), issues)
    if (issues.length > 0)
      log('error', 'client_invalid', { item: `client#${shown(credential)}`, issues }, 'ConfigErrors')
    const right = issues.length > 0 ? this.foundOf(credential) : found
    if (typeof right === 'object')
      this.remember(credential, right, { since, refreshMs: ttlMs * REFRESH_SHARE, forMs: ttlMs })
    else this.remember(credential, right, { since, refreshMs: negativeTtlMs, forMs: negativeTtlMs })
  }

  private remember(credential: string, client: Found, { since, refreshMs, forMs }: Times): void {
    this.clients.delete(credential)
    this.unknown.delete(credential)
    const map = typeof client === 'object' ? this.clients : this.unknown
    map.set(credential, { client, since, refreshAt: since + refreshMs, until: since + forMs, isUsed: false })
  }
}

const attributes = ({ pk, sk }: { readonly pk: string; readonly sk: string }) => ({ pk: { S: pk }, sk: { S: sk } })

/**
 * A credential in a form that may be logged: one that is not a hash yet, such as `user:alice@example.com`, is hashed.
 */
function shown(credential: string): string {
  const [kind, ...value] = credential.split(':')
  return value.length === 0 ? credential : `${kind}:sha256-${hash('sha256', value.join(':'))}`
}
