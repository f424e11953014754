import fc from 'fast-check'
import { SignedCalls } from '../../limiter/aws/signed-calls'
import { type Received, RecordingServer } from './server'

/** A request as it came over the wire, and what it should be signed with. */
export interface SignedRequest {
  readonly received: Received
  readonly credentials: {
    readonly accessKeyId: string
    readonly secretAccessKey: string
    readonly sessionToken?: string
  }
  readonly region: string
  readonly service: string
}

const printable = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code))
/** Characters of base64 and of URLs, and any that a header may have. */
const token = fc.string({
  unit: fc.oneof(fc.constantFrom(...'+/=_-.~%&?#;,:"\'\\'), printable),
  minLength: 1,
  maxLength: 200,
})
const segment = fc
  .oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }))
  .filter((text) => !/^\.{1,2}$/.test(text))
  .map(encodeURIComponent)
/** Spaces in a row and at the ends are signed as if they were not there. */
const value = fc.string({ unit: fc.oneof(fc.constant(' '), printable), maxLength: 40 })

const request = fc.record({
  region: fc.constantFrom('us-east-1', 'eu-central-1', 'cn-north-1', 'us-gov-west-1', 'mx-central-1'),
  service: fc.constantFrom('dynamodb', 'lambda', 'logs', 'apigateway'),
  credentials: fc.record(
    {
      accessKeyId: fc.stringMatching(/^[A-Z0-9]{4,20}$/),
      secretAccessKey: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
      sessionToken: token,
    },
    { requiredKeys: ['accessKeyId', 'secretAccessKey'] },
  ),
  path: fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`),
  headers: fc.dictionary(fc.stringMatching(/^x-(amz|test)-[a-z0-9_.-]{1,12}$/), value, { maxKeys: 4 }),
  body: fc.oneof(fc.json(), fc.string({ unit: 'binary', maxLength: 300 }), fc.constant('')),
})

/** Sends so many random requests, and returns what the server got of each. */
export async function randomRequests(count: number): Promise<readonly SignedRequest[]> {
  const server = new RecordingServer()
  await server.listen()
  const sent: SignedRequest[] = []
  for (const { region, service, credentials, path, headers, body } of fc.sample(request, count)) {
    const { endpoint } = server
    const calls = new SignedCalls({ region, service, credentials, endpoint, maxAnswerBytes: 1000 })
    const { 'x-amz-date': _, 'x-amz-security-token': __, ...own } = headers
    await calls.send({ path, headers: { 'content-type': 'application/x-amz-json-1.0', ...own }, body })
    calls.destroy()
    sent.push({ received: server.received.at(-1)!, credentials, region, service })
  }
  await server.close()
  return sent
}

/** The headers of a request that its signature covers. */
export function signedHeaders({ headers }: Received): Record<string, string> {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? []
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]))
}
