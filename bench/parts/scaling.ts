import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { createStateTable, type Limiter } from '../../limiter'
import { subjectKey } from '../../limiter/subject-key'
import { CountingStore } from '../counting-store'
import { CountingClient } from '../engine'
import { type Figure, type Goal, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { mixedSet, windowSet } from '../policies'
import { below, seeded } from '../random'
import { interleaved, median, ratios, summary } from '../statistics'

const TABLE = 'bench-scaling'
const POLICIES = [1, 4, 10, 20, 30] as const
const FLAT_CALLS = { atMost: 1.02 }
/** A time is "flat" if it is less than a quarter longer than that with ten. */
const FLAT_TIME = { atMost: 1.25 }

/** Whether a decision takes longer with more policies, and with more subjects. */
export const scaling: Part = {
  title: 'From 1 to 30 policies, and from 10 to a million subjects',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, TABLE)
    const details: string[] = []
    const figures = [
      ...(await byPolicies(bench, client, details)),
      ...(await bySubjectsInStore(bench, client, details)),
      ...(await bySubjectsInMemory(bench, details)),
    ]
    client.destroy()
    return { figures, details }
  },
}

async function byPolicies(
  { engine, product, quick }: Bench,
  client: CountingClient,
  details: string[],
): Promise<Figure[]> {
  const decisions = quick ? 15 : 100
  const tally = new Map<number, { calls: number; decisions: number }>()
  const arms: Record<string, () => Promise<number>> = {}
  for (const count of POLICIES) {
    const store = new product.DynamoDbStore({ client, tableName: TABLE })
    const limiter = product.createLimiter({
      store,
      policies: mixedSet(count),
      deadlineMs: 10_000,
      onStoreError: 'throw',
    })
    arms[count] = async () => {
      const before = client.calls
      const took = await msPerDecision(limiter, decisions, (i) => `policies:${count}:${i % 60}`)
      const { calls = 0, decisions: taken = 0 } = tally.get(count) ?? {}
      tally.set(count, { calls: calls + client.calls - before, decisions: taken + decisions })
      return took
    }
  }
  const took = await interleaved(arms, { most: 30, least: quick ? 3 : 12, budgetMs: quick ? 500 : 20_000 })
  details.push(
    `Policies: ${POLICIES.map((count) => `${count}: ${median(took[count]!).toFixed(2)} ms`).join(', ')} a decision on ${engine.name}.`,
  )
  const callsAt = (count: number): number => tally.get(count)!.calls / tally.get(count)!.decisions
  return [
    toFigure('30 policies, mixed algorithms', {
      measured: callsAt(30),
      unit: 'calls',
      goal: FLAT_CALLS,
      notes: [`1 policy: ${callsAt(1).toFixed(3)}`],
    }),
    toFigure('time with 30 policies against 1', {
      ...summary(ratios(took[30]!, took[1]!)),
      unit: '×',
      goal: { atMost: 2 },
    }),
  ]
}

/** Real items in a table whose size stays the same, so that only the number of subjects that come differs. */
async function bySubjectsInStore(
  { engine, product, quick }: Bench,
  client: CountingClient,
  details: string[],
): Promise<Figure[]> {
  const [stored, many] = quick ? [1000, 200] : [100_000, 10_000]
  const store = new product.DynamoDbStore({ client, tableName: TABLE })
  const limiter = product.createLimiter({ store, policies: windowSet(4), deadlineMs: 10_000, onStoreError: 'throw' })
  await fill(limiter, client, stored)
  for (let i = 0; i < many; i++) await limiter.take(`subject:${i}`)

  const random = seeded(1)
  let unseen = many
  const decisions = quick ? 40 : 200
  const before = client.calls
  const took = await interleaved(
    {
      ten: () => msPerDecision(limiter, decisions, () => `subject:${below(random, 10)}`),
      many: () => msPerDecision(limiter, decisions, () => `subject:${below(random, many)}`),
      unseen: () => msPerDecision(limiter, decisions, () => `subject:${unseen++ % stored}`),
    },
    { most: 40, least: quick ? 3 : 12, budgetMs: quick ? 500 : 15_000 },
  )
  const calls = (client.calls - before) / (3 * decisions * (took.ten.length + 1))
  const [tenMs, manyMs, unseenMs] = [took.ten, took.many, took.unseen].map((values) => median(values).toFixed(2))
  const [some, all] = [many, stored].map((number) => number.toLocaleString('en'))
  details.push(
    `Subjects, 4 policies, ${all} items in ${engine.name}: ${tenMs} ms a decision for ten, ${manyMs} ms for ${some}, ${unseenMs} ms unseen.`,
  )
  const against = (name: string, values: readonly number[], goal?: Goal) =>
    toFigure(name, { ...summary(ratios(values, took.ten)), unit: '×', goal })
  return [
    toFigure(`${all} subjects on the engine, 4 policies`, { measured: calls, unit: 'calls', goal: FLAT_CALLS }),
    against(`time with ${some} subjects on the engine against 10`, took.many, FLAT_TIME),
    against('time for one of them that this instance has not seen', took.unseen),
  ]
}

