import type { PolicyInput } from '../../limiter'
import type { Product } from '../product'

const HOUR = 3_600_000

interface Input {
  /** File of the compiled library. */
  readonly product: string
  readonly policies: readonly PolicyInput[]
  readonly subjects: number
  /** The moment at which the item is up to date, in epoch milliseconds. */
  readonly now: number
  /** An item as the engine returns it. */
  readonly attributes: unknown
}

/**
 * Prints by how many bytes the heap has grown once a limiter knows that many subjects. The client answers each write
 * with a fresh copy of one real item: in production, too, subjects share none, and nothing but the limiter keeps any.
 */
async function main({ product, policies, subjects, now, attributes }: Input): Promise<void> {
  let at = now
  const { createLimiter, DynamoDbStore } = require(product) as Product
  const answer = JSON.stringify({ Attributes: attributes })
  const client = { send: async () => JSON.parse(answer) }
  const store = new DynamoDbStore({ client: client as never, tableName: 'memory' })
  const limiter = createLimiter({
    store,
    policies,
    onStoreError: 'throw',
    maxSubjects: subjects,
    clock: () => at,
    deadlineMs: 60_000,
  })

  for (let i = 0; i < 1000; i++) await limiter.take('client:warm')
  const before = heapUsed()
  for (let i = 0; i < subjects; i++) await limiter.take(`client:${i}`)
  at += HOUR // every subject comes again in later windows
  for (let i = 0; i < subjects; i++) await limiter.take(`client:${i}`)
  console.log(heapUsed() - before)
  await limiter.take('client:0') // keeps the limiter from being collected before the heap is measured
}

function heapUsed(): number {
  for (let i = 0; i < 3; i++) globalThis.gc!()
  return process.memoryUsage().heapUsed
}

void main(JSON.parse(process.argv[2]!))
