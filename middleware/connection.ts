/** As much of Node's `ServerResponse` as is used here. */
export interface NodeResponse {
  statusCode: number
  readonly destroyed: boolean
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  end: (...args: never[]) => unknown
  hasHeader(name: string): boolean
  setHeader(name: string, value: string): unknown
  once(event: 'close', listener: () => void): unknown
}

type Ending = Pick<NodeResponse, 'destroyed' | 'writableEnded' | 'writableFinished' | 'end' | 'once'>

/** What becomes of a request's connection and of its handler. */
export interface Connection {
  /** Is aborted once the client has left before its response was complete. */
  leaving(): AbortSignal
  /**
   * Calls the listener once the handler is done and the response is complete or its client gone. A client that leaves
   * does not end a request whose handler still runs: or it could have as many run as it likes. Called once at most.
   */
  onEnd(listener: () => void): void
  /** Says that the handler is done, where the framework tells that. */
  handled(): void
}

/** The connection of a request to a server of Node. */
export function connectionOf(response: Ending): Connection {
  let isHandled = false
  let end = () => {}
  const left = () => {
    if (isHandled || response.writableEnded) return end()
    const { end: original } = response
    response.end = (...args) => {
      end() // the handler's last word, though nobody reads it
      return original.apply(response, args)
    }
  }
  return {
    leaving() {
      if (response.destroyed) return AbortSignal.abort()
      const controller = new AbortController()
      response.once('close', () => {
        if (!response.writableFinished) controller.abort()
      })
      return controller.signal
    },
    onEnd(listener) {
      end = listener
      if (response.destroyed) left()
      else response.once('close', left)
    },
    handled() {
      isHandled = true
      if (response.destroyed) end()
    },
  }
}

export function setHeaders(response: Pick<NodeResponse, 'setHeader'>, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}
