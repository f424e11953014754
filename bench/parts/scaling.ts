import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { createStateTable, type Limiter } from '../../lambda/limiter'
import { subjectKey } from '../../lambda/limiter/subject-key'
import { CountingStore } from '../counting-store'
import { CountingClient } from '../engine'
import { type Figure, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { mixedSet, windowSet } from '../policies'
import { below, seeded } from '../random'
import { interleaved, median, ratios, summary } from '../statistics'

const TABLE = 'bench-scaling'
const POLICIES = [1, 4, 10, 20, 30] as const
const IN_STORE = [10, 1000, 10_000, 100_000] as const
const IN_MEMORY = [10, 1000, 100_000, 1_000_000] as const
const FLAT_CALLS = { atMost: 1.02 }
/** "Flat": not a quarter slower than with ten. */
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

async function byPolicies({ engine, product, quick }: Bench, client: CountingClient, details: string[]): Promise<Figure[]> {
  const decisions = quick ? 15 : 100
  const tally = new Map<number, { calls: number; decisions: number }>()
  const arms: Record<string, () => Promise<number>> = {}
  for (const count of POLICIES) {
    const store = new product.DynamoDbStore({ client, tableName: TABLE })
    const limiter = product.createLimiter({ store, policies: mixedSet(count), deadlineMs: 10_000, onStoreError: 'throw' })
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
    toFigure('time with 30 policies against 1', { ...summary(ratios(took[30]!, took[1]!)), unit: '×', goal: { atMost: 2 } }),
  ]
}

/** Real items in a real table; the limiter has seen the last 50,000. */
async function bySubjectsInStore({ engine, product, quick }: Bench, client: CountingClient, details: string[]): Promise<Figure[]> {
  const most = quick ? 1000 : 100_000
  const sizes = IN_STORE.filter((size) => size <= most)
  const store = new product.DynamoDbStore({ client, tableName: TABLE })
  const policies = windowSet(4)
  const limiter = product.createLimiter({ store, policies, deadlineMs: 10_000, onStoreError: 'throw' })
  await fill(limiter, client, most)
  const { took, calls, decisions } = await bySubjects(limiter, sizes, quick ? 40 : 200, quick ? 500 : 15_000, () => client.calls)
  details.push(
    `Subjects in ${engine.name}, 4 policies: ${shown(sizes, took)} a decision; the largest table holds ${most.toLocaleString('en')} items.`,
  )
  const from = `${sizes.at(-1)!.toLocaleString('en')} subjects on the engine`
  return [
    toFigure(`${from}, 4 policies`, { measured: calls / decisions, unit: 'calls', goal: FLAT_CALLS }),
    toFigure(`time with ${from} against 10`, { ...summary(ratios(took[sizes.at(-1)!]!, took[10]!)), unit: '×', goal: FLAT_TIME }),
  ]
}

async function bySubjectsInMemory({ product, quick }: Bench, details: string[]): Promise<Figure[]> {
  const sizes = quick ? IN_MEMORY.slice(0, 2) : IN_MEMORY
  const most = sizes.at(-1)!
  const policies = windowSet(1)
  const store = new CountingStore(new product.MemoryStore({ maxSubjects: most }))
  const limiter = product.createLimiter({ store, policies, onStoreError: 'throw', deadlineMs: 10_000 })
  for (let i = 0; i < most; i++) await limiter.take(`subject:${i}`)
  const { took, calls, decisions } = await bySubjects(limiter, sizes, quick ? 500 : 4000, quick ? 500 : 6000, () => store.calls)
  details.push(
    `Subjects in a MemoryStore, 1 policy, no SDK: ${shown(sizes, took)} a decision; the limiter knows the last 50,000 (its default).`,
  )
  const name = `${most.toLocaleString('en')} subjects in memory`
  return [
    toFigure(`${name}, 1 policy`, { measured: calls / decisions, unit: 'calls', goal: FLAT_CALLS }),
    toFigure(`time with ${name} against 10`, { ...summary(ratios(took[most]!, took[10]!)), unit: '×' }),
  ]
}

/** Decides for subjects drawn at random among the first 10, the first 1000 and so on, in turns. */
async function bySubjects(limiter: Limiter, sizes: readonly number[], decisions: number, budgetMs: number, callsSoFar: () => number) {
  const random = seeded(sizes.length)
  const before = callsSoFar()
  const arm = (size: number) => () => msPerDecision(limiter, decisions, () => `subject:${below(random, size)}`)
  const took = await interleaved(Object.fromEntries(sizes.map((size) => [size, arm(size)])), { most: 40, least: 5, budgetMs })
  return { took, calls: callsSoFar() - before, decisions: decisions * sizes.length * (took[10]!.length + 1) }
}

/** Puts the state of a subject that was just seen under the keys of many. */
async function fill(limiter: Limiter, client: CountingClient, most: number): Promise<void> {
  for (let i = 0; i < 3; i++) await limiter.take('subject:0')
  const { Item } = await client.send(new GetItemCommand({ TableName: TABLE, Key: { pk: { S: subjectKey('subject:0') } } }))
  const copies = Array.from({ length: most / 25 }, (_, batch) => batch * 25)
  const line = async () => {
    for (let from = copies.pop(); from !== undefined; from = copies.pop()) {
      const first = from
      const requests = Array.from({ length: 25 }, (_, i) => ({ PutRequest: { Item: copy(Item!, `subject:${first + i}`) } }))
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

const shown = (sizes: readonly number[], took: Readonly<Record<number, number[]>>): string =>
  sizes.map((size) => `${size.toLocaleString('en')}: ${median(took[size]!).toFixed(3)} ms`).join(', ')
