import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { Calls } from '../attach/calls'
import { entryIn } from '../callers/denials-in-log'
import { ServiceError, UserError } from '../exit'
import { type Answer, signedCall } from '../facade/tables'
import { BoundedMap, type Clock, type EpochMs } from '../facade/values'
import { pause } from '../terminal/pause'
import { type Denial, denialOf, othersIn } from './denial'
import type { News, Source } from './source'
import { MAX_LINES } from './tally'

/** What is asked for: denials, and lines that say how many lines there would have been. */
const PATTERN = '{ $.event = "request_denied" || $.othersLeftOut > 0 }'

/** How long after its time a line may become readable: what is as young as that is read again. */
const LATE_MS = 120_000

const TIMEOUT_MS = 30_000

/** The part of an answer of FilterLogEvents that is used. */
interface Page {
  readonly events?: readonly {
    readonly eventId?: string
    readonly timestamp?: EpochMs
    readonly logStreamName?: string
    readonly message?: string
  }[]
  readonly nextToken?: string
}

interface Options {
  readonly client: DynamoDBClient
  /** Of CloudWatch Logs. @default the Region's own */
  readonly endpoint?: string | undefined
  readonly clock: Clock
  /** Gets a sentence when somebody has to wait. */
  readonly tell: (text: string) => void
}

/**
 * Denials of a deployment, as far as its log has them. The log is sampled, so there may always be more.
 *
 * Each line is counted once, however often it is read: CloudWatch gives each an id.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
 */
export class LogSource implements Source {
  readonly kind = 'log'
  private readonly seen = new Map<string, EpochMs>()
  /** When the last reading began that came to its end. */
  private readAt: EpochMs | undefined

  /** @param name of the log group. */
  constructor(
    readonly name: string,
    private readonly options: Options,
  ) {}

  async read(from: EpochMs, signal: AbortSignal): Promise<News> {
    const begun = this.options.clock()
    const startTime = this.readAt === undefined ? from : Math.max(from, this.readAt - LATE_MS)
    // At most what can be shown is kept of a long past, the newest: its events come in their order.
    const denials = new BoundedMap<string, Denial>(MAX_LINES)
    const others: News['others'][number][] = []
    const found = new BoundedMap<string, EpochMs>(MAX_LINES)
    let nextToken: string | undefined
    do {
      const page: Page = await this.page({ startTime, nextToken }, signal)
      for (const { eventId, timestamp = begun, logStreamName, message = '' } of page.events ?? []) {
        const id = eventId ?? `${logStreamName} ${timestamp} ${message}`
        if (this.seen.has(id) || found.has(id)) continue
        found.set(id, timestamp)
        const entry = entryIn(message)
        const denial = denialOf(entry, timestamp)
        if (denial) denials.set(id, denial)
        const count = othersIn(entry)
        if (count > 0) others.push({ at: timestamp, count })
      }
      nextToken = page.nextToken
    } while (nextToken)
    // Only what was told is remembered: a reading that failed begins anew.
    for (const [id, at] of found) this.seen.set(id, at)
    for (const [id, at] of this.seen) if (at < begun - LATE_MS) this.seen.delete(id)
    this.readAt = begun
    return { denials: [...denials.values()], others, completeFrom: Infinity }
  }

  private page(asked: { startTime: EpochMs; nextToken: string | undefined }, signal: AbortSignal): Promise<Page> {
    const calls = new Calls(this.options.tell, (ms) => pause(ms, signal))
    const body = JSON.stringify({ logGroupName: this.name, filterPattern: PATTERN, ...asked })
    return calls.make('logs:FilterLogEvents', `log group ${this.name}`, async () => {
      signal.throwIfAborted()
      const { status, text } = await this.send(body, signal)
      const answer = parsed(text)
      if (status === 200 && typeof answer === 'object' && answer !== null) return answer as Page
      throw await this.failureOf(status, answer)
    })
  }

  private async send(body: string, signal: AbortSignal): Promise<Answer> {
    try {
      return await signedCall(this.options.client, {
        service: 'logs',
        endpoint: this.options.endpoint,
        headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'Logs_20140328.FilterLogEvents' },
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      })
    } catch (error) {
      const { code, name, message } = error as NodeJS.ErrnoException
      if (signal.aborted || (code === undefined && !/Timeout|Abort/.test(name))) throw error
      throw new ServiceError(`CloudWatch Logs cannot be reached: ${message}`)
    }
  }

  /** The errors of this service are named as those that the SDK makes. */
  private async failureOf(status: number, answer: unknown): Promise<Error> {
    const failure = (answer ?? {}) as {
      readonly __type?: unknown
      readonly message?: unknown
      readonly Message?: unknown
    }
    const name = String(failure.__type ?? '').replace(/^.*#/, '')
    if (name === 'ResourceNotFoundException') {
      const region = await this.options.client.config.region()
      return new UserError(`there is no log group "${this.name}" in ${region}: name it with --log-group`)
    }
    const message = String(failure.message ?? failure.Message ?? `CloudWatch Logs answered with status ${status}`)
    const httpStatusCode = status
    return Object.assign(new Error(message), { name: name || 'Error', $metadata: { httpStatusCode } })
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
