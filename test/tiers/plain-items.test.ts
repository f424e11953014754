import { Readable } from 'node:stream'
import { DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { withPlainItems } from '../../lambda/tiers/plain-items'

const ITEM = marshall({ pk: 'policy-set', sk: 'tier#free', policies: [{ name: 'größe', limit: 60, window: '1m' }], on: true, no: null })

/** What the SDK makes of this answer of the service's, with its body in two chunks that part a character in the middle. */
function answered(statusCode: number, body: string, command = withPlainItems(new QueryCommand({ TableName: 'config' }))) {
  const bytes = Buffer.from(body)
  const middle = Math.max(0, bytes.indexOf('ö')) + 1
  const handle = async () => ({
    response: { statusCode, headers: {}, body: Readable.from([bytes.subarray(0, middle), bytes.subarray(middle)]) },
  })
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const client = new DynamoDBClient({ region: 'us-east-1', credentials, maxAttempts: 1, requestHandler: { handle } as never })
  return client.send(command)
}

describe("a query's items", () => {
  const page = JSON.stringify({
    Items: [ITEM],
    Count: 1,
    ScannedCount: 1,
    LastEvaluatedKey: { pk: { S: 'policy-set' }, sk: { S: 'tier#free' } },
  })

  it('are what the SDK would have made of them, and so is the rest', async () => {
    const { $metadata: _, ...plain } = await answered(200, page)
    const { $metadata: __, ...itself } = await answered(200, page, new QueryCommand({ TableName: 'config' }))
    expect(plain).toEqual(itself)
    expect(plain.Items).toEqual([ITEM])
  })

  it('are none where there are none', async () => {
    expect((await answered(200, '{"Count":0}')).Items).toBeUndefined()
  })

  it('are refused with an error of the service, told as the SDK tells it', async () => {
    const body = JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException', message: 'no such table' })
    await expect(answered(400, body)).rejects.toMatchObject({ name: 'ResourceNotFoundException', message: 'no such table' })
  })

  it('are an error when they are no JSON', async () => {
    await expect(answered(200, '<html>')).rejects.toThrow(SyntaxError)
  })
})
