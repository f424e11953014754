import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { failureOf, UserError } from '../exit'
import type { Check } from './check'

/** Errors by which DynamoDB rejects whoever asks, whatever is asked. */
const REJECTED = /UnrecognizedClient|ExpiredToken|InvalidSignature|InvalidClientTokenId|MissingAuthentication/

/**
 * Checks that DynamoDB answers, with whatever answer: also that there is no such table, or that it may not be seen.
 *
 * @param found what to say where it does.
 * @param endpoint the configured one; `undefined`: the Region's.
 */
export async function checkConnection(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  found: string,
  endpoint: string | undefined,
): Promise<Check> {
  const name = 'connection'
  try {
    await client.send(new DescribeTableCommand({ TableName: tableName }))
  } catch (error) {
    const remedy =
      endpoint === undefined
        ? 'check the Region (--region, AWS_REGION), the credentials and the network'
        : 'check --endpoint, or SLUICE_DYNAMODB_ENDPOINT: it is the DynamoDB address that sluice dev prints'
    if (!isAnswer(error)) return { name, status: 'FAILED', found: `${found}: ${failureOf(error).message}`, remedy }
  }
  return { name, status: 'ok', found }
}

function isAnswer(error: unknown): boolean {
  if (error instanceof UserError) return false
  const { name, $metadata } = error as Error & { readonly $metadata?: { readonly httpStatusCode?: number } }
  return ($metadata?.httpStatusCode ?? 500) < 500 && !REJECTED.test(name)
}
