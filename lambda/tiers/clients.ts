import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { Clock, EpochMs } from '../clock'
import { errorDetails, type Log } from '../telemetry'
import { type Client, clientKey, fromAttributes, parseClientItem } from './config-items'

export interface ClientsOptions {
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly tableName: string
  readonly clock: Clock
  /** How long an answer is used before it is looked up again, in milliseconds. */
  readonly ttlMs: number
  /** Time for one look-up, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

interface Known {
  readonly client: Client | undefined
  readonly since: EpochMs
  readonly until: EpochMs
}

/** Pause after a look-up that failed, in milliseconds. A key that is not known has none: its next request asks again. */
const RETRY_AFTER_MS = 1000

/** Keys remembered, of clients and of nobody apart, so that made-up keys push no client out. */
const MOST_KEYS = 10_000

/** Clients by the hash of their API key, looked up in the config table once and then remembered, unknown keys too. */
export class Clients {
  private readonly clients = new Map<string, Known>()
  private readonly strangers = new Map<string, Known>()
  private readonly looking = new Map<string, Promise<Client | undefined>>()

  constructor(private readonly options: ClientsOptions) {}

  /** The client with this key, `undefined` when there is none. A known client is answered at once and looked up again in the background. */
  async find(apiKeyHash: string): Promise<Client | undefined> {
    const known = this.clients.get(apiKeyHash) ?? this.strangers.get(apiKeyHash)
    const now = this.options.clock()
    if (known && now >= known.since && now < known.until) return known.client
    const found = this.looking.get(apiKeyHash) ?? this.look(apiKeyHash, known)
    return known?.client ?? found
  }

  private look(hash: string, known: Known | undefined): Promise<Client | undefined> {
    const found = this.read(hash, known).finally(() => this.looking.delete(hash))
    this.looking.set(hash, found)
    return found
  }

  private async read(hash: string, known: Known | undefined): Promise<Client | undefined> {
    const { client, tableName, deadlineMs, log } = this.options
    try {
      const command = new GetItemCommand({ TableName: tableName, Key: marshall(clientKey(hash)) })
      const { Item } = await client.send(command, { abortSignal: AbortSignal.timeout(deadlineMs) })
      const issues: string[] = []
      const found = Item ? parseClientItem(fromAttributes(Item), issues) : undefined
      if (issues.length > 0) log('error', 'a client in the config table is wrong', { keyHash: hash, issues })
      return this.remember(hash, issues.length > 0 ? known?.client : found, this.options.ttlMs)
    } catch (error) {
      log('error', 'a client cannot be looked up', { table: tableName, ...errorDetails(error) })
      return known && this.remember(hash, known.client, Math.min(RETRY_AFTER_MS, this.options.ttlMs))
    }
  }

  private remember(hash: string, client: Client | undefined, forMs: number): Client | undefined {
    this.clients.delete(hash)
    this.strangers.delete(hash)
    const map = client ? this.clients : this.strangers
    const since = this.options.clock()
    map.set(hash, { client, since, until: since + forMs })
    if (map.size > MOST_KEYS) map.delete(map.keys().next().value!)
    return client
  }
}
