import { UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { createStateTable } from '../../limiter'
import { CountingClient } from '../engine'
import { toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { PLENTY, windowSet } from '../policies'
import { interleaved, median, ratios, summary } from '../statistics'

const SUBJECTS = 200
const TABLE = 'bench-cpu'
type Arm = 'bare' | 'one' | 'four'

/** What a decision costs beside its call: the processor time of this process, garbage collection included. */
export const cpu: Part = {
  title: 'CPU per decision, against a bare UpdateItem',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, TABLE)
    const arms: Record<Arm, (subject: number) => Promise<unknown>> = {
      bare: (subject) => bareUpdate(client, subject),
      one: decision(bench, client, 1),
      four: decision(bench, client, 4),
    }
    const decisions = bench.quick ? 60 : 300
    const slice = (arm: Arm) => () => cpuMicroseconds(decisions, (i) => arms[arm](i % SUBJECTS))
    for (const arm of ['bare', 'one', 'four'] as const)
      for (let i = 0; i < (bench.quick ? 1 : 6); i++) await slice(arm)()
    const limits = { most: 60, least: bench.quick ? 5 : 20, budgetMs: bench.quick ? 1000 : 35_000 }
    const used = await interleaved({ bare: slice('bare'), one: slice('one'), four: slice('four') }, limits)
    client.destroy()
    const against = (name: string, arm: Arm, atMost: number) =>
      toFigure(name, {
        ...summary(ratios(used[arm], used.bare)),
        unit: '×',
        goal: { atMost },
        notes: [`${used.bare.length} rounds of ${decisions}`],
      })
    return {
      figures: [against('1 policy', 'one', 1.15), against('4 policies', 'four', 1.4)],
      details: [
        `Median CPU: ${[used.bare, used.one, used.four].map((values) => `${Math.round(median(values))} µs`).join(', ')} (bare, 1 policy, 4 policies),`,
        `user and system, one request at a time over ${SUBJECTS} subjects, all through one client on ${bench.engine.name} in a process of its own.`,
        'Bare: one SET, one ADD, one condition with an OR, ReturnValues ALL_OLD, no deadline.',
      ],
    }
  },
}

function decision({ product }: Bench, client: CountingClient, count: 1 | 4): (subject: number) => Promise<void> {
  const store = new product.DynamoDbStore({ client, tableName: TABLE })
  const limiter = product.createLimiter({
    store,
    policies: windowSet(count),
    deadlineMs: 10_000,
    onStoreError: 'throw',
  })
  return async (subject) => {
    const { allowed } = await limiter.take(`client:${count}:${subject}`)
    if (!allowed) throw new Error('a request was denied that should have been allowed')
  }
}

/** What one would write by hand for a counter with a limit. */
async function bareUpdate(client: CountingClient, subject: number): Promise<void> {
  await client.send(
    new UpdateItemCommand({
      TableName: TABLE,
      Key: { pk: { S: `client#bare-0123456789-0123456789-0123456789-0123-${subject}` } },
      UpdateExpression: 'SET seen = :now ADD used :one',
      ConditionExpression: 'attribute_not_exists(used) OR used <= :most',
      ExpressionAttributeValues: {
        ':now': { N: String(Date.now()) },
        ':one': { N: '1' },
        ':most': { N: String(PLENTY) },
      },
      ReturnValues: 'ALL_OLD',
    }),
  )
}

async function cpuMicroseconds(decisions: number, run: (i: number) => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage()
  for (let i = 0; i < decisions; i++) await run(i)
  const { user, system } = process.cpuUsage(start)
  return (user + system) / decisions
}
