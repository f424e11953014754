import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { passOn, refuseBrowsers, sharedConnections } from '../engines/pass-on'

/** The calls since the counts were last read. */
export interface CallCounts {
  readonly total: number
  /** By table; `''` for calls that name none. */
  readonly tables: Readonly<Record<string, number>>
}

/**
 * What the proxy does to calls. `lose`: it drops the answer to the next write that is applied. `down`: it answers
 * nothing. `slow`: it waits `slowMs` before it passes a call on. `throttled`: it answers that the table is throttled.
 */
export type Trouble = 'none' | 'lose' | 'down' | 'slow' | 'throttled'

/** A call as it arrived. */
export interface Call {
  /** `UpdateItem`, `GetItem` … */
  readonly operation: string
  /** `''` if it names none. */
  readonly table: string
  /** JSON. */
  readonly body: string
}

const WRITES = /\.(UpdateItem|PutItem|TransactWriteItems)$/
const THROTTLED = JSON.stringify({
  __type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException',
  message: 'simulated by the console: the table is throttled',
})
const TABLE = /"(?:TableName"\s*:\s*"|RequestItems"\s*:\s*\{\s*")([^"]+)"/

/**
 * Stands between a limiter and its DynamoDB and counts every call, an SDK's retries included: the same measure for
 * products in any language. It answers no web page.
 */
export class CountingProxy {
  trouble: Trouble = 'none'
  slowMs = 0
  readonly #agent = sharedConnections()
  readonly #target: URL
  #tables: Record<string, number> = {}
  #server: Server | undefined

  /** @param onCall gets each call before anything is done to it, and its response's status. */
  constructor(
    endpoint: string,
    private readonly onCall: (call: Call) => ((statusCode: number) => void) | undefined = () => undefined,
  ) {
    this.#target = new URL(endpoint)
  }

  /** Returns the URL that clients use as DynamoDB's. */
  async listen(): Promise<string> {
    const server = createServer((incoming, response) => void this.#pass(incoming, response))
    this.#server = server
    server.keepAliveTimeout = 60_000 // longer than the engine's own, so that the engine decides
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', resolve)
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** The counts since this was last called. */
  take(): CallCounts {
    const tables = this.#tables
    this.#tables = {}
    return { total: Object.values(tables).reduce((sum, calls) => sum + calls, 0), tables }
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => (this.#server ? this.#server.close(resolve) : resolve(undefined)))
    this.#server?.closeAllConnections()
    this.#agent.destroy()
    await closed
  }

  async #pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (refuseBrowsers(incoming, response)) return
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const text = body.toString('utf8')
    const table = TABLE.exec(text)?.[1] ?? ''
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1)!
    const answered = this.onCall({ operation, table, body: text })
    this.#tables[table] = (this.#tables[table] ?? 0) + 1
    if (this.trouble === 'down') return void incoming.socket.destroy()
    if (this.trouble === 'throttled') {
      answered?.(400)
      return void response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' }).end(THROTTLED)
    }
    if (this.trouble === 'slow') await sleep(this.slowMs, undefined, { ref: false }) // nothing waits for it at the end
    if (incoming.socket.destroyed) return // the caller has left
    const write = WRITES.test(String(incoming.headers['x-amz-target']))

    passOn(incoming, response, {
      ...{ target: this.#target, agent: this.#agent, body },
      answered: (answer) => {
        if (this.trouble === 'lose' && write && answer.statusCode === 200) {
          this.trouble = 'none'
          answer.resume().once('end', () => incoming.socket.destroy())
          return false
        }
        answered?.(answer.statusCode ?? 500)
        return true
      },
    })
  }
}
