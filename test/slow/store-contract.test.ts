import { storeContract } from '../../limiter/stores/store-contract'
import { startDynamoDbLocal } from '../engines/dynamodb-local'
import { type OpenEngine, openOn } from '../stores'

describe("the store contract on AWS's own DynamoDB Local", () => {
  let opened: OpenEngine
  beforeAll(async () => {
    opened = await openOn(await startDynamoDbLocal())
  })
  afterAll(async () => opened?.close())

  for (const { name, run } of storeContract) it(name, () => run(opened.store))
})
