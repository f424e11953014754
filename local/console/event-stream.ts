import type { ServerResponse } from 'node:http'
import type { Full } from '../../pages/console/protocol'

/** The maximum of visible pages: hidden ones have no stream. */
const MAX_STREAMS = 16
/** A page that was refused a stream retries after this time. */
const AGAIN_MS = 1000
const HEARTBEAT_MS = 15_000

/**
 * Server-sent events to every open page. A page that reads too slowly misses events instead of filling the memory, and
 * gets a new snapshot when it has caught up.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStreams {
  readonly #streams = new Map<ServerResponse, { isFull: boolean }>()
  readonly #snapshot: () => object
  #heartbeat: NodeJS.Timeout | undefined

  /** @param snapshot what a page gets first, as the event `hello`. */
  constructor(snapshot: () => object) {
    this.#snapshot = snapshot
  }

  get size(): number {
    return this.#streams.size
  }

  /**
   * A page too many gets the event `full`, and its stream ends: then a browser retries by itself, as it would not after
   * a status of 503.
   *
   * @returns whether the page got a stream.
   */
  open(response: ServerResponse, headers: Readonly<Record<string, string>>): boolean {
    response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' })
    if (this.#streams.size >= MAX_STREAMS) {
      const full: Full = { most: MAX_STREAMS }
      response.end(`retry: ${AGAIN_MS}\nevent: full\ndata: ${JSON.stringify(full)}\n\n`)
      return false
    }
    this.#streams.set(response, { isFull: false })
    response.once('close', () => this.#streams.delete(response))
    response.on('drain', () => {
      const stream = this.#streams.get(response)
      if (!stream?.isFull) return
      stream.isFull = false
      this.#write(response, 'hello', this.#snapshot())
    })
    this.#heartbeat ??= setInterval(() => {
      for (const [open, { isFull }] of this.#streams) if (!isFull) open.write(':\n\n')
    }, HEARTBEAT_MS).unref()
    this.#write(response, 'hello', this.#snapshot())
    return true
  }

  send(event: string, data: unknown): void {
    for (const response of this.#streams.keys()) this.#write(response, event, data)
  }

  /** Ends all streams, and does not wait for their readers. */
  close(): void {
    clearInterval(this.#heartbeat)
    for (const response of this.#streams.keys()) {
      response.end()
      response.socket?.destroySoon()
    }
    this.#streams.clear()
  }

  #write(response: ServerResponse, event: string, data: unknown): void {
    const stream = this.#streams.get(response)
    if (!stream || stream.isFull) return
    stream.isFull = !response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
}
