import fc from 'fast-check'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { anyHistory, anyPolicies } from '../limiter/histories'
import { runHistory } from '../limiter/run-history'
import { type OpenEngine, openOn, TABLE } from '../stores'

jest.setTimeout(900_000)

const RUNS = 200

describe('on DynamoDB Local', () => {
  let opened: OpenEngine
  let subjects = 0
  beforeAll(async () => {
    opened = await openOn(await startDynamoDbLocal())
  })
  afterAll(() => opened?.close())

  it('whatever policies a subject has and whatever becomes of it, it stays decidable', () =>
    fc.assert(
      fc.asyncProperty(anyPolicies, anyHistory, async (policies, history) => {
        const store = new DynamoDbStore({ client: opened.client, tableName: TABLE })
        // a write that is refused for what it is would throw
        await runHistory(store, policies, history, `client:${subjects++}`)
      }),
      { numRuns: RUNS },
    ))
})
