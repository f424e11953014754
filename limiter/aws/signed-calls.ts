import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { CallOptions } from '../deadline'
import { type AwsCredentials, type CredentialProvider, Credentials } from './credentials'
import { type Endpoint, type EndpointOptions, endpointOf } from './endpoint'
import { Signer } from './signer'

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
 * Calls an AWS service without the SDK's client, whose middleware costs more than the call (ADR 0052).
 *
 * A call ends at its signal, down to the socket. It is not sent again but for one reason: AWS refused its signature,
 * and the clock by which it was signed, or its credentials, have been found wrong.
 */
export class SignedCalls {
  private readonly signer: Signer
  private readonly credentials: Credentials
  private readonly request: typeof http.request
  private readonly target: http.RequestOptions & { readonly agent: http.Agent }
  /** As the header says it: with a port that is not the protocol's own. */
  private readonly host: string
  private readonly basePath: string
  private readonly maxAnswerBytes: number
  /** How far AWS's clock is ahead of ours. */
  private aheadMs = 0

  /** @throws ConfigError for a Region or an endpoint that is missing or invalid. */
  constructor(options: SignedCallsOptions) {
    const { service, at, credentials, maxAnswerBytes, maxSockets = 50 } = options
    const { region, url } = at ?? endpointOf(service, options)
    this.credentials = new Credentials(credentials, () => this.now())
    this.signer = new Signer(region, service)
    const { Agent, request } = url.protocol === 'https:' ? https : http
    this.request = request
    const host = url.hostname.replace(/[[\]]/g, '') // around an address of version 6
    this.target = { method: 'POST', host, port: url.port, agent: new Agent({ keepAlive: true, maxSockets }) }
    this.host = url.host
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
    this.target.agent.destroy()
  }

  /** AWS's time, as far as it is known. */
  private now(): number {
    return Date.now() + this.aheadMs
  }

  /** Sends the call and returns the headers that it was sent with, too. */
  private async once(
    { path = '/', headers: own, body }: SignedCall,
    { signal, onServerTime }: CallOptions,
  ): Promise<{ readonly answer: Answer; readonly sent: Answer['headers'] }> {
    const fullPath = this.basePath + path
    const headers = { host: this.host, 'content-length': String(Buffer.byteLength(body)), ...own }
    const sent = this.signer.sign(fullPath, headers, body, await this.credentials.get(), this.now())
    const response = await this.response(fullPath, sent, body, signal)
    const { statusCode: status = 0 } = response
    const answered = response.headers as Answer['headers']
    const date = Date.parse(answered.date ?? '')
    if (date >= 0) onServerTime?.(date)
    const text = await textOf(response, this.maxAnswerBytes)
    return { answer: { status, headers: answered, text: status < 300 ? text : withoutSecrets(text, sent) }, sent }
  }

  private response(
    path: string,
    headers: Answer['headers'],
    body: string,
    signal: CallOptions['signal'],
  ): Promise<IncomingMessage> {
    const options = { ...this.target, path, headers: { ...headers, 'user-agent': 'sluice' } }
    return new Promise((resolve, reject) => {
      const aborted = () => Object.assign(new Error('the call was aborted'), { name: 'AbortError' })
      if (signal?.aborted) return reject(aborted())
      const request = this.request(options, resolve).on('error', reject).end(body)
      if (!signal) return
      signal.onabort = () => {
        request.destroy()
        reject(aborted()) // a request that waits for a socket says nothing when it is destroyed
      }
    })
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
