import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { invoker } from '../../lambda/upstream/invoke'
import { authorizationOf, type Signable } from '../aws/sigv4'

const ARN = 'arn:aws:lambda:eu-west-1:123456789012:function:check-tokens:live'
const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI', sessionToken: 'session' }

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const received: Received[] = []
let respond: (response: ServerResponse, request: IncomingMessage) => void
const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  received.push({ path: request.url ?? '', headers: request.headers, body })
  respond(response, request)
})
let endpoint: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())
afterEach(() => server.closeAllConnections())
beforeEach(() => {
  received.length = 0
  respond = (response) => void response.end('{"isAuthorized":true}')
})

const invoke = (event: unknown = { a: 'ü' }, signal = new AbortController().signal) =>
  invoker({ functionName: ARN, region: 'us-east-1', endpoint, credentials: CREDENTIALS })(event, signal)

/** What the request would be signed with by what is in it. */
function signatureFor({ path, headers, body }: Received, method: string, region: string): string {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')![1]!.split(';')
  const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]))
  return authorizationOf({ method, path, headers: signed, body } satisfies Signable, CREDENTIALS, region, 'lambda')
}

describe('a signature', () => {
  it('by the judge equals the SDK’s for the same request', async () => {
    respond = (response) => void response.end('{}')
    const client = new LambdaClient({ endpoint, region: 'eu-west-1', credentials: CREDENTIALS, maxAttempts: 1 })
    await client.send(new InvokeCommand({ FunctionName: ARN, Payload: Buffer.from('{"a":"ü"}') }))
    client.destroy()
    const [request] = received
    expect(request!.path).toContain('%3A')
    expect(request!.headers.authorization).toContain('host;')
    expect(signatureFor(request!, 'POST', 'eu-west-1')).toBe(request!.headers.authorization)
  })

  it('is on the request, for the Region of the ARN', async () => {
    await invoke()
    const [request] = received
    expect(signatureFor(request!, 'POST', 'eu-west-1')).toBe(request!.headers.authorization)
    expect(request!.headers).toMatchObject({ 'x-amz-security-token': 'session' })
  })
})

describe('an invocation', () => {
  it('sends the event and waits for the answer', async () => {
    expect(await invoke()).toEqual({ answer: { isAuthorized: true } })
    expect(received[0]).toMatchObject({
      path: `/2015-03-31/functions/${encodeURIComponent(ARN)}/invocations`,
      body: '{"a":"ü"}',
      headers: { 'x-amz-invocation-type': 'RequestResponse' },
    })
  })

  it('returns the message of an error', async () => {
    respond = (response) =>
      void response.setHeader('X-Amz-Function-Error', 'Unhandled').end('{"errorMessage":"Unauthorized","trace":[]}')
    expect(await invoke()).toEqual({ error: 'Unauthorized' })
    respond = (response) => void response.setHeader('X-Amz-Function-Error', 'Unhandled').end('null')
    expect(await invoke()).toEqual({ error: '' })
  })

  it.each([
    [
      'a status that is not 200',
      (response: ServerResponse) => void response.writeHead(429).end('{}'),
      'status 429, not 200',
    ],
    ['no JSON', (response: ServerResponse) => void response.end('<html>'), 'JSON'],
    [
      'more than 64 KB',
      (response: ServerResponse) => void response.end(`"${'x'.repeat(65_536)}"`),
      'longer than 65536 bytes',
    ],
    [
      'half an answer',
      (response: ServerResponse) =>
        void response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()),
      'aborted',
    ],
  ])('fails with %s', async (_, answer, words) => {
    respond = answer
    await expect(invoke()).rejects.toThrow(words)
  })

  it('ends when its signal is aborted', async () => {
    const end = new AbortController()
    respond = () => end.abort()
    await expect(invoke({}, end.signal)).rejects.toThrow('aborted')
  })

  it('keeps its connection alive, and opens another when that was closed meanwhile', async () => {
    const call = invoker({
      functionName: 'name',
      region: 'us-east-1',
      endpoint,
      credentials: CREDENTIALS,
    })
    const ports: (number | undefined)[] = []
    respond = (response, { socket }) => {
      ports.push(socket.remotePort)
      if (ports.length === 3) socket.destroy()
      else response.end('1')
    }
    for (let i = 0; i < 3; i++) expect(await call({}, new AbortController().signal)).toEqual({ answer: 1 })
    expect(ports).toHaveLength(4)
    expect(ports[1]).toBe(ports[0])
    expect(ports[3]).not.toBe(ports[0])
  })
})
