import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import * as sdk from '@aws-sdk/client-dynamodb'
import fc from 'fast-check'
import { authorizerBundleOptions, bundle } from '../../lib/authorizer-bundle'
import { runs } from '../runs'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const { entryPoints: _, ...options } = authorizerBundleOptions

/** The SDK as it gets into a bundle made like the authorizer's, to be compared with the SDK itself. */
const bundled = bundledSdk('bundled')

function bundledSdk(name: string, changes: object = {}): typeof sdk {
  const outfile = join(folder, `${name}.js`)
  bundle({
    ...options,
    stdin: { contents: "export * from '@aws-sdk/client-dynamodb'", resolveDir: __dirname },
    outfile,
    ...changes,
  })
  return require(outfile)
}

interface Answer {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Sent {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query: object
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

const CONFIG = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI', sessionToken: 'session' },
  maxAttempts: 1,
}

/**
 * Makes a call with one SDK or the other, and tells what was sent and what came of it, without what differs with the
 * moment.
 */
async function call(
  from: typeof sdk,
  command: (from: typeof sdk) => unknown,
  answer: Answer = {},
  config: sdk.DynamoDBClientConfig = CONFIG,
) {
  let sent: Sent | undefined
  const handle = async (request: Sent) => {
    sent = request
    return { response: { statusCode: 200, headers: {}, ...answer, body: inTwo(answer.body ?? '{}') } }
  }
  const client = new from.DynamoDBClient({ ...config, requestHandler: { handle } as never })
  const came = await client.send(command(from) as sdk.GetItemCommand).then(
    ({ $metadata, ...output }) => ({ output, requestId: $metadata.requestId, status: $metadata.httpStatusCode }),
    ({ name, message, $fault, $metadata, $response, Item, ThrottlingReasons }) => ({
      ...{ name, message, $fault, Item, ThrottlingReasons },
      ...{ requestId: $metadata?.requestId, status: $metadata?.httpStatusCode, responded: $response?.statusCode },
    }),
  )
  return { came, sent: sent && comparable(sent) }
}

/**
 * Headers of the moment, of the order in which a body is written, or of the SDK's retries; the signature has a test of
 * its own.
 */
const MOMENTARY =
  /^(authorization|x-amz-date|content-length|x-amz-content-sha256|user-agent|x-amz-user-agent|amz-sdk-.*)$/

function comparable({ headers, body, method, protocol, hostname, port, path, query }: Sent) {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text))
  expect(headers['x-amz-content-sha256']).toBe(createHash('sha256').update(text).digest('hex'))
  const kept = Object.entries(headers).filter(([name]) => !MOMENTARY.test(name))
  const agent = headers['user-agent']?.replace(/ m\/\S*|3\.\d+\.\d+/g, '') // the SDK's CommonJS gives another version than its package.json
  return {
    method,
    protocol,
    hostname,
    port,
    path,
    query,
    headers: Object.fromEntries(kept),
    agent,
    body: JSON.parse(text),
  }
}

/** A body in two chunks that part a character in the middle. */
function inTwo(text: string): Readable {
  const bytes = Buffer.from(text)
  const middle = Math.max(0, bytes.indexOf('ö')) + 1
  return Readable.from([bytes.subarray(0, middle), bytes.subarray(middle)])
}

async function expectTheSame(
  command: (from: typeof sdk) => unknown,
  answer?: Answer,
  config?: sdk.DynamoDBClientConfig,
) {
  const ours = await call(bundled, command, answer, config)
  expect(ours).toEqual(await call(sdk, command, answer, config))
  return ours
}

const base64 = (value: object): string =>
  JSON.stringify(value, (_, json) => (json?.type === 'Buffer' ? Buffer.from(json).toString('base64') : json))

const KEY = { pk: { S: 'größe' } }
const getItem = ({ GetItemCommand }: typeof sdk) => new GetItemCommand({ TableName: 'state', Key: KEY })

/** The SDK loses an attribute named `__proto__`; the bundle reads it like any other. */
const text = fc.string({ unit: 'grapheme' }).filter((name) => name !== '__proto__')
const attribute: fc.Arbitrary<object> = fc.letrec<{ value: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.record({ S: text }),
    fc.record({ N: fc.integer().map(String) }),
    fc.record({ B: fc.uint8Array().map((bytes) => Buffer.from(bytes)) }),
    fc.record({ BOOL: fc.boolean() }),
    fc.constant({ NULL: true }),
    fc.record({ SS: fc.array(text) }),
    fc.record({ NS: fc.array(fc.integer().map(String)) }),
    fc.record({ BS: fc.array(fc.uint8Array().map((bytes) => Buffer.from(bytes))) }),
    fc.record({ L: fc.array(tie('value')) }),
    fc.record({ M: fc.dictionary(fc.oneof(text, fc.constantFrom('B', 'BS', 'S')), tie('value')) }),
  ),
})).value
const item = fc.dictionary(fc.oneof(text, fc.constantFrom('B', 'BS', 'Item', 'message')), attribute) as fc.Arbitrary<
  Record<string, sdk.AttributeValue>
