import type { DynamoDB } from '@aws-sdk/client-dynamodb'
import { RateLimiterDynamo, RateLimiterUnion } from 'rate-limiter-flexible'
import type { PolicyInput } from '../limiter'
import type { CountingClient } from './engine'

const secondsOf = (window: string): number =>
  Number.parseInt(window, 10) * { s: 1, m: 60, h: 3600, d: 86_400 }[window.at(-1) as 's']
/** The table that all of its limiters share. */
export const RIVAL_TABLE = 'bench-rate-limiter-flexible'

/** rate-limiter-flexible with the same limits. */
export interface Rival {
  /** Throws when a request is denied. */
  take(subject: string): Promise<unknown>
  /** What it has counted for a subject under one limit. */
  counted(subject: string, policy: string): Promise<number>
}

/**
 * One `RateLimiterDynamo` for each limit, all in one table. Where there are several, its `RateLimiterUnion` asks them
 * in parallel.
 *
 * Its fastest set-up: the table exists beforehand, and with `ttlSet` it makes no call about TTL.
 *
 * @param blocks `inMemoryBlockOnConsumed`, which saves calls for denials: a limiter answers those who are past its
 * limit from memory.
 */
export async function limiterUnion(
  storeClient: CountingClient,
  policies: readonly PolicyInput[],
  blocks = false,
): Promise<Rival> {
  await createRivalTable(storeClient)
  const limiters = new Map<string, RateLimiterDynamo>()
  for (const { name, limit, window } of policies)
    limiters.set(name, await ready(storeClient, `${policies.length}-${name}`, limit, secondsOf(window), blocks))
  const [first] = limiters.values()
  const limiter = limiters.size === 1 ? first! : new RateLimiterUnion(...limiters.values())
  return {
    take: (subject) => limiter.consume(subject),
    counted: async (subject, policy) => (await limiters.get(policy)!.get(subject))?.consumedPoints ?? 0,
  }
}

async function ready(
  storeClient: CountingClient,
  keyPrefix: string,
  points: number,
  duration: number,
  blocks: boolean,
): Promise<RateLimiterDynamo> {
  return new Promise((resolve, reject) => {
    const table = { storeClient, tableName: RIVAL_TABLE, tableCreated: true, ttlSet: true }
    const options = { ...table, keyPrefix, points, duration, ...(blocks && { inMemoryBlockOnConsumed: points }) }
    const limiter = new RateLimiterDynamo(options, (error?: Error) =>
      error ? reject(error) : queueMicrotask(() => resolve(limiter)),
    )
  })
}

/** Makes its table where it is missing. */
export async function createRivalTable(client: DynamoDB, tableName = RIVAL_TABLE): Promise<void> {
  try {
    await client.createTable({
      TableName: tableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'key', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'key', KeyType: 'HASH' }],
    })
  } catch (error) {
    if ((error as Error).name !== 'ResourceInUseException') throw error
  }
}
