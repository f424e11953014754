import type { QueryCommand } from '@aws-sdk/client-dynamodb'

/**
 * Lets `JSON.parse` read a query's items. The SDK walks through every attribute by its schema, and all that this gives beyond JSON is bytes out of
 * base64, which no item of the policy set has; in a cold start with hundreds of tiers the walk takes longer than everything else.
 */
export function withPlainItems(command: QueryCommand): QueryCommand {
  let Items: never[] | undefined
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args)
      const response = result.response as { statusCode: number; body: AsyncIterable<Uint8Array> | Uint8Array }
      if (response.statusCode !== 200) return result // an error is the SDK's to understand
      const chunks: Uint8Array[] = []
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) chunks.push(chunk)
      const { Items: items, ...others } = JSON.parse(Buffer.concat(chunks).toString())
      Items = items
      response.body = Buffer.from(JSON.stringify(others))
      return result
    },
    { step: 'deserialize', priority: 'low' }, // the SDK's own comes after this one and gets what is left,
  )
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args)
      return { ...result, output: { ...result.output, Items } }
    },
    { step: 'initialize' },
  )
  return command
}
