import { get } from 'node:http'
import { connect, constants } from 'node:http2'

/** A request of a client that reads, and may leave. */
export interface Visit {
  /** Resolves with the first byte of the body. */
  readonly begun: Promise<void>
  /** Resolves once nothing comes any more. */
  readonly over: Promise<void>
  leave(): void
}

const settled = () => {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Asks over a connection of its own, which closes when the client leaves. */
export function visit(protocol: 'HTTP/1.1' | 'HTTP/2', port: number, path: string): Visit {
  const [begun, over] = [settled(), settled()]
  if (protocol === 'HTTP/1.1') {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response
        .on('data', begun.resolve)
        .on('error', () => {})
        .on('close', over.resolve)
    })
    request.on('error', over.resolve)
    return { begun: begun.promise, over: over.promise, leave: () => void request.destroy() }
  }
  const session = connect(`http://127.0.0.1:${port}`)
  const stream = session.request({ ':path': path })
  stream.on('data', begun.resolve).on('error', () => {})
  stream.on('close', () => {
    over.resolve()
    session.close()
  })
  return { begun: begun.promise, over: over.promise, leave: () => stream.close(constants.NGHTTP2_CANCEL) }
}