/** Subjects that the limiter knows, far more than by default; only the limiter's own work is measured. */
async function bySubjectsInMemory({ product, quick }: Bench, details: string[]): Promise<Figure[]> {
  const most = quick ? 10_000 : 1_000_000
  const store = new CountingStore(new product.MemoryStore({ maxSubjects: most }))
  const policies = windowSet(1)
  const limiter = product.createLimiter({
    store,
    policies,
    onStoreError: 'throw',
    deadlineMs: 10_000,
    maxSubjects: most,
  })
  for (let i = 0; i < most; i++) await limiter.take(`subject:${i}`)

  const random = seeded(2)
  const decisions = quick ? 500 : 4000
  const among = (subjects: number) => () =>
    msPerDecision(limiter, decisions, () => `subject:${below(random, subjects)}`)
  const before = store.calls
  const took = await interleaved(
    { ten: among(10), most: among(most) },
    { most: 40, least: 5, budgetMs: quick ? 500 : 6000 },
  )
  const calls = (store.calls - before) / (2 * decisions * (took.ten.length + 1))
  const [tenUs, mostUs] = [took.ten, took.most].map((values) => Math.round(1000 * median(values)))
  const name = `${most.toLocaleString('en')} subjects in memory`
  details.push(`${name}, 1 policy, all known, no SDK: ${tenUs} µs a decision for ten of them, ${mostUs} µs for all.`)
  return [
    toFigure(`${name}, 1 policy`, { measured: calls, unit: 'calls', goal: FLAT_CALLS }),
    toFigure(`time with ${name} against 10`, { ...summary(ratios(took.most, took.ten)), unit: '×' }),
  ]
}

/** Puts the state of a subject that was just seen under the keys of many. */
async function fill(limiter: Limiter, client: CountingClient, most: number): Promise<void> {
  for (let i = 0; i < 3; i++) await limiter.take('subject:0')
  const { Item } = await client.send(
    new GetItemCommand({ TableName: TABLE, Key: { pk: { S: subjectKey('subject:0') } } }),
  )
  const copies = Array.from({ length: most / 25 }, (_, batch) => batch * 25)
  const line = async () => {
    for (let from = copies.pop(); from !== undefined; from = copies.pop()) {
      const first = from
      const requests = Array.from({ length: 25 }, (_, i) => ({
        PutRequest: { Item: copy(Item!, `subject:${first + i}`) },
      }))
      await client.batchWriteItem({ RequestItems: { [TABLE]: requests } })
    }
  }
  await Promise.all(Array.from({ length: 8 }, line))
}

const copy = (item: Record<string, AttributeValue>, subject: string) => ({ ...item, pk: { S: subjectKey(subject) } })

async function msPerDecision(limiter: Limiter, decisions: number, subject: (i: number) => string): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < decisions; i++) {
    const { allowed } = await limiter.take(subject(i))
    if (!allowed) throw new Error('a request was denied that should have been allowed')
  }
  return (performance.now() - start) / decisions
}
