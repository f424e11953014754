import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryCommand } from '@aws-sdk/client-dynamodb'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { createStateTable, MemoryStore } from '../../limiter'
import { authorizerInstance, CONFIG_TTL_MS } from '../authorizer'
import { eventOf } from '../authorizer-event'
import { type FirstDecision, firstDecision } from '../cold-start'
import { apiKeyOf, type ConfigSize, fillConfigTable } from '../config-tables'
import { CountingClient } from '../engine'
import { type Figure, type Goal, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { below, exponential, seeded } from '../random'
import { interleaved, median, ratios, summary } from '../statistics'

const STATE_TABLE = 'bench-config-state'
const SMALL = { tiers: 4, clients: 3, routes: 0 } as const satisfies ConfigSize
const LARGE = { tiers: 200, clients: 10_000, routes: 50 } as const satisfies ConfigSize

const START = Date.UTC(2026, 0, 15, 12)
const MINUTE = 60_000
const A_SECOND = 50

/** How often the config table is read, and whether a large one delays the first request. */
export const config: Part = {
  title: 'Looking up configuration',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    const large = bench.quick ? { ...LARGE, clients: 1000 } : LARGE
    const tables = { small: 'bench-config-small', large: 'bench-config-large' }
    await createStateTable(client, STATE_TABLE)
    await fillConfigTable(client, tables.small, SMALL)
    await fillConfigTable(client, tables.large, large)
    const figures = [
      await steadily(bench, client, tables.large, { clients: 10, anonymous: 2, goal: { atMost: 0.01 } }),
      await steadily(bench, client, tables.large, { clients: 100, anonymous: 20, goal: { atMost: 0.01 } }),
      await waits(bench, client, tables.large, { gapMs: 1000, goal: { atMost: 1 } }),
      await waits(bench, client, tables.large, { gapMs: 60_000 }),
    ]
    const items = { small: await itemsRead(client, tables.small), large: await itemsRead(client, tables.large) }
    client.destroy()
    const cold = await coldStarts(bench, tables, items)
    return {
      figures: [...figures, ...cold.figures],
      details: [
        `Steady: one instance, ${A_SECOND} requests a second at random moments (Poisson) by a simulated clock, ten minutes after one of warming up, through the`,
        `real authorizer; clients with keys, and anonymous callers of whom half have a made-up key. The policy set is read every ${CONFIG_TTL_MS / 1000} s, and`,
        `so is each key in use, up to a hundred of them in one call, whatever else there is in the table.`,
        `A request waits for the table where what is known of the policy set or its client is older than ${CONFIG_TTL_MS / 1000} s: one instance, one client,`,
        `requests at random moments. From five sixths of that age on the first request has it read in the background.`,
        ...cold.details,
      ],
    }
  },
}

interface Traffic {
  readonly clients: number
  readonly anonymous: number
  readonly goal: Goal
}

/**
 * Calls to the config table per decision. The state is in memory, since this part does not measure it.
 */
async function steadily(
  { quick }: Bench,
  client: CountingClient,
  tableName: string,
  { clients, anonymous, goal }: Traffic,
): Promise<Figure> {
  const random = seeded(clients)
  let now = START
  const clock = () => Math.floor(now)
  const pending: Promise<unknown>[] = []
  const send = (...args: Parameters<CountingClient['send']>) => {
    const answer = client.send(...args)
    pending.push(answer as unknown as Promise<unknown>)
    return answer
  }
  const store = new MemoryStore()
  const authorize = authorizerInstance({
    store,
    client: { send: send as CountingClient['send'] },
    configTable: tableName,
    clock,
  })
  const callers = [
    ...Array.from({ length: clients }, (_, i) => ({ path: '/hello', ip: '198.51.100.7', apiKey: apiKeyOf(i) })),
    ...Array.from({ length: anonymous }, (_, i) => ({
      path: '/hello',
      ip: `203.0.113.${i}`,
      ...(i % 2 === 0 && { apiKey: `made up ${i}` }),
    })),
  ].map(eventOf)

  const measureFrom = START + MINUTE
  const endsAt = measureFrom + (quick ? 1 : 10) * MINUTE
  const tally = { decisions: 0, calls: 0 }
  for (; now < endsAt; now += exponential(random, 1000 / A_SECOND)) {
    const before = client.calls
    const { context } = (await authorize(callers[below(random, callers.length)])) as { context: { reason: string } }
    if (context.reason !== 'ok') throw new Error(`a request was answered with "${context.reason}"`)
    await Promise.all(pending.splice(0)) // time stands still while the table is read
    if (now < measureFrom) continue
    tally.decisions++
    tally.calls += client.calls - before
  }
  return toFigure(`calls per decision, ${clients} clients and ${anonymous} anonymous callers`, {
    measured: tally.calls / tally.decisions,
    unit: 'calls',
    goal,
    notes: [`${tally.calls} calls for ${tally.decisions.toLocaleString('en')} decisions`],
  })
}

