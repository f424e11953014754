import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import fc from 'fast-check'
import type { StoreFailure } from '../../limiter'
import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { runs } from '../runs'
import { RecordingServer, reply } from './server'
import { WAYS } from './ways'

const KEY = { pk: { S: 'größe' } }
const type = (name: string) => `com.amazonaws.dynamodb.v20120810#${name}`

let server: RecordingServer
let calls: Readonly<Record<keyof typeof WAYS, ItemCalls>>
beforeAll(async () => {
  server = new RecordingServer()
  await server.listen()
  calls = { direct: WAYS.direct(server.endpoint), 'by the SDK': WAYS['by the SDK'](server.endpoint) }
})
afterAll(async () => server.close())

/** What comes of the same call on both ways, when the same is answered. */
async function both(status: number, body: object | string, headers: object = {}) {
  server.respond = (response) => reply(response, status, body, headers)
  const call = (way: keyof typeof WAYS) =>
    calls[way].call('GetItem', { TableName: 't', Key: KEY }).then(
      (output) => ({ output, error: undefined }),
      (error) => ({ output: undefined, error }),
    )
  return { direct: await call('direct'), sdk: await call('by the SDK') }
}

describe('an error of DynamoDB', () => {
  const cases: readonly (readonly [string, number, object, StoreFailure])[] = [
    [
      'ConditionalCheckFailedException',
      400,
      { Item: { n: { N: '1' }, b: { B: 'AQID' }, l: { BS: ['', '/w=='] } } },
      'refused',
    ],
    ['ProvisionedThroughputExceededException', 400, {}, 'throttled'],
    [
      'ProvisionedThroughputExceededException',
      400,
      { ThrottlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource: 'arn:aws:x' }] },
      'hot-key',
    ],
    [
      'ThrottlingException',
      400,
      { throttlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource: 'arn:aws:x' }] },
      'hot-key',
    ],
    [
      'ThrottlingException',
      400,
      { throttlingReasons: [{ reason: 'TableWriteMaxOnDemandThroughputExceeded' }] },
      'throttled',
    ],
    ['RequestLimitExceeded', 400, { ThrottlingReasons: [{ reason: 'TableWriteAccountLimitExceeded' }] }, 'throttled'],
    ['TransactionInProgressException', 400, {}, 'throttled'],
    ['TransactionConflictException', 400, {}, 'refused'],
    ['ReplicatedWriteConflictException', 400, {}, 'refused'],
    ['ItemCollectionSizeLimitExceededException', 400, {}, 'refused'],
    ['LimitExceededException', 400, {}, 'refused'],
    ['ResourceNotFoundException', 400, {}, 'missing-table'],
    ['ValidationException', 400, { message: 'Item size to update has exceeded the maximum allowed size' }, 'item'],
    ['ValidationException', 400, { message: 'The provided key element does not match the schema' }, 'refused'],
    ['AccessDeniedException', 400, { message: 'User: arn:aws:sts::1:assumed-role/r is not authorized' }, 'refused'],
    ['UnrecognizedClientException', 400, {}, 'refused'],
    ['IncompleteSignatureException', 400, {}, 'refused'],
    ['InvalidSignatureException', 400, {}, 'refused'],
    ['MissingAuthenticationTokenException', 400, {}, 'refused'],
    ['InvalidClientTokenId', 403, {}, 'refused'],
    ['ExpiredTokenException', 400, {}, 'refused'],
    ['SerializationException', 400, {}, 'refused'],
    ['UnknownOperationException', 400, {}, 'refused'],
    ['PayloadTooLargeException', 413, {}, 'refused'],
    ['InternalServerError', 500, {}, 'unreachable'],
    ['InternalFailure', 500, {}, 'unreachable'],
    ['ServiceUnavailable', 503, {}, 'unreachable'],
  ]

  it.each(cases)(
    'is thrown under its name, with its fields, as by the SDK: %s (%i) %j',
    async (name, status, fields, failure) => {
      const { direct, sdk } = await both(status, { __type: type(name), message: 'größer', ...fields })
      expect(direct.error).toBeInstanceOf(Error)
      expect(shown(direct.error)).toEqual(shown(sdk.error))
      expect(direct.error).toMatchObject({ name, $metadata: { httpStatusCode: status, requestId: 'R1' } })
      expect([direct.error, sdk.error].map((error) => toStoreUnavailable(error, 't').reason)).toEqual([
        failure,
        failure,
      ])
    },
  )

  it.each<[string, string, number, object | string, object]>([
    ['a capital Message', 'AccessDeniedException', 400, { __type: 'x#AccessDeniedException', Message: 'größer' }, {}],
    ['no message', 'InternalServerError', 500, { __type: type('InternalServerError') }, {}],
    [
      'an address after its type',
      'ValidationException',
      400,
      { __type: 'ValidationException:http://internal.amazon.com/coral#x' },
      {},
    ],
    ['a code', 'Gone', 410, { code: 'Gone', message: 'gone' }, {}],
    ['a type and a code', 'Type', 400, { __type: 'Type', code: 'Code' }, {}],
    ['a type in a header', 'SlowDown', 503, { message: 'slow' }, { 'x-amzn-errortype': 'SlowDown,other' }],
    [
      'its fields first',
      'ConditionalCheckFailedException',
      400,
      '{"Item":{"code":{"S":"\\"code\\":\\"No\\""}},"message":"no","__type":"x#ConditionalCheckFailedException"}',
      {},
    ],
    ['no type', 'Unknown', 500, {}, {}],
    ['a redirection', 'Unknown', 301, {}, {}],
    [
      'no request id',
      'ConditionalCheckFailedException',
      400,
      { __type: type('ConditionalCheckFailedException'), Item: KEY },
      { 'x-amzn-requestid': '' },
    ],
  ])('is read as by the SDK where it has %s', async (_, name, status, body, headers) => {
    const { direct, sdk } = await both(status, body, headers)
    expect({ ...shown(direct.error), requestId: '' }).toEqual({ ...shown(sdk.error), requestId: '' })
    expect(direct.error.name).toBe(name)
    expect(toStoreUnavailable(direct.error, 't').reason).toBe(toStoreUnavailable(sdk.error, 't').reason)
  })

  const shown = (error: { readonly $metadata?: { httpStatusCode?: number; requestId?: string } }) => {
    const { name, message, Item, ThrottlingReasons, throttlingReasons } = error as Readonly<Record<string, unknown>>
    const { httpStatusCode, requestId } = error.$metadata ?? {}
    return { name, message, Item, ThrottlingReasons, throttlingReasons, httpStatusCode, requestId }
  }
})

