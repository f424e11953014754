/**
 * Replaces the SDK's schemas and their (de)serializers, a quarter of the bundle. The only thing that the schema of a
 * call on items adds to JSON is that binary attributes are base64. Walking through every attribute to find no binary
 * one would also take longer than the rest of the call.
 *
 * A call on anything but items is refused, since its schema may add more.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
const ITEM_CALLS = /^(?:BatchGetItem|BatchWriteItem|DeleteItem|GetItem|PutItem|Query|Scan|UpdateItem)$/

interface Config {
  streamCollector(body: unknown): Promise<Uint8Array>
}

interface Context {
  readonly endpointV2: { readonly url: URL }
  readonly __smithy_context: { readonly service: string; readonly operation: string }
}

interface Response {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

type Next = (args: object) => Promise<{ readonly response: Response }>
type Middleware = (next: Next, context: Context) => (args: { readonly input: object }) => Promise<object>

/** Serializes a command's input to an HTTP request, and parses the response to the command's output. */
export const getSchemaSerdePlugin = (config: Config) => ({
  applyToStack(stack: { add(middleware: Middleware, options: object): void }) {
    stack.add(
      (next, context) => async (args) => next({ ...args, request: toRequest(args.input, context) }),
      { name: 'serializerMiddleware', step: 'serialize', tags: ['SERIALIZER'], override: true }, // the SDK's own places others by this name
    )
    stack.add(
      (next) => async (args) => {
        const { response } = await next(args)
        return { response, output: await toOutput(response, config) }
      },
      { name: 'deserializerMiddleware', step: 'deserialize', tags: ['DESERIALIZER'], override: true },
    )
  },
})

function toRequest(input: object, { endpointV2, __smithy_context: { service, operation } }: Context): object {
  if (!ITEM_CALLS.test(operation)) throw new Error(`the authorizer bundle calls on items only, not ${operation}`)
  const { protocol, hostname, port, pathname } = endpointV2.url
  return {
    method: 'POST',
    protocol,
    hostname,
    port: port ? Number(port) : undefined,
    path: pathname.replace(/\/?$/, '/'),
    query: {},
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `${service}.${operation}` },
    body: JSON.stringify(input, toJson),
  }
}

/** Parses a response. Throws an error response under DynamoDB's name for it, with all of its fields. */
async function toOutput(response: Response, config: Config): Promise<object> {
  const { statusCode: httpStatusCode, headers, body = new Uint8Array() } = response
  const $metadata = { httpStatusCode, requestId: headers['x-amzn-requestid'] }
  try {
    const bytes = body instanceof Uint8Array ? body : await config.streamCollector(body)
    const output = bytes.length > 0 ? parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) : {}
    if (httpStatusCode < 300) return { ...output, $metadata }
    const { __type, Message, message = Message ?? 'UnknownError', ...rest } = output
    const name = String(__type ?? rest.code ?? headers['x-amzn-errortype'] ?? 'Unknown')
      .replace(/[,:].*/, '')
      .replace(/.*#/, '')
    throw Object.assign(new Error(String(message)), { name, $fault: httpStatusCode < 500 ? 'client' : 'server' }, rest)
  } catch (error) {
    Object.defineProperty(error, '$response', { value: response }) // by whose date the signer sets its clock
    throw Object.assign(error as Error, { $metadata })
  }
}

/** `null` is left out of an object, and stays in a list. */
function toJson(this: Readonly<Record<string, unknown>>, key: string, json: unknown): unknown {
  const value = this[key] // a Buffer has already been made something else of
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')
    : (json ?? undefined)
}

/**
 * Only a binary attribute has a string under `B`, or a list of strings under `BS`: under an attribute's name there is
 * always an object.
 */
function parse(text: string): Record<string, unknown> {
  if (!/"BS?"/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (key, value) => {
    if (key === 'B' && typeof value === 'string') return toBytes(value)
    return key === 'BS' && Array.isArray(value) && typeof value[0] === 'string' ? value.map(toBytes) : value
  })
}

const toBytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'))

/** The other exports that the SDK imports; none of them does anything without schemas. */
export class AwsJson1_0Protocol {}
export class DynamoDBJsonCodec2 {}
export const NormalizedSchema = { of: () => ({ getEventStreamMember: () => undefined }) }
export const TypeRegistry = undefined
export const deref = undefined
export const translateTraits = undefined
