import { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** The tables that the local gateway seeds and decides in. */
export const TABLES = { state: 'sluice-state', config: 'sluice-config' } as const

/**
 * The part of Lambda's environment by which the SDK signs. Engines on one's own machine take any signature, so made-up credentials do unless
 * the user has set real ones; some keep separate tables for each access key and region, so the gateway and the authorizer must share them.
 */
export function awsEnvironment(env: NodeJS.ProcessEnv = process.env) {
  return {
    AWS_REGION: env.AWS_REGION ?? 'us-east-1',
    AWS_ACCESS_KEY_ID: env.AWS_ACCESS_KEY_ID ?? 'local',
    AWS_SECRET_ACCESS_KEY: env.AWS_SECRET_ACCESS_KEY ?? 'local',
    ...(env.AWS_SESSION_TOKEN !== undefined && { AWS_SESSION_TOKEN: env.AWS_SESSION_TOKEN }),
  }
}

/** A client that looks nowhere for its configuration but in `awsEnvironment`, and does not try again by itself. */
export function connect(endpoint: string): DynamoDBClient {
  const env = awsEnvironment()
  const credentials = {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN,
  }
  return new DynamoDBClient({ endpoint, region: env.AWS_REGION, credentials, maxAttempts: 1 })
}
