import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname, userInfo } from 'node:os'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { trailOf } from '../../cli/tables/author'

const me = `${userInfo().username}@${hostname()}`
const write = { key: { pk: 'policy-set', sk: 'switch' }, after: { pk: 'policy-set', sk: 'switch', mode: 'off' } }
const run = { change: 'c', how: 'sluice off', clock: () => 0 }
const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' }
const client = new DynamoDBClient({ region: 'eu-central-1', credentials })
/** As every request to DynamoDB does, which a command makes before it asks who runs it. */
beforeAll(() =>
  client.config.signer({ name: 'sigv4', signingName: 'dynamodb', signingRegion: 'eu-central-1', properties: {} }),
)
afterAll(() => client.destroy())

/** Who a change is by, where STS answers so; what STS was asked; and how often. */
async function author(status: number, body: string, endpoint?: string) {
  const asked: { readonly body: string; readonly authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => {
      asked.push({ body: text, authorization: request.headers.authorization })
      response.writeHead(status).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const trail = trailOf(run, client, endpoint, { AWS_ENDPOINT_URL: 'http://127.0.0.1:9', AWS_ENDPOINT_URL_STS: url })
    const [first] = await trail.recordsOf([write])
    await trail.recordsOf([write])
    return { by: first!.after!.by, asked }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const answer = (arn: string) =>
  `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`
const ARN = 'arn:aws:sts::123456789012:assumed-role/Admin/alice'

describe('who made a change', () => {
  it('is who STS knows the credentials by; it is asked once, signed as STS wants it', async () => {
    const { by, asked } = await author(200, answer(ARN))
    expect(by).toBe(ARN)
    expect(asked).toEqual([
      {
        body: 'Action=GetCallerIdentity&Version=2011-06-15',
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/eu-central-1\/sts\/aws4_request, SignedHeaders=[a-z0-9;-]*host/,
        ),
      },
    ])
  })

  it.each([
    ['refuses', 403, '<ErrorResponse/>'],
    ['answers something else', 200, '<html>'],
    ['answers no ARN', 200, answer('alice')],
  ])('is the system’s user where STS %s, and that is said', async (_, status, body) => {
    expect((await author(status, body)).by).toBe(`${me} (STS did not say whose credentials these are)`)
  })

  it('is the system’s user for a DynamoDB of one’s own, about which STS is not asked', async () => {
    expect(await author(200, answer(ARN), 'http://127.0.0.1:8000')).toEqual({ by: me, asked: [] })
  })
})
