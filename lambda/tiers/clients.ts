import { hash } from 'node:crypto'
import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { Clock, EpochMs } from '../clock'
import { errorDetails, type Log } from '../telemetry'
import { type Client, parseClientItem } from './client-item'
import { clientKey, fromAttributes } from './config-items'

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

interface Known {
  readonly client: Client | undefined
  readonly since: EpochMs
  readonly until: EpochMs
}

/** Pause after a look-up that failed, in milliseconds. A key that is not known has none: its next request asks again. */
const RETRY_AFTER_MS = 1000

/** Keys remembered, of clients and of nobody apart, so that made-up keys push no client out. */
const MOST_KEYS = 10_000

/** Clients by their credential, looked up in the config table once and then remembered, unknown ones too. */
export class Clients {
  private readonly clients = new Map<string, Known>()
  private readonly strangers = new Map<string, Known>()
  private readonly looking = new Map<string, Promise<Client | undefined>>()

  constructor(private readonly options: ClientsOptions) {}

  /**
   * The client with this credential, `undefined` when there is none. A known client is answered at once and looked up again in the background.
   *
   * @param credential the hash of an API key, or `<source>:<value>`.
   */
  async find(credential: string): Promise<Client | undefined> {
    const known = this.clients.get(credential) ?? this.strangers.get(credential)
    const now = this.options.clock()
    if (known && now >= known.since && now < known.until) return known.client
    const found = this.looking.get(credential) ?? this.look(credential, known)
    return known?.client ?? found
  }

  private look(credential: string, known: Known | undefined): Promise<Client | undefined> {
    const found = this.read(credential, known).finally(() => this.looking.delete(credential))
    this.looking.set(credential, found)
    return found
  }

  private async read(credential: string, known: Known | undefined): Promise<Client | undefined> {
    const { client, tableName, deadlineMs, log, ttlMs, negativeTtlMs } = this.options
    try {
      const { pk, sk } = clientKey(credential)
      const command = new GetItemCommand({ TableName: tableName, Key: { pk: { S: pk }, sk: { S: sk } } })
      const { Item } = await client.send(command, { abortSignal: AbortSignal.timeout(deadlineMs) })
      const issues: string[] = []
      const found = Item ? parseClientItem(fromAttributes(Item), issues) : undefined
      if (issues.length > 0)
        log('error', 'a client in the config table is wrong', { item: `client#${shown(credential)}`, issues }, 'ConfigErrors')
      const right = issues.length > 0 ? known?.client : found
      return this.remember(credential, right, right ? ttlMs : negativeTtlMs)
    } catch (error) {
      log('error', 'a client cannot be looked up', { table: tableName, ...errorDetails(error) })
      return known && this.remember(credential, known.client, Math.min(RETRY_AFTER_MS, ttlMs))
    }
  }

  private remember(credential: string, client: Client | undefined, forMs: number): Client | undefined {
    this.clients.delete(credential)
    this.strangers.delete(credential)
    const map = client ? this.clients : this.strangers
    const since = this.options.clock()
    map.set(credential, { client, since, until: since + forMs })
    if (map.size > MOST_KEYS) map.delete(map.keys().next().value!)
    return client
  }
}

/** A credential as a log may have it: what is no hash yet, such as `user:alice@example.com`, is made one. */
function shown(credential: string): string {
  const [kind, ...value] = credential.split(':')
  return value.length === 0 ? credential : `${kind}:sha256-${hash('sha256', value.join(':'))}`
}
