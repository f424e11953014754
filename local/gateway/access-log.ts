import type { EpochMs } from '../../limiter/clock'
import { accessLogLine, FORGOTTEN } from '../../provisioning/access-log'
import type { GatewayError, GatewayResponse, LogVariables } from './api'

/** A request that was answered. */
export interface Answered {
  readonly receivedAt: EpochMs
  /** @default no response was sent, since the client was gone */
  readonly status?: number
  readonly durationMs: number
  /** Why the gateway itself answered: a type of gateway response. @default the backend answered */
  readonly error?: GatewayError
  /** The authorizer's context. @default it was not called, or did not answer */
  readonly context?: Readonly<Record<string, unknown>>
  readonly variables: LogVariables
}

/** The maximum of lines kept, and of their characters. */
const MAX_LINES = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/** The access log of a gateway, as API Gateway writes it in the format of Sluice: the last lines, in memory. */
export class AccessLog {
  private readonly lines: string[] = []
  /** The number of lines so far, and of those no longer kept. */
  private count = 0
  private forgotten = 0
  private characters = 0

  /** @param write gets each line, without its end. */
  constructor(private readonly write: (line: string) => void = () => {}) {}

  add({ receivedAt, status, durationMs, error, context = {}, variables }: Answered): void {
    const own: LogVariables = {
      ...variables,
      requestTimeEpoch: receivedAt,
      status,
      responseLatency: durationMs,
      'error.responseType': error,
    }
    const line = accessLogLine((name) =>
      name.startsWith(OF_AUTHORIZER) ? context[name.slice(OF_AUTHORIZER.length)] : own[name],
    )
    this.keep(line)
    this.write(line)
  }

  /** What `GET /_local/access-log` answers: the last lines, the oldest first. A header counts those before them. */
  answer(): GatewayResponse {
    const { count, forgotten } = this
    const kept = Array.from({ length: count - forgotten }, (_, i) => `${this.lines[(forgotten + i) % MAX_LINES]}\n`)
    return {
      statusCode: 200,
      headers: { 'Content-Type': 'application/x-ndjson', [FORGOTTEN]: String(forgotten) },
      body: kept.join(''),
    }
  }

  private keep(line: string): void {
    while (this.count - this.forgotten >= MAX_LINES || this.characters + line.length > MAX_CHARACTERS) {
      const oldest = this.forgotten++ % MAX_LINES
      this.characters -= this.lines[oldest]!.length
      this.lines[oldest] = ''
    }
    this.lines[this.count++ % MAX_LINES] = line
    this.characters += line.length
  }
}

const OF_AUTHORIZER = 'authorizer.'
