import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A line of a log group, and from when on it can be read: later than it was written, sometimes. */
interface LoggedLine {
  readonly id: string
  readonly at: number
  readonly readableAt: number
  readonly text: string
}

/** What one call asked for, beside what stands in its body. */
interface Asked {
  readonly target: string | undefined
  readonly authorization: string | undefined
  readonly body: { readonly logGroupName: string; readonly filterPattern: string; readonly startTime: number }
}

/** CloudWatch Logs with one log group, whose pages overlap by one line. */
export async function fakeLogs(now: () => number, pageSize = 3) {
  const lines: LoggedLine[] = []
  const asked: Asked[] = []
  const failures: { readonly status: number; readonly type: string }[] = []
  const server: Server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => {
      const body = JSON.parse(text)
      asked.push({
        target: request.headers['x-amz-target'] as string | undefined,
        authorization: request.headers.authorization,
        body,
      })
      const failure = failures.shift()
      const type = failure?.type ?? (body.logGroupName === 'group' ? undefined : 'ResourceNotFoundException')
      response.setHeader('content-type', 'application/x-amz-json-1.1')
      if (type !== undefined) {
        response.statusCode = failure?.status ?? 400
        return response.end(JSON.stringify({ __type: `com.amazonaws.logs#${type}`, message: 'no' }))
      }
      const all = lines.filter(({ at, readableAt }) => at >= body.startTime && readableAt <= now())
      const first = Number(body.nextToken ?? 0)
      const next = first + pageSize
      return response.end(
        JSON.stringify({
          events: all
            .slice(Math.max(0, first - 1), next) // the last line of the page before comes again
            .map(({ id, at, text: message }) => ({ eventId: id, timestamp: at, logStreamName: 's', message })),
          ...(next < all.length && { nextToken: String(next) }),
        }),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lines,
    asked,
    failures,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
