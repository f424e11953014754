import type { IncomingMessage, ServerResponse } from 'node:http'
import { RANGES, wrongNumber } from '../../pages/console/numbers'
import { readText } from '../gateway/send'

const MAX_BYTES = 512 * 1024

/** A mistake in what a page sent, and its field. */
export class WrongField extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message)
  }
}

/** The JSON object in a request's body. @throws WrongField if it is not an object, or too long. */
export async function readJson(
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<Readonly<Record<string, unknown>>> {
  const { text, bytes } = await readText(incoming, response, MAX_BYTES)
  if (text === undefined) throw new WrongField('', `the body must have at most ${MAX_BYTES} bytes, got ${bytes}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new WrongField('', 'the body must be JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WrongField('', 'the body must be a JSON object')
  return value as Readonly<Record<string, unknown>>
}

/** A number from a page's form. @throws WrongField */
export function numberIn(value: unknown, field: keyof typeof RANGES): number {
  const wrong = wrongNumber(RANGES[field], value)
  if (wrong === undefined) return value as number
  throw new WrongField(field, wrong)
}

/** One of some texts. @throws WrongField */
export function oneOf<T extends string>(value: unknown, field: string, all: readonly T[]): T {
  if (all.includes(value as T)) return value as T
  throw new WrongField(field, `must be one of ${all.join(', ')}, got ${JSON.stringify(value) ?? 'nothing'}`)
}

/** A text that may be sent as a header, or nothing. @throws WrongField */
export function apiKeyIn(value: unknown): string | null {
  if (value === null) return null
  if (typeof value === 'string' && /^[!-~]{1,256}$/.test(value)) return value
  throw new WrongField('apiKey', 'must be 1 to 256 printable characters without spaces')
}
