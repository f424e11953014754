import { storeContract } from '../../limiter/stores/store-contract'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { type OpenEngine, openOn } from '../stores'

describe.each(['direct', 'by the SDK'] as const)(
  "the store contract on AWS's own DynamoDB Local, called %s,",
  (way) => {
    let opened: OpenEngine
    beforeAll(async () => {
      opened = await openOn(await startDynamoDbLocal(), way)
    })
    afterAll(async () => opened?.close())

    for (const { name, run } of storeContract) it(name, () => run(opened.store))
  },
)
