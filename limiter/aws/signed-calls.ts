import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { SignatureV4 } from '@smithy/signature-v4'
import type { CallOptions } from '../deadline'
import { type AwsCredentials, type CredentialProvider, Credentials } from './credentials'
import { type Endpoint, type EndpointOptions, endpointOf } from './endpoint'

export interface SignedCallsOptions extends EndpointOptions {
  /** As host names and signatures call it: `dynamodb`, `lambda`. */
  readonly service: string
  /** Instead of the Region and endpoint. @default what these and the environment say */
  readonly at?: Endpoint | undefined
  /** @default the environment, else the SDK's own chain where it is installed */
  readonly credentials?: AwsCredentials | CredentialProvider | undefined
  /** A longer answer is refused. */
  readonly maxAnswerBytes: number
  /** Sockets at the same time; further calls wait for one. @default 50 */
  readonly maxSockets?: number
}

/** One POST. */
export interface SignedCall {
  /** Encoded; follows the path of the endpoint, if it has one. @default `/` */
  readonly path?: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Errors by which AWS says that the time of a signature is wrong, or what it calls a wrong signature then. */
const ABOUT_TIME = /Signature|RequestExpired|RequestInTheFuture|RequestTimeTooSkewed|AuthFailure/
/** Shorter keys and tokens are those of local engines, and may be part of what an answer says. */
const MIN_SECRET_LENGTH = 16
/** A clock that is off by less is right: AWS takes signatures of five minutes before and after. */
const MIN_SKEW_MS = 60_000

/**
 * Calls an AWS service: the SDK's signer and HTTP handler without the SDK's client, whose middleware costs more than
 * both (ADR 0052).
 *
 * A call ends at its signal, down to the socket. It is not sent again but for one reason: AWS refused its signature,
 * and the clock by which it was signed, or its credentials, have been found wrong.
 */
export class SignedCalls {
  private readonly signer: SignatureV4
  private readonly handler: NodeHttpHandler
  private readonly credentials: Credentials
  private readonly url: URL
  private readonly basePath: string
  private readonly maxAnswerBytes: number
  /** How far AWS's clock is ahead of ours. */
  private aheadMs = 0

  /** @throws ConfigError for a Region or an endpoint that is missing or invalid. */
  constructor(options: SignedCallsOptions) {
    const { service, at, credentials, maxAnswerBytes, maxSockets = 50 } = options
    const { region, url } = at ?? endpointOf(service, options)
    this.credentials = new Credentials(credentials, () => this.now())
    this.signer = new SignatureV4({
      credentials: this.credentials.get,
      region,
      service,
      sha256: Sha256,
      applyChecksum: false, // the signature covers the body anyway
    })
    const agent = { keepAlive: true, maxSockets }
    this.handler = new NodeHttpHandler({ httpAgent: agent, httpsAgent: agent })
    this.url = url
    this.basePath = url.pathname.replace(/\/$/, '')
    this.maxAnswerBytes = maxAnswerBytes
  }

  /** @throws Error of the network, of the signal, or for an answer that is cut short or too long. */
  async send(call: SignedCall, options: CallOptions = {}): Promise<Answer> {
    const { answer, sent } = await this.once(call, options)
    if (answer.status < 400 || !(await this.isSetRight(answer, sent))) return answer
    return (await this.once(call, options)).answer
  }

  /** Ends all connections. */
  destroy(): void {
    this.handler.destroy()
  }

  /** AWS's time, as far as it is known. */
  private now(): number {
    return Date.now() + this.aheadMs
  }

  /** Sends the call and returns the headers that it was sent with, too. */
  private async once(
    { path = '/', headers, body }: SignedCall,
    { signal, onServerTime }: CallOptions,
  ): Promise<{ readonly answer: Answer; readonly sent: Answer['headers'] }> {
    const { protocol, hostname, port, host } = this.url
    const request = {
      ...{ method: 'POST', protocol, hostname, path: this.basePath + path, query: {}, body },
      headers: { host, 'content-length': String(Buffer.byteLength(body)), 'user-agent': 'sluice', ...headers },
      ...(port && { port: Number(port) }),
    }
    const signed = await this.signer.sign(request, { signingDate: new Date(this.now()) })
    const { response } = await this.handler.handle(signed as never, { abortSignal: signal as AbortSignal | undefined })
    const date = Date.parse(response.headers.date ?? '')
    if (date >= 0) onServerTime?.(date)
    const text = await textOf(response.body, this.maxAnswerBytes)
    const { statusCode: status, headers: answered } = response
    const shown = status < 300 ? text : withoutSecrets(text, signed.headers)
    return { answer: { status, headers: answered, text: shown }, sent: signed.headers }
  }

  /** Whether AWS refused the signature for a reason that is now mended. */
  private async isSetRight(answer: Answer, sent: Answer['headers']): Promise<boolean> {
    const name = errorNameOf(answer)
    if (name.includes('ExpiredToken')) {
      const sessionToken = sent['x-amz-security-token']
      this.credentials.forget(sessionToken)
      return (await this.credentials.get()).sessionToken !== sessionToken
    }
    const aheadMs = Date.parse(answer.headers.date ?? '') - Date.now()
    const isSkewed = Math.abs(aheadMs - this.aheadMs) > MIN_SKEW_MS // false for a date that is missing
    if (!isSkewed || !ABOUT_TIME.test(name)) return false
    this.aheadMs = aheadMs
    return true
  }
}

/**
 * The name of an error, of all that a JSON service says of it: `com.amazonaws.dynamodb.v20120810#Name:http://…`.
 * `Unknown` where it does not say.
 */
export function errorNameOf({ headers, text }: Answer): string {
  const type = /"(?:__type|code)"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? headers['x-amzn-errortype'] ?? 'Unknown'
  return type.replace(/[,:].*/, '').replace(/.*#/, '')
}

function textOf(body: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    body.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxBytes) body.destroy(new Error(`the answer is longer than ${maxBytes} bytes`))
    })
    body.on('end', () => resolve(Buffer.concat(chunks).toString()))
    body.on('error', reject)
  })
}

/** An error's text as it may be shown: AWS repeats the headers of a request whose signature it refuses. */
function withoutSecrets(text: string, { authorization = '', ...headers }: Answer['headers']): string {
  const [, accessKeyId, signature] = /Credential=([^/]+).*Signature=(.+)/.exec(authorization) ?? []
  return [accessKeyId, signature, headers['x-amz-security-token']].reduce<string>((before, secret = '') => {
    const [part = ''] = /\w{8,}/.exec(secret) ?? [] // as it stands in every spelling
    const isIn = secret.length >= MIN_SECRET_LENGTH && before.includes(part)
    return isIn ? before.replace(spellingsOf(secret), '***') : before
  }, text)
}

/** Finds a secret in a text of JSON, XML or HTML, whichever of its characters are escaped there. */
function spellingsOf(secret: string): RegExp {
  const characters = secret.replace(/\W/g, (character) => {
    const hex = `0*${character.charCodeAt(0).toString(16)}`
    const escaped = [`\\\\?\\${character}`, `\\\\u${hex}`, `%${hex}`, `&#x${hex};`, `&#${character.charCodeAt(0)};`]
    return `(?:${escaped.join('|')})`
  })
  return new RegExp(characters, 'gi')
}

/** SHA-256 by Node, as the signer asks for it. */
class Sha256 {
  private readonly hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = secret ? createHmac('sha256', secret as string) : createHash('sha256')
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.hash.update(data as string)
  }

  async digest(): Promise<Uint8Array> {
    return this.hash.digest()
  }

  reset(): void {}
}
