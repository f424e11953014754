import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type Answer, type SignedCall, SignedCalls, type SignedCallsOptions } from '../facade/tables'

/** A call of a service for which the command line has no client. */
export interface ServiceCall extends SignedCall, Pick<SignedCallsOptions, 'service' | 'endpoint'> {
  readonly signal: AbortSignal
}

const MAX_ANSWER_BYTES = 64 * 2 ** 20

/** Makes one call in the Region of a DynamoDB client, with its credentials. */
export async function signedCall(client: DynamoDBClient, call: ServiceCall): Promise<Answer> {
  const { service, endpoint, signal } = call
  const region = await client.config.region()
  const { credentials } = client.config
  const calls = new SignedCalls({ service, endpoint, region, credentials, maxAnswerBytes: MAX_ANSWER_BYTES })
  try {
    return await calls.send(call, { signal })
  } finally {
    calls.destroy()
  }
}
