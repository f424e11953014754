import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { UserError } from '../exit'

/** What the SDK keeps of an answer, whether it is one or an error made of it. */
interface Answered {
  readonly $metadata?: { readonly requestId?: string; readonly httpStatusCode?: number }
  readonly $response?: { readonly statusCode?: number }
}

/**
 * Rejects answers that are not DynamoDB's. Without this, a web server that answers 200 to everything would look like an
 * empty table on which every write succeeds. DynamoDB sets `x-amzn-requestid` on each answer.
 *
 * @param endpoint the configured one; `undefined`: the Region's.
 * @throws UserError with the endpoint and the status, from each call of the client.
 */
export function onlyDynamoDb(client: DynamoDBClient, endpoint: string | undefined): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        const result = await next(args)
        if (!(result.output as Answered).$metadata?.requestId) throw notDynamoDb(endpoint, result.output as Answered)
        return result
      } catch (error) {
        const { $metadata, $response } = error as Answered
        const isAnswer = $response !== undefined || $metadata?.httpStatusCode !== undefined
        throw isAnswer && !$metadata?.requestId ? notDynamoDb(endpoint, error as Answered) : error
      }
    },
    { step: 'initialize', name: 'onlyDynamoDb' },
  )
}

function notDynamoDb(endpoint: string | undefined, { $metadata, $response }: Answered): UserError {
  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  const advice =
    endpoint === undefined ? '' : '; use a DynamoDB endpoint, such as the one that npm start prints, not the API’s'
  return new UserError(
    `${endpoint ?? 'the endpoint'} does not answer as DynamoDB does (status ${status ?? 'unknown'})${advice}`,
  )
}
