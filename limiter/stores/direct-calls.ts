import { type Answer, errorNameOf, SignedCalls, type SignedCallsOptions } from '../aws/signed-calls'
import { type ItemCalls, type ItemOperations, notOfDynamoDb } from './item-calls'
import type { CallOptions } from './store'

/** Twice what DynamoDB returns at most: names and numbers are longer as JSON. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20

export type DirectCallsOptions = Omit<SignedCallsOptions, 'service' | 'maxAnswerBytes'>

/**
 * Calls on items without the SDK's client.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
export class DirectCalls implements ItemCalls {
  private readonly service: SignedCalls

  /** @throws ConfigError for a Region or an endpoint that is missing or invalid. */
  constructor(options: DirectCallsOptions = {}) {
    this.service = new SignedCalls({ ...options, service: 'dynamodb', maxAnswerBytes: MAX_ANSWER_BYTES })
  }

  async call<Operation extends keyof ItemOperations>(
    operation: Operation,
    input: ItemOperations[Operation]['input'],
    options?: CallOptions,
  ): Promise<ItemOperations[Operation]['output']> {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
    }
    return outputOf(await this.service.send({ headers, body: JSON.stringify(input) }, options))
  }

  /** Ends all connections. */
  destroy(): void {
    this.service.destroy()
  }
}

/** The output of a call. Throws an error's answer under DynamoDB's name for it, with all of its fields. */
function outputOf(answer: Answer): object {
  const { status, headers, text } = answer
  const $metadata = { httpStatusCode: status, requestId: headers['x-amzn-requestid'] }
  const output = parse(text)
  if (status < 300 && output && $metadata.requestId) return Object.assign(output, { $metadata })
  if (status < 300 || !output) throw Object.assign(notOfDynamoDb(), { $metadata })
  const { __type, Message, message = Message ?? 'UnknownError', ...fields } = output
  throw Object.assign(new Error(String(message)), fields, { name: errorNameOf(answer), $metadata })
}

/**
 * Only a binary attribute has a string under `B`, or a list of strings under `BS`: under an attribute's name there is
 * always an object.
 *
 * @returns `undefined` for what is not the JSON of an object. The parser's own error would repeat a part of it.
 */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    const output: unknown = /"BS?"/.test(text) ? JSON.parse(text, withBinary) : JSON.parse(text)
    return Object(output) === output && !Array.isArray(output) ? (output as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function withBinary(key: string, value: unknown): unknown {
  if (key === 'B' && typeof value === 'string') return Binary.from64(value)
  return key === 'BS' && Array.isArray(value) && typeof value[0] === 'string' ? value.map(Binary.from64) : value
}

/** The bytes of a binary attribute, which is written back as it was read. */
class Binary extends Uint8Array {
  static readonly from64 = (base64: string): Binary => new Binary(Buffer.from(base64, 'base64'))

  toJSON(): string {
    return Buffer.from(this).toString('base64')
  }
}
