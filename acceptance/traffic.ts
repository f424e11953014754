import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:https'
import { WebSocket } from 'ws'

/** What a client got. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** From the request to the end of the body. */
  readonly tookMs: number
}

export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** As it goes over the wire, where a URL would take dots out of it. @default the URL's */
  readonly path?: string
}

/** What came of a connection to a WebSocket API. */
export interface Chat {
  /** 101 if it was opened. */
  readonly status: number
  readonly heard: readonly string[]
}

const DEADLINE_MS = 40_000

/** Sends requests to deployed APIs: by their URLs to AWS, to an emulator by its endpoint. */
export class Traffic {
  private readonly emulator: URL | undefined
  private readonly agents = [new Agent({ keepAlive: true }), new HttpAgent({ keepAlive: true })] as const

  constructor(endpoint: string | undefined) {
    this.emulator = endpoint ? new URL(endpoint) : undefined
  }

  send(url: string, { method = 'GET', headers = {}, path }: Sent = {}): Promise<Answer> {
    const { hostname, pathname, search } = new URL(url)
    const to = { method, path: path ?? pathname + search, timeout: DEADLINE_MS }
    const [https, http] = this.agents
    const options = this.emulator
      ? { ...to, host: this.emulator.hostname, port: this.emulator.port, agent: http }
      : { ...to, host: hostname, agent: https }
    const began = performance.now()
    return new Promise((resolve, reject) => {
      const outgoing = (this.emulator ? httpRequest : request)(
        { ...options, headers: this.emulator ? { ...headers, host: hostAt(hostname) } : headers },
        (incoming) => {
          let body = ''
          incoming.setEncoding('utf8').on('data', (text: string) => {
            body += text
          })
          incoming.on('error', reject).on('end', () => {
            const { statusCode: status = 0, headers } = incoming
            resolve({ status, headers, body, tookMs: performance.now() - began })
          })
        },
      )
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${DEADLINE_MS / 1000} s from ${url}`)))
      outgoing.on('error', reject).end()
    })
  }

  /** Opens a connection, sends a message if there is one, and listens for an answer for so long. */
  chat(url: string, headers: Readonly<Record<string, string>>, message?: string, listenMs = 3000): Promise<Chat> {
    const { hostname, pathname } = new URL(url)
    const to = this.emulator ? `ws://${this.emulator.host}${pathname}` : url
    const host = this.emulator && { host: `${hostAt(hostname)}:${this.emulator.port}` }
    const socket = new WebSocket(to, { headers: { ...headers, ...host }, handshakeTimeout: DEADLINE_MS })
    const heard: string[] = []
    return new Promise((resolve, reject) => {
      const end = (status: number) => {
        socket.terminate()
        resolve({ status, heard })
      }
      socket.on('error', reject).on('unexpected-response', (_, { statusCode = 0 }) => end(statusCode))
      socket.on('message', (data) => {
        heard.push(String(data))
        end(101)
      })
      socket.on('open', () => {
        if (message === undefined) return end(101)
        socket.send(message)
        setTimeout(() => end(101), listenMs)
      })
    })
  }

  close(): void {
    for (const agent of this.agents) agent.destroy()
  }
}

/** By what MiniStack knows an API. */
const hostAt = (hostname: string): string => `${hostname.split('.')[0]}.execute-api.localhost`
