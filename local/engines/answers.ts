import { setTimeout as sleep } from 'node:timers/promises'
import { type DynamoDBClient, DynamoDBServiceException, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { connect } from '../dynamodb'

const RETRY_AFTER_MS = 20

/**
 * Returns when the endpoint has answered as DynamoDB does; throws the last failure if it has not within `withinMs`.
 *
 * A failed connection is retried, since the engine may be starting; any other answer than DynamoDB's is final.
 */
export async function untilItAnswers(endpoint: string, withinMs: number, signal?: AbortSignal): Promise<void> {
  const deadline = AbortSignal.timeout(withinMs)
  const over = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
  const client = connect(endpoint)
  let failure: unknown
  try {
    while (!over.aborted) {
      const latest = await ask(client, over)
      if (latest === undefined) return
      if (failure === undefined || !over.aborted) failure = latest
      await sleep(RETRY_AFTER_MS)
    }
    throw failure
  } finally {
    client.destroy()
  }
}

/**
 * `undefined` when DynamoDB answers, the error when nothing answers; throws when something other than DynamoDB does.
 */
async function ask(client: DynamoDBClient, abortSignal: AbortSignal): Promise<unknown> {
  try {
    const { TableNames } = await client.send(new ListTablesCommand({ Limit: 1 }), { abortSignal })
    if (Array.isArray(TableNames)) return undefined
  } catch (error) {
    if (!isAnswer(error)) return error
    if (error instanceof DynamoDBServiceException && error.name !== 'Unknown') throw error
  }
  throw new Error('the answer is not DynamoDB’s')
}

/** Whether there was an HTTP response of any kind. */
function isAnswer(error: unknown): boolean {
  return typeof error === 'object' && error !== null && '$response' in error && error.$response !== undefined
}
