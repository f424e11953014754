import { type Answer, SignedCalls, type SignedCallsOptions } from '../../limiter/aws/signed-calls'

/**
 * Calls a function and waits for its result, or for the message of the error that it threw. Rejects when the function
 * cannot be called.
 */
export type Invoke = (event: unknown, signal: AbortSignal) => Promise<Invoked>

export type Invoked =
  | { readonly answer: unknown; readonly error?: undefined }
  | { readonly error: string; readonly answer?: undefined }

export interface FunctionAccess extends Pick<SignedCallsOptions, 'region' | 'endpoint' | 'credentials'> {
  /** Its name, or its ARN, either with a version or an alias. The Region in an ARN takes precedence. */
  readonly functionName: string
}

/** A longer answer of an authorizer is refused by API Gateway, too. */
const MAX_ANSWER_BYTES = 64 * 1024

/** @see https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html */
export function invoker({ functionName, region, ...access }: FunctionAccess): Invoke {
  const lambda = new SignedCalls({
    ...access,
    region: /^arn:[^:]+:lambda:([^:]+):/.exec(functionName)?.[1] ?? region,
    service: 'lambda',
    maxAnswerBytes: MAX_ANSWER_BYTES,
  })
  const path = `/2015-03-31/functions/${encodeURIComponent(functionName)}/invocations`
  const headers = { 'content-type': 'application/json', 'x-amz-invocation-type': 'RequestResponse' }
  return async (event, signal) => {
    const call = { path, headers, body: JSON.stringify(event) }
    // a kept connection that the other side has closed meanwhile
    const again = (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' && !signal.aborted) return lambda.send(call, { signal })
      throw error
    }
    return invokedOf(await lambda.send(call, { signal }).catch(again))
  }
}

function invokedOf({ status, headers, text }: Answer): Invoked {
  if (status !== 200)
    throw new Error(`Lambda answered the invocation of the upstream authorizer with status ${status}, not 200`)
  const payload: unknown = JSON.parse(text)
  if (headers['x-amz-function-error'] === undefined) return { answer: payload }
  const { errorMessage } = Object(payload) as { errorMessage?: unknown }
  return { error: typeof errorMessage === 'string' ? errorMessage : '' }
}
