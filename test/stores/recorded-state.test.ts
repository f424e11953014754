import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AttributeValue, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { createLimiter, type Decision } from '../../limiter'
import { type OpenEngine, openEngine, TABLE } from '../stores'
import type { Recording } from './record-state'

/**
 * Items that a release has stored are read by every later one, as long as the FORMAT in
 * limiter/stores/attribute-prefix.ts is theirs.
 *
 * Never regenerate a recording for a FORMAT that there is one for: such items are in users' tables, and a test that
 * changes with the code proves nothing. A new way of storing gets a new FORMAT or state schema, and a new file, which
 * record-state.ts writes.
 */
const RECORDINGS = ['recorded-state.json']

/** Asks the engine however long it takes, which is no part of what is recorded. */
const PATIENT = { deadlineMs: 10_000, onStoreError: 'throw' } as const

describe.each(RECORDINGS)('the recorded state in %s', (file) => {
  const { subject, cases } = JSON.parse(readFileSync(join(__dirname, '../vectors', file), 'utf8')) as Recording
  let engine: OpenEngine
  beforeAll(async () => {
    engine = await openEngine('dynalite')
  })
  afterAll(() => engine.close())

  test.each(cases)('is read by this release: $policy.name', async ({ policy, item, then }) => {
    await engine.client.send(new PutItemCommand({ TableName: TABLE, Item: item as Record<string, AttributeValue> }))
    const clock = { at: 0 }
    const limiter = createLimiter({
      store: engine.store,
      clock: () => clock.at,
      policies: [policy],
      ...PATIENT,
    })
    for (const { at, cost, decision } of then) {
      clock.at = at
      if (!decision) await limiter.refund(subject, -cost)
      else expect({ at, cost, ...toRecorded(await limiter.take(subject, { cost })) }).toEqual({ at, cost, ...decision })
    }
  })

  test('matters in every case: a subject without state gets another answer', async () => {
    for (const { policy, then } of cases) {
      const { at, cost, decision } = then[0]!
      const limiter = createLimiter({ store: engine.store, clock: () => at, policies: [policy], ...PATIENT })
      expect(toRecorded(await limiter.peek('client:another', { cost }))).not.toEqual(decision)
    }
  })
})

/** A decision as JSON keeps it. */
const toRecorded = ({ allowed, remaining, resetAfterMs, retryAfterMs, delayMs, overage }: Decision) => ({
  allowed,
  remaining,
  resetAfterMs,
  retryAfterMs: retryAfterMs === Infinity ? null : retryAfterMs,
  delayMs,
  ...(overage !== undefined && { overage }),
})
