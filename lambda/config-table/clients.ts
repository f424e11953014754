import { hash } from 'node:crypto'
import {
  type AttributeValue,
  BatchGetItemCommand,
  type BatchGetItemCommandInput,
  type BatchGetItemCommandOutput,
  type DynamoDBClient,
  GetItemCommand,
} from '@aws-sdk/client-dynamodb'
import { BoundedMap } from '../../limiter/bounded-map'
import { CircuitBreaker } from '../../limiter/circuit-breaker'
import type { Clock, EpochMs } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import { assertDynamoDbResponse } from '../../limiter/stores/dynamodb-response'
import { errorDetails, type Log } from '../telemetry/log'
import { type Client, parseClientItem } from './items/client-item'
import { clientKey, fromAttributes } from './items/config-items'
import { readWithRetry } from './read-with-retry'

export interface ClientsOptions {
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly tableName: string
  readonly clock: Clock
  /** How long a client is used before it is looked up again, in milliseconds. */
  readonly ttlMs: number
  /** The same for a credential that nobody has. */
  readonly negativeTtlMs: number
  /** Time for one look-up, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

/** Nobody has this credential, or what the table says of it cannot be read or understood. */
type Found = Client | undefined | 'unavailable'

interface Known {
  readonly client: Found
  readonly since: EpochMs
  readonly until: EpochMs
  /** Whether somebody has asked for it since. */
  isUsed: boolean
}

/**
 * Pause after a look-up that failed, in milliseconds. A key that is not known has none: its next request asks again.
 */
const RETRY_AFTER_MS = 1000

/** Keys remembered, of clients and of nobody apart, so that made-up keys push no client out. */
const MOST_KEYS = 10_000

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html */
const MOST_AT_ONCE = 100

/**
 * Clients by their credential, looked up in the config table once and then remembered, unknown ones too. When one has
 * grown old, those that have been asked for since their own last look-up, and are past half their time, are looked up
 * along with it: in steady traffic a hundred clients cost one call in each time to live, and not a hundred.
 */
export class Clients {
  private readonly clients = new BoundedMap<string, Known>(MOST_KEYS)
  private readonly unknown = new BoundedMap<string, Known>(MOST_KEYS)
  private readonly looking = new Map<string, Promise<Found>>()
  private readonly circuit: CircuitBreaker

  constructor(private readonly options: ClientsOptions) {
    this.circuit = new CircuitBreaker({ clock: options.clock })
  }

  /**
   * The client with this credential, `undefined` when there is none, `unavailable` when that cannot be found out. A
   * known client is answered at once and looked up again in the background.
   *
   * @param credential the hash of an API key, or `<source>:<value>`.
   */
  async find(credential: string): Promise<Found> {
    const known = this.known(credential)
    const now = this.options.clock()
    if (known) known.isUsed = true
    if (known && now >= known.since && now < known.until) return known.client
    const found = this.looking.get(credential) ?? this.lookUp(credential, known)
    return known?.client ?? found
  }

  /** Whether `find` answers from memory. */
  remembers(credential: string): boolean {
    const known = this.known(credential)
    const now = this.options.clock()
    return known !== undefined && (typeof known.client === 'object' || (now >= known.since && now < known.until))
  }

  private known(credential: string): Known | undefined {
    return this.clients.get(credential) ?? this.unknown.get(credential)
  }

  private foundOf(credential: string): Found {
    const known = this.known(credential)
    return known ? known.client : 'unavailable'
  }

  private lookUp(credential: string, known: Known | undefined): Promise<Found> {
    const along = known ? this.dueForRefresh(credential) : [] // a new caller waits for its own look-up only
    const all = [credential, ...along]
    const read = this.read(all, known === undefined)
    for (const one of all) {
      const found = read.then(() => this.foundOf(one)).finally(() => this.looking.delete(one))
      this.looking.set(one, found)
    }
    return this.looking.get(credential)!
  }

