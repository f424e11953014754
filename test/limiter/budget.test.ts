import fc from 'fast-check'
import { MemoryStore, type PolicyInput } from '../../limiter'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { toUpdate } from '../../limiter/stores/expressions'
import type { Item, ItemWrite } from '../../limiter/stores/store'
import { runs, thoroughly } from '../runs'
import { DYNAMODB, operatorsIn } from '../stores/expression-size'
import { anyHistory, anyPolicies, type Event, INSTANCES } from './histories'
import { runHistory } from './run-history'

/** A store that measures expressions and items as DynamoDB does. */
class Measuring extends MemoryStore {
  longest = 0
  most = 0
  largest = 0
  private readonly writes = new Set<string>()

  override async write(key: string, write: ItemWrite) {
    const { ConditionExpression, UpdateExpression } = toUpdate(write)
    this.longest = Math.max(this.longest, ConditionExpression.length, UpdateExpression.length)
    this.most = Math.max(
      this.most,
      operatorsIn(ConditionExpression, 'condition'),
      operatorsIn(UpdateExpression, 'update'),
    )
    this.writes.add(key)
    const outcome = await super.write(key, write)
    this.largest = Math.max(this.largest, bytesIn(await this.read(key)))
    return outcome
  }
}

/**
 * The size of an item: its names, for each number a byte for two digits and one more, and another for a number in a
 * list.
 */
function bytesIn({ policies, marks, expiresAtSeconds }: Item): number {
  const number = (value: number) =>
    Math.ceil(String(Math.abs(value)).replace(/0+$/, '').length / 2) + 1 + Number(value < 0)
  let bytes = 'pk'.length + 43 + 'exp'.length + number(expiresAtSeconds)
  for (const [mark, value] of Object.entries(marks)) bytes += mark.length + number(value)
  for (const [code, fields] of Object.entries(policies)) {
    for (const [name, value] of Object.entries(fields)) {
      bytes += code.length + name.length
      if (typeof value === 'number') bytes += number(value)
      else bytes += 3 + value.reduce((sum: number, entry) => sum + number(entry) + 1, 0)
    }
  }
  return bytes
}

const storedBytes = (policies: readonly PolicyInput[]): number =>
  parsePolicies(policies, [], []).reduce((sum, { counter }) => sum + counter.storedBytes, 512)

async function measured(policies: readonly PolicyInput[], history: readonly Event[]) {
  const store = new Measuring()
  const decisions = await runHistory(store, policies, history)
  expect(store.longest).toBeLessThanOrEqual(DYNAMODB.bytes)
  expect(store.most).toBeLessThanOrEqual(DYNAMODB.operators)
  expect(store.largest).toBeLessThanOrEqual(Math.min(DYNAMODB.itemBytes, storedBytes(policies)))
  return { store, decisions }
}

describe('with any policies and any history', () => {
  it('no expression and no item exceeds DynamoDB’s published limits, and no item exceeds the size that its policies announce', () =>
    fc.assert(
      fc.asyncProperty(anyPolicies, anyHistory, async (policies, history) => {
        await measured(policies, history)
      }),
      { numRuns: runs(6, 40) },
    ))

  const thirty = (more: object): PolicyInput[] =>
    Array.from(
      { length: 30 },
      (_, i) => ({ name: `p${i}`, limit: 500 + i, window: `${i + 1}m`, ...more }) as PolicyInput,
    )
  const ROUNDS = runs(2, 12)
  const rounds: Event[] = Array.from({ length: ROUNDS }, (_, i) => [
    { kind: 'take', instance: i % INSTANCES, cost: 4, times: 20, everyMs: 65_000 } as const,
    { kind: 'refund', instance: i % INSTANCES, units: 300, agoMs: 0 } as const,
    { kind: 'take', instance: 0, cost: 3, times: 30, everyMs: 900 } as const,
    { kind: 'wait', ms: 3_600_000 } as const,
  ]).flat()

  for (const [name, more] of Object.entries({
    'sliding windows': {},
    'fixed windows with overage': { algorithm: 'fixed-window', overage: 'allow', limit: 3 },
    'anchored windows': { algorithm: 'anchored-window' },
    'sliding buckets': { algorithm: 'sliding-buckets', buckets: 60 },
    'sliding buckets of one length': { algorithm: 'sliding-buckets', buckets: 120, window: '1h' },
    'sliding logs': { algorithm: 'sliding-log', countDenied: true },
    'token buckets by the interval': { algorithm: 'token-bucket', refill: 'interval' },
    'leaky buckets as queues': { algorithm: 'leaky-bucket', mode: 'queue' },
  })) {
    it(`thirty ${name} stay within those limits for days, and every request is decided`, async () => {
      const { decisions } = await measured(thirty(more), rounds)
      expect(decisions).toBe(ROUNDS * 50)
    })

    if ('overage' in more || 'countDenied' in more) continue
    it(`so do fifteen ${name} with lock-outs`, async () => {
      const policies = thirty({ ...more, blockFor: '5m', after: 2 }).slice(0, 15)
      const { decisions } = await measured(policies, rounds)
      expect(decisions).toBe(ROUNDS * 50)
    })
  }

  thoroughly('an item does not grow with time', async () => {
    const policies = thirty({ window: '1s' })
    const sizes: number[] = []
    const store = new Measuring()
    for (let days = 0; days < 3; days++) {
      store.largest = 0
      await runHistory(store, policies, [
        { kind: 'wait', ms: days * 86_400_000 },
        { kind: 'take', instance: 0, cost: 1, times: runs(60, 300), everyMs: 65_000 },
      ])
      sizes.push(store.largest)
    }
    expect(sizes[2]!).toBeLessThan(1.1 * sizes[1]!)
  })
})
