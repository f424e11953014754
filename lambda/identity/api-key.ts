import { createHash } from 'node:crypto'

/** API Gateway's own keys have at most 128 characters: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
const LONGEST_KEY = 512

/**
 * The key in `X-Api-Key`, a claim that nobody has verified. A longer one than any key is none: cut short, it could become someone else's.
 *
 * @param headers names in lower case.
 */
export function apiKeyFrom(headers: ReadonlyMap<string, string>): string | undefined {
  const key = headers.get('x-api-key')?.trim()
  return key === undefined || key === '' || key.length > LONGEST_KEY ? undefined : key
}

/** SHA-256 in hexadecimal: the only form in which a key is stored, compared or logged. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
