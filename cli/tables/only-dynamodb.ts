import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { UserError } from '../exit'

/** An answer as it came. */
interface RawAnswer {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** What the SDK keeps of an answer, whether it is one or an error made of it. */
interface Answered {
  readonly $metadata?: { readonly requestId?: string; readonly httpStatusCode?: number }
  readonly $response?: RawAnswer
}

/**
 * Rejects answers that are not DynamoDB's. Without this, a web server that answers 200 to everything would look like an
 * empty table on which every write succeeds. DynamoDB sets `x-amzn-requestid` on each answer, as other services of AWS
 * do, API Gateway among them; and a content type that only services have that speak this protocol.
 *
 * @param endpoint the configured one; `undefined`: the Region's.
 * @throws UserError with the endpoint and the status, from each call of the client.
 */
export function onlyDynamoDb(client: DynamoDBClient, endpoint: string | undefined): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        const result = await next(args)
        const answered = result.output as Answered
        if (!isDynamoDb(answered, result.response as RawAnswer)) throw notDynamoDb(endpoint, answered)
        return result
      } catch (error) {
        const answered = error as Answered
        const isAnswer = answered.$response !== undefined || answered.$metadata?.httpStatusCode !== undefined
        throw isAnswer && !isDynamoDb(answered, answered.$response) ? notDynamoDb(endpoint, answered) : error
      }
    },
    { step: 'initialize', name: 'onlyDynamoDb' },
  )
}

const isDynamoDb = ({ $metadata }: Answered, raw: RawAnswer | undefined): boolean =>
  $metadata?.requestId !== undefined && /^application\/x-amz-json-1\.\d/.test(raw?.headers?.['content-type'] ?? '')

function notDynamoDb(endpoint: string | undefined, { $metadata, $response }: Answered): UserError {
  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  const advice =
    endpoint === undefined ? '' : '; use a DynamoDB endpoint, such as the one that sluice dev prints, not the API’s'
  return new UserError(
    `${endpoint ?? 'the endpoint'} does not answer as DynamoDB does (status ${status ?? 'unknown'})${advice}`,
  )
}