describe('what is not an answer of DynamoDB', () => {
  it.each<[string, number, string, object, StoreFailure]>([
    ['empty', 200, '', {}, 'malformed'],
    ['empty, of another service', 200, '', { 'x-amzn-requestid': '' }, 'malformed'],
    ['an empty object of another service', 200, '{}', { 'x-amzn-requestid': '' }, 'malformed'],
    ['a page', 200, '<html>größer</html>', {}, 'malformed'],
    ['half of JSON', 200, '{"Item":', {}, 'malformed'],
    ['null', 200, 'null', {}, 'malformed'],
    ['a page of an error', 502, '<html><body>Bad Gateway</body></html>', { 'x-amzn-requestid': '' }, 'unreachable'],
    ['an empty error', 503, '', {}, 'unreachable'],
    ['a page that forbids', 403, '<html></html>', {}, 'refused'],
    ['a page of a redirection', 302, '<html></html>', {}, 'malformed'],
    ['bytes', 200, '\u0000\u0001', {}, 'malformed'],
  ])('is refused, for the same reason on both ways: %s', async (_, status, body, headers, failure) => {
    const { direct, sdk } = await both(status, body, headers)
    const isRead = sdk.output !== undefined // the SDK takes an empty body for an empty output, and null for one
    expect(toStoreUnavailable(direct.error, 't').reason).toBe(failure)
    if (!isRead) expect(toStoreUnavailable(sdk.error, 't').reason).toBe(failure)
    expect(direct.error.$metadata.httpStatusCode).toBe(status)
  })

  it.each(['[]', '[{}]', '7', '"text"', 'true', 'null'])(
    'is refused where it is JSON of no object: %s',
    async (body) => {
      const { direct } = await both(200, body)
      expect(direct.error).toBeInstanceOf(TypeError)
      expect(toStoreUnavailable(direct.error, 't').reason).toBe('malformed')
    },
  )
})

