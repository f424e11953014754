import { createLimiter, DynamoDbStore, type PolicyInput } from '../../limiter'
import { connect } from '../../local/dynamodb'

/** What one process is to do: to keep `waiting` calls to a partner waiting, for so long. */
export interface CallerJob {
  readonly endpoint: string
  readonly tableName: string
  readonly partner: string
  readonly process: number
  readonly policies: readonly PolicyInput[]
  readonly waiting: number
  readonly forMs: number
  readonly lagMs?: number
}

/** One of several processes that call one partner: nothing is shared but the table. */
process.on('message', async (job: CallerJob) => process.send!(await call(job)))
process.on('disconnect', () => process.exit())
process.send!('ready')

/** @returns how long each call waited, in milliseconds. */
async function call({ endpoint, tableName, partner, process, policies, waiting, forMs, lagMs }: CallerJob) {
  const client = connect(endpoint)
  const limiter = createLimiter({ store: new DynamoDbStore({ client, tableName }), policies, onStoreError: 'throw' })
  const aborter = new AbortController()
  setTimeout(() => aborter.abort(), forMs)
  const { signal } = aborter
  const waits: number[] = []
  const lane = async (): Promise<void> => {
    while (!signal.aborted) {
      const from = performance.now()
      await limiter.waitFor('partner', { signal, lagMs })
      waits.push(performance.now() - from)
      await fetch(`${partner}/${process}`).then((response) => response.arrayBuffer())
    }
  }
  await Promise.allSettled(Array.from({ length: waiting }, lane))
  await limiter.close()
  client.destroy()
  return waits
}
