import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'

/**
 * Replaces the SDK's SHA-256, which includes a JavaScript implementation for a Node without OpenSSL. It signs requests.
 */
export class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | Uint8Array) {
    this.#hash = secret ? createHmac('sha256', secret) : createHash('sha256')
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}
