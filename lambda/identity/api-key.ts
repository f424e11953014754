import { createHash } from 'node:crypto'
import { NO_CREDENTIAL, type Source } from './source'

/**
 * API Gateway's own keys have at most 128 characters:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
const MAX_KEY_LENGTH = 512

/**
 * A key in a header, which has not been verified: it identifies the client that the config table has under its hash,
 * and nobody when there is none.
 *
 * @param header in lower case.
 */
export const apiKeySource = (header: string): Source => ({
  resolve({ headers }) {
    const key = headers.get(header)?.trim()
    // A longer one than any key is ignored: cut short, it could become another client's key.
    return key === undefined || key === '' || key.length > MAX_KEY_LENGTH
      ? NO_CREDENTIAL
      : { kind: 'claim', credential: hashApiKey(key), apiKey: key }
  },
})

/** SHA-256 in hexadecimal: the only form in which a key is stored, compared or logged. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
