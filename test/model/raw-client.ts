import { Agent, request } from 'node:http'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** The input of an SDK command. */
interface Command {
  readonly input: { readonly Key?: object }
  readonly constructor: { readonly name: string }
}

/**
 * A client with DynamoDB's protocol alone. It has no timers, so it works in virtual time, and does a tenth of the SDK's
 * work, so thousands of scenarios fit into minutes. Other tests cover the SDK.
 */
export function rawClient(endpoint: string): RawClient {
  const agent = new Agent({ keepAlive: true })
  /** Keys of items that the engine confirmed, and that nothing deleted. */
  const kept = new Set<string>()
  const lost: string[] = []
  const notice = ({ input: { Key }, constructor: { name } }: Command, before: unknown, isDone: boolean) => {
    if (!Key) return
    const key = JSON.stringify(Key)
    if (!before && kept.delete(key)) lost.push(key)
    if (!isDone || name === 'GetItemCommand') return
    if (name === 'UpdateItemCommand') kept.add(key)
    else kept.delete(key)
  }
  const send = (command: Command): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const {
        input,
        constructor: { name },
      } = command
      const headers = {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${name.replace(/Command$/, '')}`,
        'x-amz-date': '20251121T000000Z',
        authorization:
          'AWS4-HMAC-SHA256 Credential=local/20251121/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0000000000000000000000000000000000000000000000000000000000000000',
      }
      const call = request(endpoint, { method: 'POST', agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => {
          text += part
        })
        response.on('end', () => {
          const answer = JSON.parse(text || '{}')
          const $metadata = {
            httpStatusCode: response.statusCode,
            requestId: response.headers['x-amzn-requestid'] ?? 'none',
          }
          if (response.statusCode === 200) {
            notice(command, answer.Item ?? answer.Attributes, true)
            return resolve({ ...answer, $metadata })
          }
          const kind = String(answer.__type).split('#').at(-1)!
          if (kind === 'ConditionalCheckFailedException') notice(command, answer.Item, false)
          reject(
            Object.assign(new Error(answer.message ?? answer.Message ?? kind), { ...answer, name: kind, $metadata }),
          )
        })
      })
      call.on('error', reject)
      call.end(JSON.stringify(input))
    })
  return { client: { send: send as never }, lost, close: () => agent.destroy() }
}

export interface RawClient {
  readonly client: Pick<DynamoDBClient, 'send'>
  /** Keys of items that the engine confirmed and then did not have, though nothing had deleted them. */
  readonly lost: readonly string[]
  close(): void
}
