import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { LOCAL_TABLES, localAwsEnvironment } from '../cli/tables/local-engine'

/** The tables that the local gateway seeds and uses; the command line knows the same names. */
export const TABLES = LOCAL_TABLES

/** The part of Lambda's environment that the SDK needs for signing. */
export const awsEnvironment = (env: Parameters<typeof localAwsEnvironment>[0] = process.env) => localAwsEnvironment(env)

/** A client that reads its configuration from `awsEnvironment` only, and does not retry. */
export function connect(endpoint: string): DynamoDBClient {
  const env = awsEnvironment()
  const credentials = {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN,
  }
  return new DynamoDBClient({ endpoint, region: env.AWS_REGION, credentials, maxAttempts: 1 })
}
