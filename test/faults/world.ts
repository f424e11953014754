import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { clientKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { createLimiter, createStateTable, DynamoDbStore, type Limiter, type PolicyInput } from '../../limiter'
import { awsEnvironment, connect } from '../../local/dynamodb'
import type { Engine } from '../../local/engines/engine'
import { itemsOf } from '../../provisioning/tiers-file'
import { createConfigTable } from '../../tiered/create-config-table'
import { Bundle, type Instance } from './instance'
import { Network } from './network'
import { FaultyDynamoDb } from './proxy'

export const TABLES = { state: 'state-under-fault', config: 'config-under-fault' } as const

/** A window so long that no units come back: exactly the limit must be admitted. */
const WINDOW = '365d'
export const LIMIT = 6

/** The deadlines of a decision and of an instance's first decision. */
export const DEADLINE_MS = 300
export const FIRST_DEADLINE_MS = 2000

/** The limits of each address and of each client. */
const POLICIES: readonly PolicyInput[] = [
  { name: 'per-year', limit: LIMIT, window: WINDOW },
  { name: 'roomy', algorithm: 'fixed-window', limit: 1000, window: WINDOW },
]

export const PAID = 'paid'

/** The set-up of all cells: an engine with both tables, the bundle and the network. */
export class World {
  readonly network = new Network()
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-faults-'))
  /** The file that Lambda loads. */
  readonly bundleFile: string
  private readonly bundle: Bundle
  private readonly direct: ReturnType<typeof connect>
  private readonly counter: Limiter
  private subjects = 0
  private hosts = 0

  private constructor(private readonly engine: Engine) {
    // which the bundle reads when it first signs
    Object.assign(process.env, awsEnvironment(), { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' })
    this.bundleFile = buildAuthorizerBundle(this.folder)
    this.bundle = new Bundle(this.bundleFile)
    this.direct = connect(engine.endpoint)
    this.counter = createLimiter({
      store: new DynamoDbStore({ client: this.direct, tableName: TABLES.state }),
      policies: POLICIES,
      onStoreError: 'throw',
      denialTtlMs: 0,
      deadlineMs: 10_000,
    })
  }

  /** @param engine is stopped together with this. */
  static async open(engine: Engine): Promise<World> {
    const world = new World(engine)
    await world.createTables()
    return world
  }

  /** Creates both tables and the tiers, as an operator does. */
  async createTables(): Promise<void> {
    await createStateTable(this.direct, TABLES.state)
    await createConfigTable(this.direct, TABLES.config)
    for (const item of itemsOf({ tiers: { anonymous: { policies: POLICIES }, [PAID]: { policies: POLICIES } } }))
      await this.put(item)
  }

  /** Creates a client whose key is its id. */
  async client(): Promise<string> {
    const id = `client-${++this.subjects}`
    await this.put({ ...clientKey(hashApiKey(id)), id, tier: PAID })
    return id
  }

  private async put(item: object): Promise<void> {
    await this.direct.send(new PutItemCommand({ TableName: TABLES.config, Item: marshall(item) }))
  }

  /** A new address. */
  address(): string {
    const number = ++this.subjects
    return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`
  }

  /** The engine's own address. */
  get endpoint(): string {
    return this.engine.endpoint
  }

  /** A table with faults. @param secure whether it uses TLS. */
  async table(secure: boolean): Promise<{ readonly table: FaultyDynamoDb; readonly endpoint: string }> {
    const table = new FaultyDynamoDb(this.engine.endpoint, secure)
    await table.listen()
    return { table, endpoint: this.network.add(`table-${this.hosts++}`, table, secure) }
  }

  /** A new instance without requests so far. @param endpoint of the table. @default the engine's own */
  instance(environment: Readonly<Record<string, string>> = {}, endpoint = this.engine.endpoint): Instance {
    return this.bundle.open({ ...this.environment(endpoint), ...environment })
  }

  /** The environment of instances. */
  environment(endpoint: string): Record<string, string> {
    return {
      SLUICE_STATE_TABLE: TABLES.state,
      SLUICE_CONFIG_TABLE: TABLES.config,
      SLUICE_DYNAMODB_ENDPOINT: endpoint,
      SLUICE_DEADLINE_MS: String(DEADLINE_MS),
    }
  }

  /** Charges units of an address from outside the instances. */
  async charge(ip: string, units: number): Promise<void> {
    if (units > 0) await this.counter.take(`ip:${ip}`, { cost: units })
  }

  /** The units charged to an address in the table. */
  charged(ip: string): Promise<number> {
    return this.chargedTo(`ip:${ip}`)
  }

  /** The units charged to a client in the table. */
  chargedToClient(id: string): Promise<number> {
    return this.chargedTo(`client:${id}`)
  }

  private async chargedTo(subject: string): Promise<number> {
    return LIMIT - (await this.counter.peek(subject, { cost: 0 })).policies['per-year']!.remaining
  }

  async close(): Promise<void> {
    this.network.restore()
    this.direct.destroy()
    rmSync(this.folder, { recursive: true, force: true })
    await this.engine.stop()
  }
}