>

describe('the SDK as bundled', () => {
  test('sends any item as the SDK does', async () => {
    await fc.assert(
      fc.asyncProperty(item, (Item) =>
        expectTheSame(({ PutItemCommand }) => new PutItemCommand({ TableName: 'state', Item })).then(() => {}),
      ),
      { numRuns: runs(30, 100) },
    )
  })

  test('reads any item as the SDK does', async () => {
    await fc.assert(
      fc.asyncProperty(item, (Item) =>
        expectTheSame(getItem, { body: base64({ Item, ConsumedCapacity: { CapacityUnits: 1 } }) }).then(() => {}),
      ),
      { numRuns: runs(30, 100) },
    )
  })

  test.each<[string, (from: typeof sdk) => unknown, object]>([
    ['GetItem', getItem, {}],
    ['DeleteItem', ({ DeleteItemCommand }) => new DeleteItemCommand({ TableName: 'state', Key: KEY }), {}],
    [
      'UpdateItem',
      ({ UpdateItemCommand }) =>
        new UpdateItemCommand({
          TableName: 'arn:aws:dynamodb:us-east-1:123456789012:table/state',
          Key: KEY,
          UpdateExpression: 'ADD #a :n',
          ConditionExpression: undefined,
          ExpressionAttributeNames: { '#a': 'used' },
          ExpressionAttributeValues: {
            ':n': { N: '1' },
            ':b': { B: new Uint8Array(Buffer.from('shared')).subarray(1, 3) },
          },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      { Attributes: { used: { N: '1' } } },
    ],
    [
      'Query',
      ({ QueryCommand }) =>
        new QueryCommand({ TableName: 'config', Limit: 3, ConsistentRead: true, ExclusiveStartKey: KEY }),
      { Items: [KEY, { b: { B: 'AQID' } }], Count: 2, LastEvaluatedKey: KEY },
    ],
    [
      'BatchGetItem',
      ({ BatchGetItemCommand }) => new BatchGetItemCommand({ RequestItems: { config: { Keys: [KEY] } } }),
      { Responses: { config: [KEY], BS: [{ b: { BS: ['AQID', ''] } }] }, UnprocessedKeys: { B: { Keys: [KEY] } } },
    ],
  ])('sends and reads %s as the SDK does', async (_, command, output) => {
    const { came, sent } = await expectTheSame(command, {
      body: JSON.stringify(output),
      headers: { 'x-amzn-requestid': 'id' },
    })
    expect(came).toMatchObject({ status: 200, requestId: 'id' })
    expect(sent?.hostname).toMatch(/^dynamodb\./)
  })

  test('keeps the path and the port of an endpoint', async () => {
    const { sent } = await expectTheSame(getItem, {}, { ...CONFIG, endpoint: 'http://localhost:8000/base' })
    expect(sent).toMatchObject({ protocol: 'http:', hostname: 'localhost', port: 8000, path: '/base/' })
  })

  const type = (name: string) => `com.amazonaws.dynamodb.v20120810#${name}`
  const wrong = (status: number, error: object | string, headers = {}) => ({
    statusCode: status,
    headers,
    body: typeof error === 'string' ? error : JSON.stringify(error),
  })

  test.each<[string, string, Answer]>([
    [
      'a refused condition',
      'ConditionalCheckFailedException',
      wrong(400, {
        __type: type('ConditionalCheckFailedException'),
        message: 'no',
        Item: { n: { N: '1' }, b: { B: 'AQID' } },
      }),
    ],
    [
      'a throttle with reasons',
      'ProvisionedThroughputExceededException',
      wrong(400, {
        __type: type('ProvisionedThroughputExceededException'),
        message: 'hot',
        ThrottlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource: 'arn:aws:x' }],
      }),
    ],
    [
      'a throttle of another service',
      'ThrottlingException',
      wrong(400, { __type: 'com.amazon.coral.availability#ThrottlingException', message: 'slow' }),
    ],
    [
      'a missing table',
      'ResourceNotFoundException',
      wrong(400, { __type: type('ResourceNotFoundException'), message: 'none' }, { 'x-amzn-requestid': 'id' }),
    ],
    [
      'an error of no schema',
      'ExpiredTokenException',
      wrong(400, { __type: 'com.amazon.coral.service#ExpiredTokenException', message: 'old' }),
    ],
    [
      'a capital Message',
      'AccessDeniedException',
      wrong(400, { __type: 'com.amazon.coral.service#AccessDeniedException', Message: 'größer' }),
    ],
    ['no message', 'InternalServerError', wrong(500, { __type: type('InternalServerError') })],
    [
      'a type with an address',
      'ValidationException',
      wrong(400, { __type: 'ValidationException:http://internal.amazon.com/coral#x', message: 'bad' }),
    ],
    ['a code', 'Gone', wrong(410, { code: 'Gone', message: 'gone' })],
    ['a type in a header', 'SlowDown', wrong(503, { message: 'slow' }, { 'x-amzn-errortype': 'SlowDown,other' })],
    ['nothing', 'Unknown', wrong(503, '')],
    ['an empty object', 'Unknown', wrong(500, {})],
    ['a redirection', 'Unknown', wrong(301, {})],
  ])('throws %s as the SDK does', async (_, name, answer) => {
    const { came } = await expectTheSame(getItem, answer)
    expect(came).toMatchObject({ name, status: answer.statusCode, responded: answer.statusCode })
  })

  test.each([
    [200, '<html>größer</html>'],
    [502, '<html></html>'],
    [200, '{"Item":'],
  ])('does not take a %i with %s for an answer, as the SDK does not', async (statusCode, body) => {
    const [ours, theirs] = await Promise.all([
      call(bundled, getItem, { statusCode, body }),
      call(sdk, getItem, { statusCode, body }),
    ])
    const failed = { name: 'SyntaxError', status: statusCode, responded: statusCode }
    expect(ours.came).toMatchObject(failed)
    expect(theirs.came).toMatchObject(failed)
  })

  test('takes an empty answer for an empty output, as the SDK does', async () => {
    await expectTheSame(getItem, { body: '' })
  })

  test('sets its clock by the answers, as the SDK does', async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString()
    const answer = wrong(
      400,
      { __type: 'com.amazon.coral.service#InvalidSignatureException', message: 'late' },
      { date },
    )
    const offsets = await Promise.all(
      [bundled, sdk].map(async (from) => {
        const handle = async () => ({ response: { ...answer, body: inTwo(answer.body) } })
        const client = new from.DynamoDBClient({ ...CONFIG, requestHandler: { handle } as never })
        await client.send(getItem(from)).catch(() => {})
        return (client.config as unknown as { systemClockOffset: number }).systemClockOffset
      }),
    )
    for (const offset of offsets) expect(Math.abs(offset + 3_600_000)).toBeLessThan(10_000)
  })

  test('refuses to call on anything but items', async () => {
    const { came, sent } = await call(
      bundled,
      ({ DescribeTableCommand }) => new DescribeTableCommand({ TableName: 'state' }),
    )
    expect(came).toMatchObject({ message: 'the authorizer bundle calls on items only, not DescribeTable' })
    expect(sent).toBeUndefined()
  })
})

