import { createInterface } from 'node:readline'
import { DynamoDB, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { RateLimiterDynamo, RateLimiterMemory } from 'rate-limiter-flexible'
import { createLimiter, createStateTable, DynamoDbStore, type PolicyInput } from '../../limiter'
import type { Answer, Command, LimitSpec, Taken, TakeSpec } from '../peers/contender'
import { createRivalTable, RIVAL_TABLE } from '../rival'
import { percentile } from '../statistics'

/** Resolves to a decision; an exception counts as an error. */
type Outcome = { readonly allowed: boolean; readonly degraded?: boolean }
type Take = (subject: string, cost: number) => Promise<Outcome>

interface Product {
  /** Makes its table. */
  prepare(): Promise<void>
  limiter(spec: LimitSpec): Promise<Take>
}

const [, , name, endpoint] = process.argv as [string, string, string, string]
const connection = { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' } }

const SLUICE_FORMS: Readonly<Record<LimitSpec['kind'], PolicyInput['algorithm']>> = {
  window: 'sliding-window',
  bucket: 'token-bucket',
  fixed: 'fixed-window',
  log: 'sliding-log',
}

/** Set up as its README says, with a deadline that suits a busy machine. */
function sluice(withSdk: boolean): Product {
  const client = new DynamoDBClient({ ...connection, maxAttempts: 1 })
  const tableName = `bench-peers-${withSdk ? 'sdk' : 'direct'}`
  return {
    prepare: () => createStateTable(client, tableName),
    limiter: async ({ name: policy, units, seconds, kind }) => {
      const store = new DynamoDbStore({ ...(withSdk ? { client } : connection), tableName })
      const policies = [{ name: policy, algorithm: SLUICE_FORMS[kind], limit: units, window: `${seconds}s` }]
      const limiter = createLimiter({ store, policies, deadlineMs: 5000 })
      return async (subject, cost) => {
        const { allowed, degraded } = await limiter.take(`${policy}:${subject}`, { cost })
        return { allowed, degraded }
      }
    },
  }
}

/**
 * Its DynamoDB limiter on a client with the SDK's own settings. It has fixed windows only, so a bucket becomes a fixed
 * window.
 */
function flexible(withMemory: boolean): Product {
  const storeClient = new DynamoDB(connection)
  return {
    prepare: () => createRivalTable(storeClient),
    limiter: async ({ name: limit, units: points, seconds: duration }) => {
      const keyPrefix = `${withMemory ? 'memory' : 'plain'}-${limit}` // both are in one table
      const memory = withMemory && {
        inMemoryBlockOnConsumed: points,
        insuranceLimiter: new RateLimiterMemory({ keyPrefix, points, duration }),
      }
      const limiter = await new Promise<RateLimiterDynamo>((resolve, reject) => {
        const options = {
          storeClient,
          tableName: RIVAL_TABLE,
          tableCreated: true,
          ttlSet: true,
          keyPrefix,
          points,
          duration,
          ...memory,
        }
        const made = new RateLimiterDynamo(options, (error?: Error) =>
          error ? reject(error) : queueMicrotask(() => resolve(made)),
        )
      })
      return async (subject, cost) => {
        try {
          await limiter.consume(subject, cost)
          return { allowed: true }
        } catch (rejection) {
          if (rejection instanceof Error) throw rejection
          return { allowed: false }
        }
      }
    },
  }
}

const PRODUCTS: Readonly<Record<string, () => Product>> = {
  sluice: () => sluice(false),
  'sluice with the SDK': () => sluice(true),
  'rate-limiter-flexible': () => flexible(false),
  'rate-limiter-flexible with memory': () => flexible(true),
}

async function run(take: Take, { prefix, subjects, requests, inFlight, cost }: TakeSpec): Promise<Taken> {
  const tally = { allowed: 0, denied: 0, errors: 0, degraded: 0 }
  const allowedAt: number[] = []
  const times: number[] = []
  let reason: string | null = null
  let next = 0
  const line = async (): Promise<void> => {
    while (next < requests) {
      const subject = `${prefix}:${next++ % subjects}`
      const start = performance.now()
      try {
        const { allowed, degraded } = await take(subject, cost)
        tally[allowed ? 'allowed' : 'denied']++
        if (degraded) tally.degraded++
        if (allowed) allowedAt.push(Date.now())
      } catch (error) {
        tally.errors++
        reason ??= error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      }
      times.push(performance.now() - start)
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: inFlight }, line))
  const elapsedMs = performance.now() - start
  return { ...tally, reason, elapsedMs, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99), allowedAt }
}

/** One product as a process: lines of JSON in, lines of JSON out. */
async function main(): Promise<void> {
  const product = PRODUCTS[name]?.()
  if (!product) throw new Error(`there is no contender "${name}"`)
  await product.prepare()
  const limiters = new Map<string, Take>()
  const answer = async (command: Command): Promise<Taken | null> => {
    if (command.do === 'take') return run(limiters.get(command.limit)!, command)
    limiters.set(command.name, await product.limiter(command))
    return null
  }
  console.log('ready')
  createInterface({ input: process.stdin })
    .on('line', async (line) => {
      const command = JSON.parse(line) as Command
      const reply: Answer = await answer(command).then(
        (value) => ({ id: command.id, value }),
        (error: Error) => ({ id: command.id, error: error.message }),
      )
      console.log(JSON.stringify(reply))
    })
    .once('close', () => process.exit())
}

void main()
