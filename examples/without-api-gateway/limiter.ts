import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createTieredLimiter } from 'sluice/tiered'

/** The tables of a deployment of Sluice; made once, outside the handlers. */
export const limiter = createTieredLimiter({
  client: new DynamoDBClient({ maxAttempts: 1 }),
  configTable: 'sluice-config',
  stateTable: 'sluice-state',
})