describe('an answer', () => {
  /** The SDK loses an attribute named `__proto__`. */
  const text = fc.string({ unit: 'grapheme' }).filter((name) => name !== '__proto__')
  const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString('base64'))
  const attribute: fc.Arbitrary<object> = fc.letrec<{ value: object }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.record({ S: fc.oneof(text, fc.constantFrom('"B":"AQID"', 'B')) }),
      fc.record({ N: fc.integer().map(String) }),
      fc.record({ B: bytes }),
      fc.record({ BOOL: fc.boolean() }),
      fc.constant({ NULL: true }),
      fc.record({ SS: fc.array(text) }),
      fc.record({ NS: fc.array(fc.integer().map(String)) }),
      fc.record({ BS: fc.array(bytes) }),
      fc.record({ L: fc.array(tie('value')) }),
      fc.record({ M: fc.dictionary(fc.oneof(text, fc.constantFrom('B', 'BS', 'S')), tie('value')) }),
    ),
  })).value
  const item = fc.dictionary(fc.oneof(text, fc.constantFrom('B', 'BS', 'Item', 'message', '__type')), attribute)

  it('is read as by the SDK, whatever the item', async () => {
    await fc.assert(
      fc.asyncProperty(item, async (Item) => {
        const { direct, sdk } = await both(200, { Item })
        expect(direct.output).toMatchObject({ $metadata: { httpStatusCode: 200, requestId: 'R1' } })
        expect(plain(direct.output?.Item)).toEqual(plain(sdk.output?.Item))
      }),
      { numRuns: runs(50, 500) },
    )
  })

  it('is written back byte by byte as it was read, binary attributes among it', async () => {
    await fc.assert(
      fc.asyncProperty(item, async (Item) => {
        const { direct } = await both(200, { Item })
        const read = direct.output!.Item as Record<string, AttributeValue>
        await calls.direct.call('UpdateItem', { TableName: 't', Key: KEY, ExpressionAttributeValues: read })
        expect(JSON.parse(server.received.at(-1)!.body).ExpressionAttributeValues).toEqual(Item)
      }),
      { numRuns: runs(50, 500) },
    )
  })

  it('of several tables is read as by the SDK, whatever they are called', async () => {
    const body = {
      Responses: { config: [KEY], BS: [{ b: { BS: ['AQID', ''] } }], B: [{ B: { B: 'AQID' } }] },
      UnprocessedKeys: { B: { Keys: [{ B: { B: 'AQID' } }] } },
    }
    server.respond = (response) => reply(response, 200, body)
    const ask = (way: keyof typeof WAYS) => calls[way].call('BatchGetItem', { RequestItems: { B: { Keys: [KEY] } } })
    const [direct, sdk] = [await ask('direct'), await ask('by the SDK')]
    expect(plain(direct.Responses)).toEqual(plain(sdk.Responses))
    expect(plain(direct.UnprocessedKeys)).toEqual(plain(sdk.UnprocessedKeys))
  })

  /** Bytes of any class in one form. */
  const plain = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
    if (Array.isArray(value)) return value.map(plain)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
  }
})

describe('a request', () => {
  it.each(['GetItem', 'DeleteItem', 'UpdateItem', 'Query', 'BatchGetItem'] as const)(
    'has the path, the target, the type and the body that it has by the SDK: %s',
    async (operation) => {
      server.respond = (response) => reply(response, 200, {})
      const input = {
        GetItem: { TableName: 'arn:aws:dynamodb:us-east-1:123456789012:table/state', Key: KEY, ConsistentRead: true },
        DeleteItem: { TableName: 't', Key: KEY, ConditionExpression: undefined },
        UpdateItem: {
          TableName: 't',
          Key: KEY,
          UpdateExpression: 'ADD #a :n',
          ExpressionAttributeNames: { '#a': 'ü' },
        },
        Query: { TableName: 't', Limit: 3, ExclusiveStartKey: KEY },
        BatchGetItem: { RequestItems: { t: { Keys: [KEY] } } },
      }[operation]
      const sent = []
      for (const way of ['direct', 'by the SDK'] as const) {
        await calls[way].call(operation, input as never)
        const { method, path, headers, body } = server.received.at(-1)!
        const { host, 'x-amz-target': target, 'content-type': contentType, 'x-amz-security-token': token } = headers
        sent.push({ method, path, host, target, contentType, token, body: JSON.parse(body) })
      }
      expect(sent[0]).toEqual(sent[1])
      expect(sent[0]).toMatchObject({ method: 'POST', target: `DynamoDB_20120810.${operation}`, token: 'session' })
    },
  )
})
