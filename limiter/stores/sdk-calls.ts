import type { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { StoreUnavailableError } from '../errors'
import { loadDynamoDbSdk } from './dynamodb-sdk'
import { type ItemCalls, type ItemOperations, notOfDynamoDb } from './item-calls'
import type { CallOptions } from './store'

let sdk: Awaited<ReturnType<typeof loadDynamoDbSdk>> | undefined

/** Calls on items by a client of the SDK, with its middleware, tracing and mocks. */
export function sdkCalls(client: Pick<DynamoDBClient, 'send'>): ItemCalls {
  return {
    async call<Operation extends keyof ItemOperations>(
      operation: Operation,
      input: ItemOperations[Operation]['input'],
      { signal, onServerTime }: CallOptions = {},
    ): Promise<ItemOperations[Operation]['output']> {
      sdk ??= await loadDynamoDbSdk().catch((cause: Error) => {
        throw new StoreUnavailableError('unusable-client', cause.message, { cause })
      })
      const Command = sdk[`${operation}Command`] as new (input: unknown) => GetItemCommand
      const command = new Command(input)
      if (onServerTime) reportServerTime(command, onServerTime)
      const output = await client.send(command, { abortSignal: signal })
      // what has no metadata at all, such as a stand-in's, passes
      if (output.$metadata && !output.$metadata.requestId) throw notOfDynamoDb()
      return output
    },
  }
}

interface Dated {
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Passes the date of the answer on, whatever it says; a command's own step, so that the client stays as it was given to
 * us.
 */
function reportServerTime(
  { middlewareStack }: Pick<GetItemCommand, 'middlewareStack'>,
  onServerTime: (at: number) => void,
): void {
  const tell = (response: unknown) => {
    const at = Date.parse((response as Dated | undefined)?.headers?.date ?? '')
    if (at >= 0) onServerTime(at)
  }
  middlewareStack.add(
    (next) => async (args) => {
      try {
        const result = await next(args)
        tell(result.response)
        return result
      } catch (error) {
        tell((error as { readonly $response?: unknown } | undefined)?.$response)
        throw error
      }
    },
    { step: 'deserialize', priority: 'high', name: 'sluiceServerTime' },
  )
}
