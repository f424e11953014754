import { Agent, request } from 'node:http'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** The input of an SDK command. */
interface Command {
  readonly input: object
  readonly constructor: { readonly name: string }
}

/**
 * A client with DynamoDB's protocol alone. It has no timers, so it works in virtual time, and does a tenth of the SDK's
 * work, so thousands of scenarios fit into minutes. Other tests cover the SDK.
 */
export function rawClient(endpoint: string): { readonly client: Pick<DynamoDBClient, 'send'>; close(): void } {
  const agent = new Agent({ keepAlive: true })
  const send = ({ input, constructor: { name } }: Command): Promise<unknown> =>
    new Promise((resolve, reject) => {
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
          if (response.statusCode === 200) return resolve({ ...answer, $metadata })
          const kind = String(answer.__type).split('#').at(-1)!
          reject(
            Object.assign(new Error(answer.message ?? answer.Message ?? kind), { ...answer, name: kind, $metadata }),
          )
        })
      })
      call.on('error', reject)
      call.end(JSON.stringify(input))
    })
  return { client: { send: send as never }, close: () => agent.destroy() }
}
