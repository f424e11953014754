import type { AnyPolicyInput, Standing } from '../../limiter'
import { createLimiter, DynamoDbStore } from '../../limiter'
import { connect } from '../../local/dynamodb'

/** What one process is to do: `requests` for one subject, as many of them at a time as it has `lanes`. */
export interface Job {
  readonly endpoint: string
  readonly tableName: string
  readonly subject: string
  readonly policies: readonly AnyPolicyInput[]
  readonly requests: number
  readonly lanes: number
  /** For how many milliseconds each admitted request runs, which acquires a slot. @default it only takes */
  readonly runMs?: number
  /** Reservations that each process settles to so many units, all at the same time. @default none */
  readonly settle?: { readonly reservations: readonly string[]; readonly used: number }
}

export interface Tally {
  /** What each admitted request was told of each policy. */
  readonly admitted: readonly Readonly<Record<string, Standing>>[]
  readonly denied: number
  /** From when to when each admitted request ran, in epoch milliseconds. */
  readonly ran: readonly (readonly [from: number, to: number])[]
  /** Everything that was thrown, and decisions that did not come from the store. */
  readonly failures: readonly string[]
  /** Reservations that it was the one to settle. */
  readonly settled: number
  /** Requests that DynamoDB got. */
  readonly calls: number
}

/**
 * One of several processes that take from one subject at the same time, each on its own: nothing is shared but the
 * table.
 */
process.on('message', async (job: Job) => process.send!(await contend(job)))
process.on('disconnect', () => process.exit())
process.send!('ready')

async function contend({
  endpoint,
  tableName,
  subject,
  policies,
  requests,
  lanes,
  runMs,
  settle,
}: Job): Promise<Tally> {
  const client = connect(endpoint)
  let calls = 0
  client.middlewareStack.add(
    (next) => (request) => {
      calls++
      return next(request)
    },
    { step: 'finalizeRequest' },
  )
  const limiter = createLimiter({
    store: new DynamoDbStore({ client, tableName }),
    policies,
    deadlineMs: 120_000, // the answer is looked for here, not its speed
    onStoreError: 'throw',
  })

  const admitted: Readonly<Record<string, Standing>>[] = []
  const ran: [number, number][] = []
  const failures: string[] = []
  let denied = 0
  let left = requests
  const run = async (ms: number) => {
    const slot = await limiter.acquire(subject)
    if (!slot.allowed) return slot
    const from = Date.now()
    await new Promise((resolve) => setTimeout(resolve, ms))
    ran.push([from, Date.now()])
    if (!(await slot.release())) failures.push('a slot was gone before its release')
    return slot
  }
  const lane = async () => {
    while (left-- > 0) {
      try {
        const decision = await (runMs === undefined ? limiter.take(subject) : run(runMs))
        if (decision.degraded) failures.push('degraded')
        else if (decision.allowed) admitted.push(decision.policies)
        else denied++
      } catch (error) {
        failures.push(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  let settled = 0
  for (const reservation of settle?.reservations ?? []) if (await limiter.settle(reservation, settle!.used)) settled++
  client.destroy()
  return { admitted, denied, ran, failures, calls, settled }
}
