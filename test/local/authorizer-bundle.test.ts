import { execFile, execFileSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { authorizerBundleOptions, buildAuthorizerBundle, bundle } from '../../lib/authorizer-bundle'
import { keyServer, pair, token } from '../identity/issuer'
import restRequest from '../responses/events/rest-request.json'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI',
  AWS_SESSION_TOKEN: 'session',
  AWS_REGION: 'eu-west-1',
}

test('the authorizer is a file of at most 268 KB that loads without anything else', () => {
  const file = buildAuthorizerBundle(folder)
  expect(statSync(file).size).toBeLessThanOrEqual(268_000)
  const env = { SLUICE_STATE_TABLE: 'state', SLUICE_CONFIG_TABLE: 'config', AWS_REGION: 'eu-west-1' }
  const script = 'process.stdout.write(typeof require(process.argv[1]).handler)'
  expect(
    execFileSync(process.execPath, ['-e', script, file], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' }),
  ).toBe('function')
})

describe('the verifier of JWTs', () => {
  test('is a file of at most 25 KB beside the authorizer', () => {
    expect(statSync(join(dirname(buildAuthorizerBundle(folder)), 'jwt-verifier.js')).size).toBeLessThanOrEqual(25_000)
  })

  test('is loaded by the bundle with the first token', async () => {
    buildAuthorizerBundle(folder)
    const key = pair('k')
    const server = await keyServer([key])
    const claims = { iss: 'https://issuer.example', aud: 'api', exp: Date.now() / 1000 + 60 }
    const signed = token(claims, key)
    expect(JSON.parse(await verifyBundled(folder, server.url, signed))).toEqual({ kind: 'valid', claims })
    expect(JSON.parse(await verifyBundled(folder, server.url, signed.slice(0, -9)))).toEqual({
      kind: 'invalid',
      why: 'signature',
    })
    await server.close()
  })

  test('makes every token neither valid nor invalid when its file is missing', async () => {
    const alone = mkdtempSync(join(folder, 'alone-'))
    expect(JSON.parse(await verifyBundled(alone, 'http://127.0.0.1:1/', 'a.b.c'))).toEqual({
      kind: 'unavailable',
      cause: expect.objectContaining({ code: 'MODULE_NOT_FOUND' }),
    })
  })
})

describe("the upstream authorizer's client", () => {
  test('is a file of at most 10 KB beside the authorizer', () => {
    expect(statSync(join(dirname(buildAuthorizerBundle(folder)), 'lambda-upstream.js')).size).toBeLessThanOrEqual(
      10_000,
    )
  })

  test('is loaded where an upstream authorizer is configured, and calls it with the credentials of the environment', async () => {
    const file = buildAuthorizerBundle(folder)
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers['x-amz-security-token']}`)
      response.setHeader('X-Amz-Function-Error', 'Unhandled').end('{"errorMessage":"Unauthorized"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const script = `require(process.argv[1]).handler(JSON.parse(process.argv[2])).then(console.log, ({ message }) => console.log(message)).then(() => process.exit())`
    const env = {
      ...CREDENTIALS,
      SLUICE_STATE_TABLE: 'state',
      SLUICE_CONFIG_TABLE: 'config',
      SLUICE_DYNAMODB_ENDPOINT: 'http://127.0.0.1:1',
      SLUICE_UPSTREAM: 'check-tokens',
      AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    }
    const answered = await output(['-e', script, file, JSON.stringify(restRequest)], env)
    server.close()
    expect(asked).toEqual(['/2015-03-31/functions/check-tokens/invocations session'])
    expect(answered.split('\n').at(-1)).toBe('Unauthorized')
    // CloudWatch wants nothing before the JSON
    const lines = answered.split('\n').filter((line) => line.startsWith('{"_aws":'))
    expect(lines.map((line) => JSON.parse(line).Denied)).toContain(1)
  })
})

/**
 * Verifies a token by a bundle made like the authorizer's in this folder, in a process of its own; returns what came of
 * it as JSON.
 */
function verifyBundled(outdir: string, jwksUri: string, text: string): Promise<string> {
  const outfile = join(outdir, 'probe-jwt.js')
  const contents = `
    import { lazyVerifiers } from '../../lambda/identity/load-verifier'
    const [, , jwksUri, token] = process.argv
    const verifier = lazyVerifiers(Date.now)({ issuer: 'https://issuer.example', audience: ['api'], jwksUri })
    verifier.verify(token, 5000).then((verified) => console.log(JSON.stringify(verified)))`
  const { entryPoints: _, ...options } = authorizerBundleOptions
  bundle({ ...options, stdin: { contents, resolveDir: __dirname }, outfile })
  expect(statSync(outfile).size).toBeLessThan(1500) // for the verifier is not in it
  return output([outfile, jwksUri, text], {})
}

describe('the SDK as bundled', () => {
  test.each([200, 400, 500])(
    'signs its one request as AWS checks it, and makes no second after a %i',
    async (status) => {
      const requests: Received[] = []
      const server = createServer(async (incoming, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of incoming) chunks.push(chunk)
        requests.push({ path: incoming.url ?? '', headers: incoming.headers, body: Buffer.concat(chunks) })
        const body =
          status === 400 ? { __type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException', message: 'slow down' } : {}
        response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const outcome = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      server.close()

      expect(outcome).toBe({ 200: 'answered', 400: 'ThrottlingException', 500: 'Unknown' }[status])
      expect(requests).toHaveLength(1)
      const { headers, body } = requests[0] as Received
      expect(headers['x-amz-target']).toBe('DynamoDB_20120810.UpdateItem')
      expect(JSON.parse(body.toString())).toEqual({ TableName: 'state', Key: { pk: { S: 'ü' } } })
      expect(headers.authorization).toBe(expectedAuthorization(requests[0] as Received))
    },
  )

  test('refuses a client that is configured to retry', async () => {
    expect(await run('http://127.0.0.1:1', 3)).toBe('the authorizer bundle has no retries: maxAttempts must be 1')
  })
})

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * Sends one UpdateItem through a bundle made like the authorizer's, from a process of its own, and returns what came of
 * it.
 */
async function run(endpoint: string, maxAttempts = 1): Promise<string> {
  const outfile = join(folder, `probe-${maxAttempts}.js`)
  const contents = `
    import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
    try {
      const client = new DynamoDBClient({ endpoint: process.argv[2], maxAttempts: ${maxAttempts} })
      client.send(new UpdateItemCommand({ TableName: 'state', Key: { pk: { S: 'ü' } } })).then(
        () => console.log('answered'),
        (error) => console.log(error.name),
      )
    } catch (error) {
      console.log(error.message)
    }`
  const { entryPoints: _, ...options } = authorizerBundleOptions
  bundle({ ...options, stdin: { contents, resolveDir: __dirname }, outfile })
  return output([outfile, endpoint], CREDENTIALS)
}

/** What a Node process prints. */
function output(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, stdout) => (error ? reject(error) : resolve(stdout.trim())))
  })
}

/** @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function expectedAuthorization({ path, headers, body }: Received): string {
  const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1] ?? ''
  const time = String(headers['x-amz-date'])
  const scope = `${time.slice(0, 8)}/${CREDENTIALS.AWS_REGION}/dynamodb/aws4_request`
  const lines = signed.split(';').map((name) => `${name}:${headers[name]}\n`)
  const canonical = ['POST', path, '', lines.join(''), signed, sha256(body)].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = scope
    .split('/')
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${CREDENTIALS.AWS_SECRET_ACCESS_KEY}`)
  const signature = hmac(key, toSign).toString('hex')
  return `AWS4-HMAC-SHA256 Credential=${CREDENTIALS.AWS_ACCESS_KEY_ID}/${scope}, SignedHeaders=${signed}, Signature=${signature}`
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()
