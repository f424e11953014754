import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The calls since the counts were last read. */
export interface CallCounts {
  readonly total: number
  /** By table; `''` for calls that name none. */
  readonly tables: Readonly<Record<string, number>>
}

/**
 * What the proxy does to calls. `lose`: it drops the answer to the next write that is applied. `down`: it answers
 * nothing.
 */
export type Trouble = 'none' | 'lose' | 'down'

const WRITES = /\.(UpdateItem|PutItem|TransactWriteItems)$/
const TABLE = /"(?:TableName"\s*:\s*"|RequestItems"\s*:\s*\{\s*")([^"]+)"/

/**
 * Stands between a limiter and its DynamoDB and counts every call, an SDK's retries included: the same measure for
 * products in any language.
 */
export class CountingProxy {
  trouble: Trouble = 'none'
  readonly #agent = new Agent({ keepAlive: true })
  readonly #target: URL
  #tables: Record<string, number> = {}
  #server: Server | undefined

  constructor(endpoint: string) {
    this.#target = new URL(endpoint)
  }

  /** Returns the URL that clients take for DynamoDB's. */
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
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const table = TABLE.exec(body.toString('utf8'))?.[1] ?? ''
    this.#tables[table] = (this.#tables[table] ?? 0) + 1
    if (this.trouble === 'down') return void incoming.socket.destroy()
    const write = WRITES.test(String(incoming.headers['x-amz-target']))

    const { hostname: host, port } = this.#target
    const options = {
      host,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: incoming.headers,
      agent: this.#agent,
    }
    const onward = request(options, (answer) => {
      if (this.trouble === 'lose' && write && answer.statusCode === 200) {
        this.trouble = 'none'
        answer.resume().once('end', () => incoming.socket.destroy())
        return
      }
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => incoming.socket.destroy())
    onward.end(body)
  }
}
