import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DirectCalls } from '../../limiter/stores/direct-calls'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { sdkCalls } from '../../limiter/stores/sdk-calls'

const access = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' },
}

/** The ways of calling DynamoDB, both without retries. */
export const WAYS = {
  direct: (endpoint: string): ItemCalls => new DirectCalls({ ...access, endpoint }),
  'by the SDK': (endpoint: string): ItemCalls => sdkCalls(new DynamoDBClient({ ...access, endpoint, maxAttempts: 1 })),
} as const
