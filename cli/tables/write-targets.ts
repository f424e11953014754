import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

const WRITES = /^(Put|Update|Delete)ItemCommand$/

/** What writes name their tables in. */
interface WriteInput {
  readonly TableName?: string
  readonly TransactItems?: readonly Readonly<Record<string, { readonly TableName?: string } | undefined>>[]
}

/** The command line's deletes ask for what they deleted: one that found nothing wrote nothing. */
const isOfNothing = (input: object, output: object): boolean =>
  'ReturnValues' in input && input.ReturnValues === 'ALL_OLD' && !('Attributes' in output && output.Attributes)

/** Tells the table of each write that DynamoDB has done, whichever command made it. */
export function onWritten(client: DynamoDBClient, tell: (tableName: string) => void): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const result = await next(args)
        const { TableName, TransactItems = [] } = args.input as WriteInput
        if (
          WRITES.test(commandName) &&
          TableName !== undefined &&
          !(commandName === 'DeleteItemCommand' && isOfNothing(args.input, result.output))
        )
          tell(TableName)
        if (commandName === 'TransactWriteItemsCommand')
          for (const one of TransactItems)
            for (const part of Object.values(one)) if (part?.TableName) tell(part.TableName)
        return result
      },
    { step: 'initialize', name: 'onWritten' },
  )
}