  /** Others that are used, and that would soon be looked up by themselves. */
  private dueForRefresh(credential: string): string[] {
    const now = this.options.clock()
    const old: string[] = []
    for (const map of [this.clients, this.unknown]) {
      for (const [one, { isUsed, since, until }] of map) {
        if (old.length === MOST_AT_ONCE - 1) return old
        if (isUsed && one !== credential && now >= (since + until) / 2 && !this.looking.has(one)) old.push(one)
      }
    }
    return old
  }

  private async read(credentials: readonly string[], awaited: boolean): Promise<void> {
    const { tableName, log, ttlMs } = this.options
    if (!this.circuit.allows()) return // who is known stays so, and is asked about with the next request again
    let items: ReadonlyMap<string, Record<string, AttributeValue>> | undefined
    try {
      items = await readWithRetry({ ...this.options, awaited }, (signal) => this.get(credentials, signal))
      for (const credential of credentials) this.take(credential, items.get(clientKey(credential).pk))
    } catch (error) {
      log('error', 'client_unreadable', { table: tableName, ...errorDetails(error) })
      for (const credential of credentials) {
        const known = this.known(credential)
        if (known) this.remember(credential, known.client, Math.min(RETRY_AFTER_MS, ttlMs))
      }
    } finally {
      this.circuit.report(items !== undefined)
    }
  }

  /** The items that there are, by partition key: one by a plain read, several together. */
  private async get(
    credentials: readonly string[],
    abortSignal: AbortSignal,
  ): Promise<ReadonlyMap<string, Record<string, AttributeValue>>> {
    const { client, tableName } = this.options
    const keys = credentials.map(clientKey)
    if (keys.length === 1) {
      const command = new GetItemCommand({ TableName: tableName, Key: attributes(keys[0]!) })
      const { Item } = assertDynamoDbResponse(await client.send(command, { abortSignal }))
      return new Map(Item ? [[keys[0]!.pk, Item]] : [])
    }
    const found = new Map<string, Record<string, AttributeValue>>()
    let wanted: BatchGetItemCommandInput['RequestItems'] = { [tableName]: { Keys: keys.map(attributes) } }
    while (wanted && Object.keys(wanted).length > 0) {
      const command: BatchGetItemCommand = new BatchGetItemCommand({ RequestItems: wanted })
      const { Responses, UnprocessedKeys }: BatchGetItemCommandOutput = assertDynamoDbResponse(
        await client.send(command, { abortSignal }),
      )
      for (const item of Object.values(Responses ?? {}).flat()) found.set(item.pk?.S ?? '', item)
      wanted = UnprocessedKeys
    }
    return found
  }

  private take(credential: string, item: Record<string, AttributeValue> | undefined): void {
    const { log, ttlMs, negativeTtlMs } = this.options
    const issues: Mistake[] = []
    const found = item && parseClientItem(fromAttributes(item), issues)
    if (issues.length > 0)
      log('error', 'client_invalid', { item: `client#${shown(credential)}`, issues }, 'ConfigErrors')
    const right = issues.length > 0 ? this.foundOf(credential) : found
    this.remember(credential, right, typeof right === 'object' ? ttlMs : negativeTtlMs)
  }

  private remember(credential: string, client: Found, forMs: number): void {
    this.clients.delete(credential)
    this.unknown.delete(credential)
    const map = typeof client === 'object' ? this.clients : this.unknown
    const since = this.options.clock()
    map.set(credential, { client, since, until: since + forMs, isUsed: false })
  }
}

const attributes = ({ pk, sk }: { readonly pk: string; readonly sk: string }) => ({ pk: { S: pk }, sk: { S: sk } })

/** A credential as a log may have it: what is no hash yet, such as `user:alice@example.com`, is made one. */
function shown(credential: string): string {
  const [kind, ...value] = credential.split(':')
  return value.length === 0 ? credential : `${kind}:sha256-${hash('sha256', value.join(':'))}`
}
