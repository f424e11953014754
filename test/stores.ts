import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { ConnectionOptions } from '../limiter/stores/connection'
import { DynamoDbStore } from '../limiter/stores/dynamodb-store'
import { MemoryStore } from '../limiter/stores/memory-store'
import { createTable, STATE_TABLE } from '../limiter/stores/state-table'
import type { StateStore } from '../limiter/stores/store'
import { awsEnvironment, connect } from '../local/dynamodb'
import type { Engine, EngineName } from '../local/engines/engine'
import { startEngine } from '../local/engines/start-engine'
import { dynoxide, runsDynoxide } from './engines-left'
import { runs } from './runs'

/** A store to test, opened when the tests begin. */
export interface OpenStore {
  readonly store: StateStore
  /** How to reach the engine below it, where there is one. */
  readonly client?: DynamoDBClient
  readonly endpoint?: string
  close(): Promise<void>
}

export const TABLE = 'state-under-test'

/** Tests that are run for each of a thousand mutants of the limiter, see docs/testing.md. */
export const UNDER_MUTATION = process.env.SLUICE_UNDER_MUTATION === 'true' && 'the limiter is mutated, on memory alone'

/** The engines of suites that an engine hardly differs for: one in `npm test`, all that run here with `THOROUGH=1`. */
export const ENGINES: readonly EngineName[] = runsDynoxide()
  ? (['dynoxide', 'dynalite'] as const).slice(0, runs(1, 2))
  : ['dynalite']

export interface OpenEngine extends OpenStore {
  readonly client: DynamoDBClient
  readonly endpoint: string
}

/** An engine without tables. */
export const engineFor = async (engine: EngineName = ENGINES[0]!): Promise<Engine> =>
  engine === 'dynoxide' ? dynoxide() : startEngine({ engine })

export const openEngine = async (engine: EngineName, way?: Way): Promise<OpenEngine> =>
  openOn(await engineFor(engine), way)

/** How a store calls DynamoDB. */
export type Way = 'direct' | 'by the SDK'

/**
 * Makes the state table on an engine, and stops the engine when closed. It has no TTL: DynamoDB Local deletes by the
 * system's clock, and tests have clocks of their own.
 */
export async function openOn({ endpoint, stop }: Engine, way: Way = 'direct'): Promise<OpenEngine> {
  const client = connect(endpoint)
  await createTable(client, TABLE, [STATE_TABLE.partitionKey])
  return {
    store: new DynamoDbStore({ tableName: TABLE, ...(way === 'direct' ? connectionTo(endpoint) : { client }) }),
    client,
    endpoint,
    async close() {
      client.destroy()
      await stop()
    },
  }
}

/** By which a store calls an engine without the SDK. */
function connectionTo(endpoint: string): ConnectionOptions {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_REGION: region,
  } = awsEnvironment()
  return { endpoint, region, credentials: { accessKeyId, secretAccessKey } }
}

const openMemory = async (): Promise<OpenStore> => ({ store: new MemoryStore(), close: async () => {} })

/** The stores of `npm test`: the engines are all asked with `THOROUGH=1`, and by the store contract. */
const EVERYDAY: readonly string[] = ['memory', ENGINES[0]!]

/**
 * Runs tests once for each store that runs on this machine, and says why one does not.
 *
 * @param everyday the stores of `npm test`. @default memory and one engine
 */
export function describeStores(
  tests: (opened: () => OpenStore, name: string) => void,
  everyday: readonly string[] = EVERYDAY,
): void {
  const stores = [
    { name: 'memory', open: openMemory },
    { name: 'dynalite', open: () => openEngine('dynalite'), gap: UNDER_MUTATION },
    {
      name: 'dynoxide',
      open: () => openEngine('dynoxide'),
      gap: UNDER_MUTATION || (!runsDynoxide() && 'its binary is for Linux on x64'),
    },
  ]
  const chosen = stores.filter(({ name }) => process.env.THOROUGH || everyday.includes(name))
  for (const { name, open, gap } of chosen) {
    const group = gap ? describe.skip : describe
    group(`on ${name}${gap ? ` (skipped: ${gap})` : ''}`, () => {
      let opened: OpenStore
      beforeAll(async () => {
        opened = await open()
      })
      afterAll(async () => opened?.close())
      tests(() => opened, name)
    })
  }
}