describe('the settings of the SDK as bundled', () => {
  const before = process.env
  const { region: _, ...WITHOUT_REGION } = CONFIG
  /** Neither SDK shall find the files of whoever runs this. */
  const NOWHERE = {
    AWS_CONFIG_FILE: join(folder, 'none'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'none'),
    AWS_EC2_METADATA_DISABLED: 'true',
  }
  afterEach(() => {
    process.env = before
  })

  test.each([
    [{ AWS_REGION: 'ap-southeast-2' }],
    [{ AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://localhost:4566/all' }],
    [
      {
        AWS_REGION: 'eu-west-1',
        AWS_ENDPOINT_URL: 'http://localhost:4566',
        AWS_ENDPOINT_URL_DYNAMODB: 'http://localhost:8000',
      },
    ],
    [
      {
        AWS_REGION: 'eu-west-1',
        AWS_ENDPOINT_URL: 'http://localhost:4566',
        AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
      },
    ],
    [{ AWS_REGION: 'eu-west-1', AWS_SDK_UA_APP_ID: 'limits' }],
    [{ AWS_REGION: 'eu-west-1', AWS_USE_FIPS_ENDPOINT: 'maybe' }],
    [{ AWS_REGION: 'eu-west-1', AWS_DEFAULTS_MODE: 'standard' }],
    [{ AWS_REGION: 'not a region' }],
    [{}],
  ])('of the environment %j do what they do in the SDK', async (env) => {
    process.env = { ...NOWHERE, ...env }
    await expectTheSame(getItem, {}, WITHOUT_REGION)
  })
})

describe('a bundle of an SDK that has moved', () => {
  test('is refused when nothing imports what an alias replaces', () => {
    const alias = { ...options.alias, '@smithy/core/moved': __filename }
    expect(() => bundledSdk('moved-alias', { alias })).toThrow(
      'the SDK no longer has what lib/authorizer-bundle replaces: @smithy/core/moved',
    )
  })

  test('is refused when a file is not loaded that is replaced', () => {
    expect(() => bundledSdk('moved-file', { external: ['@smithy/signature-v4'] })).toThrow(
      /replaces: .*signature-v4.*HeaderFormatter\.js/,
    )
  })
})
