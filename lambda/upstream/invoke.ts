import { Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import type { Clock } from '../../limiter/clock'
import { authorizationOf, type Credentials } from './signature'

/**
 * Calls a function and waits for its result, or for the message of the error that it threw. Rejects when the function
 * cannot be called.
 */
export type Invoke = (event: unknown, signal: AbortSignal) => Promise<Invoked>

export type Invoked =
  | { readonly answer: unknown; readonly error?: undefined }
  | { readonly error: string; readonly answer?: undefined }

export interface FunctionAccess {
  /** Its name, or its ARN, either with a version or an alias. */
  readonly functionName: string
  /** The caller's own Region; the one in an ARN takes precedence. */
  readonly region: string
  /** Another Lambda endpoint than the Region's own. */
  readonly endpoint?: string
  readonly credentials: Credentials
  readonly clock: Clock
}

/** A longer answer of an authorizer is refused by API Gateway, too. */
const MOST_BYTES = 64 * 1024

/** Domains of the partitions other than the commercial one, by the prefixes of their Regions. */
const SUFFIXES: readonly (readonly [prefix: string, suffix: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
]

/**
 * Calls a function by one signed request, on a connection that is kept alive.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
export function invoker({ functionName, endpoint, credentials, clock, ...here }: FunctionAccess): Invoke {
  const region = /^arn:[^:]+:lambda:([^:]+):/.exec(functionName)?.[1] ?? here.region
  const suffix = SUFFIXES.find(([prefix]) => region.startsWith(prefix))?.[1] ?? 'amazonaws.com'
  const url = new URL(
    `/2015-03-31/functions/${encodeURIComponent(functionName)}/invocations`,
    endpoint ?? `https://lambda.${region}.${suffix}`,
  )
  const agent = new (url.protocol === 'https:' ? SecureAgent : PlainAgent)({ keepAlive: true })
  return (event, signal) => {
    const body = JSON.stringify(event)
    const headers: Record<string, string> = {
      host: url.host,
      'content-type': 'application/json',
      'x-amz-date': new Date(clock()).toISOString().replace(/[-:]|\.\d+/g, ''),
      'x-amz-invocation-type': 'RequestResponse',
      ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
    }
    const authorization = authorizationOf(
      { method: 'POST', path: url.pathname, headers, body },
      credentials,
      region,
      'lambda',
    )
    return send(url, { method: 'POST', agent, signal, headers: { ...headers, authorization } }, body)
  }
}

interface Sending {
  readonly method: 'POST'
  readonly agent: PlainAgent
  readonly signal: AbortSignal
  readonly headers: Record<string, string>
}

function send(url: URL, options: Sending, body: string): Promise<Invoked> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? secureRequest : plainRequest)(url, options)
    request.on('error', (error: NodeJS.ErrnoException) => {
      // A kept connection that the other side has closed meanwhile: the request went nowhere.
      // https://nodejs.org/api/http.html#requestreusedsocket
      if (request.reusedSocket && error.code === 'ECONNRESET') send(url, options, body).then(resolve, reject)
      else reject(error)
    })
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('error', reject)
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MOST_BYTES)
          response.destroy(new Error(`the upstream authorizer answered more than ${MOST_BYTES} bytes`))
        else chunks.push(chunk)
      })
      response.on('end', () => {
        try {
          resolve(
            read(response.statusCode, response.headers['x-amz-function-error'], Buffer.concat(chunks).toString('utf8')),
          )
        } catch (error) {
          reject(error)
        }
      })
    })
    request.end(body)
  })
}

function read(status: number | undefined, functionError: unknown, text: string): Invoked {
  if (status !== 200)
    throw new Error(`Lambda answered the invocation of the upstream authorizer with status ${status}, not 200`)
  const payload: unknown = JSON.parse(text)
  if (functionError === undefined) return { answer: payload }
  const { errorMessage } = Object(payload) as { errorMessage?: unknown }
  return { error: typeof errorMessage === 'string' ? errorMessage : '' }
}
