import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { SELF_SIGNED } from './certificate'
import type { Answered, BrokenConnection, Fault } from './fault'

/** The fields of a call by which faults select it. */
interface Call {
  /** `UpdateItem`, `GetItem`, `Query` … */
  readonly operation: string
  readonly table: string
}

/** A fault and the calls that it applies to. */
export interface Armed {
  readonly fault: Fault
  readonly aim: (call: Call) => boolean
  /** Whether DynamoDB executes the call before its answer is changed. */
  readonly applied: boolean
  /** How often, from the first selected call on. */
  readonly times: number
  /** The deadline in milliseconds, for answers that are late by a share of it. */
  readonly deadlineMs: number
}

/**
 * A DynamoDB with faults: forwards calls to an engine over real connections, so that the SDK and Node meet real
 * failures.
 *
 * Listens for itself at `endpoint`; faults of a connection that happen before it, at names and addresses, are played by
 * `Network`.
 */
export class FaultyDynamoDb {
  /** All calls that arrived. */
  calls = 0
  /** When the fault first applied, in milliseconds of `performance.now()`. */
  metAt = 0
  private armed: Armed | undefined
  private left = 0
  private readonly open = new Set<Socket>()
  private readonly forgotten = new WeakSet<Socket>()
  private readonly agent = new Agent({ keepAlive: true })
  private readonly http: Server
  private readonly tcp = createTcpServer((socket) => this.accept(socket))
  private context: SecureContext | undefined

  /**
   * @param engine the URL of the DynamoDB behind it. @param secure whether it speaks TLS, with a certificate that
   * nobody trusts.
   */
  constructor(
    private readonly engine: string,
    secure: boolean,
  ) {
    this.http = createServer(
      (incoming, outgoing) => void this.pass(incoming, outgoing).catch(() => outgoing.socket?.destroy()),
    )
    this.http.keepAliveTimeout = 60_000
    if (secure) this.context = createSecureContext(SELF_SIGNED)
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.tcp.listen(0, '127.0.0.1', resolve))
  }

  get port(): number {
    return (this.tcp.address() as AddressInfo).port
  }

  /** Applies the fault from now on. A connection fault applies to new connections, so open ones are ended. */
  async arm(armed: Armed): Promise<void> {
    this.armed = armed
    this.left = armed.times
    this.metAt = 0
    if (armed.fault.connection) await this.hangUp()
  }

  disarm(): void {
    this.armed = undefined
  }

  /** Sends nothing more on open connections, not even an end: as if a device in between had lost them. */
  forgetConnections(): void {
    for (const socket of this.open) this.forgotten.add(socket)
  }

  /** Cuts all connections off. */
  resetConnections(): void {
    for (const socket of this.open) socket.resetAndDestroy()
  }

  /** Ends connections as a server does that has not heard from them for long. */
  async hangUp(): Promise<void> {
    for (const socket of this.open) socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 20)) // until the other side has noticed
  }

  /** The connection fault that this one has to meet, of those that can be played where it is asked from. */
  connectionFault(...kinds: readonly BrokenConnection[]): BrokenConnection | undefined {
    const kind = this.armed?.fault.connection
    if (kind === undefined || !kinds.includes(kind) || this.left === 0) return undefined
    this.meet()
    return kind
  }

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy()
    this.agent.destroy()
    await new Promise((resolve) => this.tcp.close(resolve))
  }

  private meet(): void {
    this.left--
    this.metAt ||= performance.now()
  }

  private accept(socket: Socket): void {
    this.open.add(socket)
    socket.on('error', () => {}).on('close', () => this.open.delete(socket))
    const fault = this.connectionFault('reset', 'silent', 'not-tls')
    if (fault === 'reset') socket.resetAndDestroy()
    else if (fault === 'not-tls') socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    else if (fault === undefined) this.serve(socket)
  }

  private serve(socket: Socket): void {
    if (!this.context) return void this.http.emit('connection', socket)
    const secured = new TLSSocket(socket, { isServer: true, secureContext: this.context })
    secured.on('error', () => {}) // a client that does not trust the certificate
    this.http.emit('connection', secured)
  }

  private async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (this.forgotten.has(incoming.socket)) return
    this.calls++
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const sent = Buffer.concat(chunks)
    const { armed } = this
    const operation = String(incoming.headers['x-amz-target']).split('.').pop()!
    const met = armed && this.left > 0 && armed.aim({ operation, table: tableOf(sent) }) ? armed : undefined
    if (met) this.meet()
    if (met?.fault.answer && !met.applied) return met.fault.answer(outgoing, undefined)
    const real = await this.ask(incoming, sent)
    if (met?.fault.answer) return met.fault.answer(outgoing, real)
    if (met?.fault.slow) await new Promise((resolve) => setTimeout(resolve, met.fault.slow! * met.deadlineMs))
    outgoing.writeHead(real.status, real.headers).end(real.body)
  }

  private ask({ method, url, headers }: IncomingMessage, sent: Buffer): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.engine)
      const onward = request({ hostname, port, method, path: url, headers, agent: this.agent }, async (answer) => {
        const chunks: Buffer[] = []
        for await (const chunk of answer) chunks.push(chunk)
        const { 'transfer-encoding': _, connection: __, ...kept } = answer.headers as Record<string, string>
        const body = Buffer.concat(chunks)
        resolve({ status: answer.statusCode!, headers: { ...kept, 'content-length': String(body.length) }, body })
      })
      onward.on('error', reject).end(sent)
    })
  }
}

function tableOf(sent: Buffer): string {
  const { TableName, RequestItems } = JSON.parse(sent.toString())
  return TableName ?? Object.keys(RequestItems ?? {})[0] ?? ''
}