/** The share of one client's requests that wait for the config table on an instance that is rarely asked. */
async function waits(
  { quick }: Bench,
  client: CountingClient,
  tableName: string,
  { gapMs, goal }: { readonly gapMs: number; readonly goal?: Goal },
): Promise<Figure> {
  const random = seeded(gapMs)
  let now = START
  let pending: { isDone: boolean; readonly done: Promise<void> }[] = []
  const send = (...args: Parameters<CountingClient['send']>) => {
    const answer = client.send(...args) as unknown as Promise<unknown>
    const call = { isDone: false, done: answer.then(() => {}) }
    pending.push(call)
    return answer.finally(() => {
      call.isDone = true
    })
  }
  const authorize = authorizerInstance({
    store: new MemoryStore(),
    client: { send: send as unknown as CountingClient['send'] },
    configTable: tableName,
    clock: () => Math.floor(now),
  })
  const event = eventOf({ path: '/hello', ip: '198.51.100.7', apiKey: apiKeyOf(1) })
  const tally = { requests: 0, waited: 0, calls: 0 }
  for (let request = 0; request < (quick ? 100 : 1000); request++) {
    await authorize(event)
    const waitedFor = pending.filter(({ isDone }) => isDone).length
    await Promise.all(pending.map(({ done }) => done))
    pending = []
    now += exponential(random, gapMs)
    if (request === 0) continue // a cold start
    tally.requests++
    tally.calls += waitedFor
    if (waitedFor > 0) tally.waited++
  }
  return toFigure(`requests that wait for the config table, at one every ${gapMs / 1000} s`, {
    measured: (100 * tally.waited) / tally.requests,
    unit: '%',
    goal,
    notes: [
      `${tally.waited} of ${tally.requests} waited, for ${(tally.calls / (tally.waited || 1)).toFixed(1)} calls each`,
    ],
  })
}

/** The policy set's items: with the client's own, all that a first decision reads. */
async function itemsRead(client: CountingClient, TableName: string): Promise<number> {
  const partition = {
    KeyConditionExpression: `${CONFIG_TABLE.partitionKey} = :set`,
    ExpressionAttributeValues: { ':set': { S: CONFIG_TABLE.policySet } },
  }
  const { Count, LastEvaluatedKey } = await client.send(new QueryCommand({ TableName, Select: 'COUNT', ...partition }))
  if (LastEvaluatedKey) throw new Error('the policy set should be one page')
  return Count! + 1
}

/** First decisions of fresh processes that run the bundle, with one table and the other in turns. */
async function coldStarts(
  { engine, quick }: Bench,
  tables: Record<'small' | 'large', string>,
  items: Record<'small' | 'large', number>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  try {
    const bundle = buildAuthorizerBundle(folder)
    const event = eventOf({ path: '/hello', ip: '198.51.100.7', apiKey: apiKeyOf(1) })
    const seen: Record<'small' | 'large', FirstDecision[]> = { small: [], large: [] }
    const arm = (name: 'small' | 'large') => async () => {
      const first = firstDecision(bundle, engine, { state: STATE_TABLE, config: tables[name] }, event)
      seen[name].push(first)
      return first.ms
    }
    const limits = { most: quick ? 5 : 51, least: quick ? 5 : 25, budgetMs: 30_000 }
    const times = await interleaved({ small: arm('small'), large: arm('large') }, limits)
    const cpu = (name: 'small' | 'large') => seen[name].slice(1).map(({ cpuMs }) => cpuMs) // the first warmed up
    const asked = (name: 'small' | 'large') =>
      seen[name][0]!.calls.filter(({ operation }) => operation !== 'UpdateItem')
    const read = (name: 'small' | 'large') => {
      const bytes = asked(name).reduce((sum, call) => sum + call.bytes, 0)
      return `${asked(name)
        .map(({ operation }) => operation)
        .join(' + ')}, ${items[name]} items, ${(bytes / 1000).toFixed(0)} KB`
    }
    const one = (name: 'small' | 'large', title: string) =>
      toFigure(`first decision, ${title}`, {
        measured: asked(name).length,
        unit: 'calls',
        goal: { atMost: 3 },
        notes: [read(name)],
      })
    return {
      figures: [
        one('small', '4 tiers, 3 clients'),
        one('large', '200 tiers, 10,000 clients'),
        toFigure('its time with the large table against the small', {
          ...summary(ratios(times.large, times.small)),
          unit: '×',
          goal: { atMost: 1.25 },
        }),
        toFigure('its processor time, the same', { ...summary(ratios(cpu('large'), cpu('small'))), unit: '×' }),
      ],
      details: [
        `First decision: from the event to the answer, the bundle loaded; median ${median(times.small).toFixed(0)} and ${median(times.large).toFixed(0)} ms, processor ` +
          `${median(cpu('small')).toFixed(0)} and ${median(cpu('large')).toFixed(0)} ms, ${times.small.length} pairs of fresh processes, in turns.`,
        `Tables: 3 policies to a tier; the large one has 50 routes, too. The time has ${engine.name}'s in it, which reads the large table more slowly.`,
      ],
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
