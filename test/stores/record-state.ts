import { existsSync, writeFileSync } from 'node:fs'
import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { createLimiter, type PolicyInput } from '../../limiter'
import { subjectKey } from '../../limiter/subject-key'
import { openEngine, TABLE } from '../stores'

/**
 * Records what this release stores, and how it decides from that state:
 *
 *     npx tsx test/stores/record-state.ts test/vectors/recorded-state.json
 *
 * To be run once for each FORMAT (limiter/stores/attribute-prefix.ts) or new way of counting, by hand, into a file of
 * its own. It never replaces a file.
 */
export interface Recording {
  readonly subject: string
  readonly cases: readonly RecordedCase[]
}

interface RecordedCase {
  readonly policy: PolicyInput
  /** The stored item, as DynamoDB attribute values. */
  readonly item: Record<string, { S: string } | { N: string } | { L: { N: string }[] }>
  /** The requests that followed, and their answers. */
  readonly then: readonly RecordedStep[]
}

interface RecordedStep {
  /** Epoch milliseconds. */
  readonly at: number
  /** Units charged, 0 for a peek, negative for a refund. */
  readonly cost: number
  /** Infinity is null. Absent for a refund. */
  readonly decision?: Record<string, boolean | number | null>
}

const SUBJECT = 'client:recorded'

/** 2026-03-31T21:59:30Z: half a minute before April in Berlin, in the middle of a minute. */
const START = Date.UTC(2026, 2, 31, 21, 59, 30)

const window = '1m'
const POLICIES: readonly PolicyInput[] = [
  { name: 'fixed-window', algorithm: 'fixed-window', limit: 10, window },
  { name: 'calendar', algorithm: 'fixed-window', limit: 10, window: 'month', timezone: 'Europe/Berlin' },
  {
    name: 'overage',
    algorithm: 'fixed-window',
    limit: 7,
    window: 'month',
    timezone: 'Europe/Berlin',
    overage: 'allow',
  },
  { name: 'anchored-window', algorithm: 'anchored-window', limit: 10, window },
  { name: 'sliding-window', algorithm: 'sliding-window', limit: 10, window },
  { name: 'sliding-buckets', algorithm: 'sliding-buckets', limit: 10, window, buckets: 6 },
  { name: 'sliding-buckets-many', algorithm: 'sliding-buckets', limit: 400, window },
  { name: 'sliding-log', algorithm: 'sliding-log', limit: 10, window },
  { name: 'sliding-log-denied', algorithm: 'sliding-log', limit: 10, window, countDenied: true },
  { name: 'token-bucket', algorithm: 'token-bucket', limit: 10, window },
  { name: 'token-bucket-interval', algorithm: 'token-bucket', refill: 'interval', limit: 10, burst: 14, window },
  { name: 'leaky-bucket', algorithm: 'leaky-bucket', limit: 10, window },
  { name: 'leaky-bucket-queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 10, window, maxDelay: '40s' },
  { name: 'gcra', algorithm: 'gcra', limit: 10, burst: 12, window },
]

/** The requests before the item is recorded, and those after. */
const BEFORE = [
  { afterMs: 0, cost: 2 },
  { afterMs: 11_000, cost: 3 },
  { afterMs: 21_000, cost: 4 },
]
const AFTER = [
  { afterMs: 21_001, cost: 0 },
  { afterMs: 22_000, cost: 3 },
  { afterMs: 22_500, cost: 1 },
  { afterMs: 22_500, cost: 1 },
  { afterMs: 22_600, cost: 99 },
  { afterMs: 22_700, cost: -1 },
  { afterMs: 22_700, cost: 1 },
  { afterMs: 31_000, cost: 4 },
  { afterMs: 58_000, cost: 4 },
  { afterMs: 95_000, cost: 5 },
]

async function record(): Promise<Recording> {
  const engine = await openEngine('dynalite')
  const cases: RecordedCase[] = []
  for (const policy of POLICIES) {
    const clock = { at: START }
    const limiter = createLimiter({
      store: engine.store,
      clock: () => clock.at,
      policies: [policy],
      onStoreError: 'throw',
    })
    await limiter.reset(SUBJECT)
    for (const { afterMs, cost } of BEFORE) {
      clock.at = START + afterMs
      await limiter.take(SUBJECT, { cost })
    }
    const { Item } = await engine.client.send(
      new GetItemCommand({ TableName: TABLE, Key: { pk: { S: subjectKey(SUBJECT) } } }),
    )

    const then: RecordedStep[] = []
    for (const { afterMs, cost } of AFTER) {
      clock.at = START + afterMs
      if (cost < 0) {
        await limiter.refund(SUBJECT, -cost)
        then.push({ at: clock.at, cost })
      } else {
        const { allowed, remaining, resetAfterMs, retryAfterMs, delayMs, overage } = await limiter.take(SUBJECT, {
          cost,
        })
        const decision = {
          allowed,
          remaining,
          resetAfterMs,
          retryAfterMs: retryAfterMs === Infinity ? null : retryAfterMs,
          delayMs,
        }
        then.push({ at: clock.at, cost, decision: overage === undefined ? decision : { ...decision, overage } })
      }
    }
    cases.push({ policy, item: Item as RecordedCase['item'], then })
  }
  await engine.close()
  return { subject: SUBJECT, cases }
}

async function main(file: string | undefined): Promise<void> {
  if (file === undefined) throw new Error('usage: npx tsx test/stores/record-state.ts <new file>')
  if (existsSync(file))
    throw new Error(`${file} is there already, and what a release has stored never changes: name a new file`)
  writeFileSync(file, toText(await record()), { flag: 'wx' })
}

/** JSON with a line for each item and each step. */
function toText({ subject, cases }: Recording): string {
  const lines = cases.map(({ policy, item, then }) => {
    const steps = then.map((step) => `        ${JSON.stringify(step)}`).join(',\n')
    return `    {\n      "policy": ${JSON.stringify(policy)},\n      "item": ${JSON.stringify(item)},\n      "then": [\n${steps}\n      ]\n    }`
  })
  return `{\n  "subject": ${JSON.stringify(subject)},\n  "cases": [\n${lines.join(',\n')}\n  ]\n}\n`
}

if (require.main === module) void main(process.argv[2])
