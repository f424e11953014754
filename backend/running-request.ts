/** A stream that is piped into a response. */
interface Source {
  readonly destroyed?: boolean
  readonly closed?: boolean
  readonly readableFlowing?: boolean | null
  on(event: 'close', listener: () => void): unknown
}

/** The part of Node's writable stream that is used here: the response of a server, or of a Lambda function. */
export interface ResponseStream {
  readonly writableEnded: boolean
  write: (...args: never[]) => unknown
  on(event: 'pipe' | 'unpipe', listener: (source: Source) => void): unknown
  on(event: 'finish' | 'close', listener: () => void): unknown
}

/** How long a handler whose response has closed counts as running after its last write or data, in milliseconds. */
const QUIET_MS = 75

/**
 * Detects the end of a request: its response is over, and so is everything else that shows that its handler still
 * works. Each of these is a part; the request ends when no part runs.
 */
export class RunningRequest {
  private parts = 0

  /** @param onEnd may be called again, where a part begins after the end. */
  constructor(private readonly onEnd: () => void) {}

  /** How many parts run. */
  get running(): number {
    return this.parts
  }

  /** Begins a part. Returns what ends it, which may be called again. */
  begin(): () => void {
    this.parts++
    let isRunning = true
    return () => {
      if (!isRunning) return
      isRunning = false
      this.parts--
      if (this.parts === 0) this.onEnd()
    }
  }

  /**
   * Watches a response from before its handler runs. It is over when it is finished, or closed because its client has
   * left. A handler that had not ended the response by then still runs as long as it writes.
   *
   * A stream that is piped into the response is a part of its own until it has closed. Once the response is over, one
   * that is unpiped or paused counts as ended, unless it was destroyed and has yet to close.
   *
   * @returns a function that marks the response as over, for callers that learn it sooner.
   */
  watch(response: ResponseStream): () => void {
    const end = this.begin()
    const sources = new Map<Source, PipedSource>()
    let quiet: NodeJS.Timeout | undefined

    const onPipe = (source: Source) => {
      const known = sources.get(source)
      if (known) {
        known.isPiped = true
        return
      }
      const piped = { isPiped: true, end: this.begin() }
      sources.set(source, piped)
      source.on('close', piped.end)
    }
    const onUnpipe = (source: Source) => {
      const known = sources.get(source)
      if (known) known.isPiped = false
    }
    const endWhatStandsStill = () => {
      end()
      for (const [source, piped] of sources) if (standsStill(source, piped)) piped.end()
    }
    const over = () => {
      if (quiet) return
      quiet = setTimeout(endWhatStandsStill, QUIET_MS)
      if (response.writableEnded) {
        end()
        if (this.parts === 0) clearTimeout(quiet)
      } else onCall(response, 'write', () => quiet?.refresh())
    }
    response.on('pipe', onPipe)
    response.on('unpipe', onUnpipe)
    response.on('finish', over)
    response.on('close', over)
    return over
  }
}

interface PipedSource {
  isPiped: boolean
  readonly end: () => void
}

/**
 * A destroyed source emits an event when it has closed. Any other one whose response has closed may never move again.
 */
const standsStill = (source: Source, { isPiped }: PipedSource): boolean =>
  source.destroyed ? source.closed !== false : !isPiped || source.readableFlowing !== true

/** Calls the listener with each call of a method, before the object gets it. */
export function onCall<Name extends string>(
  target: Record<Name, (...args: never[]) => unknown>,
  method: Name,
  listener: (...args: unknown[]) => void,
): void {
  const original = target[method]
  target[method] = (...args) => {
    listener(...args)
    return original.apply(target, args)
  }
}
