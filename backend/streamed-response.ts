import { type ResponseStream, RunningRequest } from './running-request'

/**
 * Resolves once a streamed response is over, and so are the streams that are piped into it; `undefined` where the
 * response is not streamed. Lambda waits for the end of the stream, too, so this keeps no function running longer.
 *
 * @param given the handler's arguments after the event: one of them is the stream.
 * @see https://github.com/aws/aws-lambda-nodejs-runtime-interface-client Lambda's runtime
 */
export function streamEnd(given: readonly unknown[]): Promise<void> | undefined {
  const stream = given.find(isResponseStream)
  return stream && new Promise((resolve) => new RunningRequest(resolve).watch(stream))
}

const isResponseStream = (value: unknown): value is ResponseStream =>
  ['write', 'on'].every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function')

/** Whether a body is a stream of Node or of the web. */
export const isStream = (body: unknown): body is AsyncIterable<unknown> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && ('pipe' in body || 'getReader' in body)

/**
 * The same stream, which is not over before `end` has settled: where it is complete, fails, or its consumer leaves.
 */
export function endingWith(body: AsyncIterable<unknown>, end: () => Promise<void> | undefined): ReadableStream {
  const parts = body[Symbol.asyncIterator]()
  const source = {
    async pull(controller: { enqueue(part: unknown): void; close(): void }) {
      let next: IteratorResult<unknown> | undefined
      try {
        next = await parts.next()
      } finally {
        if (!next || next.done) await end()
      }
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
    async cancel() {
      try {
        await parts.return?.()
      } finally {
        await end()
      }
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
