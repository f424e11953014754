import { createLimiter, DynamoDbStore, type PolicyInput } from '../../limiter'
import { connect } from '../../local/dynamodb'

/** The work of a process: a few requests for one subject every few milliseconds, for so long. */
export interface Lease {
  readonly endpoint: string
  readonly tableName: string
  readonly policies: readonly PolicyInput[]
  readonly forMs: number
}

/** When each admitted request was sent and answered, in epoch milliseconds, and what went wrong. */
export interface Spent {
  readonly admitted: readonly (readonly [from: number, to: number])[]
  readonly asked: number
  readonly failures: readonly string[]
}

const AT_ONCE = 10
const EVERY_MS = 10

process.on('message', async (lease: Lease) => process.send!(await spend(lease)))
process.on('disconnect', () => process.exit())
process.send!('ready')

async function spend({ endpoint, tableName, policies, forMs }: Lease): Promise<Spent> {
  const client = connect(endpoint)
  const store = new DynamoDbStore({ client, tableName })
  const limiter = createLimiter({ store, policies, deadlineMs: 10_000, onStoreError: 'throw' })
  const admitted: [number, number][] = []
  const failures: string[] = []
  let asked = 0
  const ask = async () => {
    asked++
    const from = Date.now()
    try {
      if ((await limiter.take('everybody')).allowed) admitted.push([from, Date.now()])
    } catch (error) {
      failures.push(String(error))
    }
  }
  const endsAt = Date.now() + forMs
  while (Date.now() < endsAt) {
    await Promise.all([
      ...Array.from({ length: AT_ONCE }, ask),
      new Promise((resolve) => setTimeout(resolve, EVERY_MS)),
    ])
  }
  client.destroy()
  return { admitted, asked, failures }
}
