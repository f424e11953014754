import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { createStateTable, type PolicyInput } from '../../limiter'
import { subjectKey } from '../../limiter/subject-key'
import { CountingClient } from '../engine'
import { type Figure, toFigure } from '../figure'
import { itemBytes } from '../item-size'
import type { Bench, Part } from '../part'
import { mixedSet, PLENTY, windowSet } from '../policies'
import { buildProduct } from '../product'
import { below, exponential, seeded } from '../random'
import { median } from '../statistics'

const TABLE = 'bench-size'
const START = Date.UTC(2026, 0, 15, 12)
const SUBJECT = 'client:0123456789abcdef'
const KNOWN = 50_000

const WINDOWS = ['1s', '10s', '1m', '10m', '1h', '12h', '1d', '7d', '30d'] as const
const THIRTY_SLIDING: readonly PolicyInput[] = Array.from({ length: 30 }, (_, i) => ({
  name: `sliding-${i}`,
  limit: PLENTY,
  window: WINDOWS[i % WINDOWS.length]!,
}))

/** What is stored of a subject, and what an instance remembers of those it has seen. */
export const size: Part = {
  title: 'Item size and memory',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, TABLE)
    const figures: Figure[] = []
    for (const instances of [1, 10]) {
      figures.push(await stored(bench, client, '30 policies, mixed algorithms', mixedSet(30), instances))
      figures.push(await stored(bench, client, '30 policies, sliding-window', THIRTY_SLIDING, instances))
    }
    for (const count of [1, 4] as const) figures.push(await remembered(bench, client, count))
    client.destroy()
    return {
      figures,
      details: [
        'Item: the largest seen in steady traffic (a request every 2 s, at random moments, reaching instances at random), by the rules of',
        'docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html: a name its bytes, a number (digits / 2) + 1.',
        'The mixed set has one sliding log of 10 and one ring of 12 sub-windows; the other 28 take turns among the other forms.',
        `Memory: heap after garbage collection, in a process of its own, over a client that answers with items as ${bench.engine.name} returned them. 1 MB = 10⁶ bytes.`,
      ],
    }
  },
}

async function stored(
  { product, quick }: Bench,
  client: CountingClient,
  name: string,
  policies: readonly PolicyInput[],
  instances: number,
) {
  const random = seeded(instances)
  let now = START
  const subject = `${SUBJECT}:${name}:${instances}`
  const fleet = Array.from({ length: instances }, () => {
    const store = new product.DynamoDbStore({ client, tableName: TABLE })
    return product.createLimiter({ store, policies, clock: () => now, deadlineMs: 60_000, onStoreError: 'throw' })
  })
  const sizes: number[] = []
  for (let i = 0, requests = quick ? 60 : 600; i < requests; i++) {
    now += exponential(random, 2000)
    await fleet[below(random, instances)]!.take(subject)
    if (i > requests / 3) sizes.push(itemBytes(await itemOf(client, subject)))
  }
  const measured = Math.max(...sizes)
  const spread = { min: Math.min(...sizes), max: measured }
  const notes = [`median ${median(sizes)} bytes`]
  return toFigure(`${name}, ${instances === 1 ? 'one instance' : `${instances} instances`}`, {
    measured,
    unit: 'bytes',
    goal: { atMost: 1024 },
    spread,
    notes,
  })
}

async function itemOf(client: CountingClient, subject: string): Promise<Record<string, AttributeValue>> {
  const { Item } = await client.send(
    new GetItemCommand({ TableName: TABLE, Key: { pk: { S: subjectKey(subject) } }, ConsistentRead: true }),
  )
  return Item!
}

async function remembered({ product, quick }: Bench, client: CountingClient, count: 1 | 4): Promise<Figure> {
  const policies = windowSet(count)
  const store = new product.DynamoDbStore({ client, tableName: TABLE })
  let now = START
  const limiter = product.createLimiter({
    store,
    policies,
    clock: () => now,
    deadlineMs: 60_000,
    onStoreError: 'throw',
  })
  const subject = `${SUBJECT}:${count}`
  // a request in each previous window, so that the item has all that it ever stores
  for (const beforeMs of [86_400_000, 3_600_000, 60_000, 1000, 0]) {
    now = START - beforeMs
    await limiter.take(subject)
  }
  const subjects = quick ? KNOWN / 10 : KNOWN
  const input = { product: buildProduct(), policies, subjects, now, attributes: await itemOf(client, subject) }
  const child = join(__dirname, '..', 'children', 'memory.ts')
  const args = ['--expose-gc', '--import', 'tsx', child, JSON.stringify(input)]
  const bytes =
    Number(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) / subjects
  const name = `memory of ${KNOWN.toLocaleString('en')} known subjects, ${count === 1 ? '1 policy' : `${count} policies`}`
  return toFigure(name, {
    measured: (bytes * KNOWN) / 1e6,
    unit: 'MB',
    goal: { atMost: 64 },
    notes: [`${Math.round(bytes)} bytes a subject, measured with ${subjects.toLocaleString('en')}`],
  })
}
