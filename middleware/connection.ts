import { type ResponseStream, RunningRequest } from '../backend/running-request'

/** As much of a socket of Node as is used here. */
interface Socket {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** As much of the response of any server of Node as is used here, also of one that speaks HTTP/2. */
export interface ServerStream extends ResponseStream {
  /** Absent in HTTP/2. */
  readonly destroyed?: boolean | undefined
  /** Of HTTP/2; `undefined` once it is closed. */
  readonly stream?: { readonly destroyed: boolean } | undefined
  readonly req?: { readonly socket?: Socket | null | undefined } | undefined
  once(event: 'close', listener: () => void): unknown
}

/** As much of Node's `ServerResponse` as is used here. */
export interface NodeResponse extends ServerStream {
  statusCode: number
  end: (...args: never[]) => unknown
  readonly headersSent: boolean
  hasHeader(name: string): boolean
  setHeader(name: string, value: string): unknown
}

/** The observable course of one request and of its handler. */
export class Connection {
  private running: RunningRequest | undefined
  private left: AbortSignal | undefined
  /** How many parts are the response, and not the work on it. */
  private responses = 0

  /**
   * @param response `undefined` where the runtime does not show it: a request ends when its handler has answered.
   * @param signal is aborted once the client has left. @default it follows the response
   */
  constructor(
    private readonly response: ServerStream | undefined,
    private readonly signal?: AbortSignal,
  ) {}

  /** Is aborted once the client has left before it was answered. */
  leaving(): AbortSignal {
    this.left ??= this.watchClient()
    return this.left
  }

  private watchClient(): AbortSignal {
    const { response, signal } = this
    if (signal || !response) return signal ?? new AbortController().signal
    if (isGone(response)) return AbortSignal.abort()
    const controller = new AbortController()
    const left = () => {
      forget()
      if (!response.writableEnded) controller.abort()
    }
    response.once('close', left)
    const forget = onSocketClose(response, left)
    return controller.signal
  }

  /** Calls the listener once the client has left before it was answered. */
  onLeave(listener: () => void): void {
    const signal = this.leaving()
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener, { once: true })
  }

  /** Calls the listener once the request has ended, as `RunningRequest` sees it. */
  onEnd(listener: () => void): void {
    let forget = () => {}
    this.running = new RunningRequest(() => {
      forget()
      listener()
    })
    if (!this.response) return
    this.responses++
    const over = this.running.watch(this.response)
    if (isGone(this.response)) over()
    else forget = onSocketClose(this.response, over)
  }

  /** Whether the handler, or a stream of it, is seen to run. */
  get isSeenToRun(): boolean {
    return (this.running?.running ?? 0) > this.responses
  }

  /** Whether anything listens for the end of the request. */
  get isWatched(): boolean {
    return this.running !== undefined
  }

  /**
   * Makes the cancellation of a web stream a part of the request: it lasts until what makes the stream has stopped.
   * Anything else is ignored.
   */
  watchBody(body: unknown): void {
    if (!this.isWatched || !isWebStream(body)) return
    const watched = <Target extends Pick<ReadableStream, 'cancel'>>(target: Target): Target => {
      const { cancel } = target
      target.cancel = async (reason) => {
        const end = this.begin()
        await cancel.call(target, reason).finally(end)
      }
      return target
    }
    const { getReader } = watched(body)
    body.getReader = ((options?: never) => watched(getReader.call(body, options))) as ReadableStream['getReader']
  }

  /** The same stream, whose end is the end of a part of the request: where no response shows it. */
  watchedBody<Chunk>(body: ReadableStream<Chunk>): ReadableStream<Chunk> {
    const end = this.begin()
    this.responses++
    const { readable, writable } = new TransformStream<Chunk, Chunk>({}, undefined, SHORT_BODY)
    void body
      .pipeTo(writable)
      .catch(() => {}) // the reader gets the error, or has left
      .finally(end)
    return readable
  }

  /** Begins the part of the request that is its handler, where the framework shows when that ends. */
  begin(): () => void {
    return this.running?.begin() ?? (() => {})
  }
}

/** Chunks that are taken from a stream before anybody reads them, so that a short body nobody reads has an end, too. */
const SHORT_BODY: QueuingStrategy = { highWaterMark: 16 }

const isWebStream = (body: unknown): body is ReadableStream =>
  typeof (body as ReadableStream | null | undefined)?.getReader === 'function'

const isGone = ({ destroyed, req, stream }: ServerStream): boolean =>
  Boolean(destroyed || stream?.destroyed || req?.socket?.destroyed)

const listeners = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls the listener when the response's socket closes. A pipelined response that waits for those before it has no
 * socket yet, and Node never closes it.
 *
 * @returns a function that removes the listener, since the socket may serve many more requests.
 */
function onSocketClose(response: ServerStream, listener: () => void): () => void {
  const socket = response.req?.socket
  if (!socket) return () => {}
  let waiting = listeners.get(socket)
  if (!waiting) {
    const all = new Set<() => void>()
    socket.once('close', () => {
      for (const one of all) one()
    })
    listeners.set(socket, all)
    waiting = all
  }
  waiting.add(listener)
  return () => waiting.delete(listener)
}

export function setHeaders(response: Pick<NodeResponse, 'setHeader'>, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}
