import { createHash, createHmac } from 'node:crypto'
import type { AwsCredentials } from './credentials'

type Headers = Readonly<Record<string, string>>

/**
 * Signs POST requests to one service: AWS's Signature Version 4, of all headers that are given and the body.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export class Signer {
  /** Of the last secret and day: the next request has the same. */
  private key: { readonly from: string; readonly key: Buffer } | undefined

  constructor(
    private readonly region: string,
    private readonly service: string,
  ) {}

  /**
   * @param path encoded, as it is sent.
   * @param headers names in lower case.
   * @param now AWS's time, in epoch milliseconds.
   * @returns the headers with those of the signature.
   */
  sign(path: string, headers: Headers, body: string, credentials: AwsCredentials, now: number): Headers {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
    const signed = {
      ...headers,
      'x-amz-date': time,
      ...(sessionToken && { 'x-amz-security-token': sessionToken }),
    } as Record<string, string>
    const names = Object.keys(signed).sort()
    const lines = names.map((name) => `${name}:${signed[name]!.trim().replace(/\s+/g, ' ')}\n`).join('')
    const covered = names.join(';')
    const scope = `${time.slice(0, 8)}/${this.region}/${this.service}/aws4_request`
    const request = `POST\n${twiceEncoded(path)}\n\n${lines}\n${covered}\n${sha256(body)}`
    const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(request)}`
    const signature = hmac(this.keyOf(`AWS4${secretAccessKey}`, scope), text).toString('hex')
    const credential = `${accessKeyId}/${scope}`
    const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${covered}, Signature=${signature}`
    return { ...signed, authorization }
  }

  private keyOf(secret: string, scope: string): Buffer {
    const from = `${scope} ${secret}`
    if (this.key?.from !== from)
      this.key = { from, key: scope.split('/').reduce<string | Buffer>(hmac, secret) as Buffer }
    return this.key.key
  }
}

/** Paths are signed encoded once more than they are sent, without empty segments. */
const twiceEncoded = (path: string): string =>
  path
    .replace(/\/+/g, '/')
    .replace(/[^/\w.~-]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
