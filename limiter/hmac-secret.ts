import { Mistake } from './errors'

const FEWEST_SECRET_BYTES = 16

/** A copy, so that nobody changes it meanwhile. No message says anything of it but its length. */
export function secretOf(given: unknown, issues: Mistake[]): Uint8Array | undefined {
  const bytes =
    typeof given === 'string' ? Buffer.from(given) : given instanceof Uint8Array ? Buffer.from(given) : undefined
  if (bytes && bytes.length >= FEWEST_SECRET_BYTES) return bytes
  const got = bytes ? `${bytes.length} bytes` : `a value of type ${typeof given}`
  issues.push(
    new Mistake(
      'invalid_hmac_key',
      `hmacKey must be a string or a Uint8Array of at least ${FEWEST_SECRET_BYTES} bytes, got ${got}`,
    ),
  )
  return undefined
}
