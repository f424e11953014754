import { hash } from 'node:crypto'
import { BoundedMap } from '../../limiter/bounded-map'
import type { Clock, EpochMs } from '../../limiter/clock'
import { within } from '../../limiter/deadline'
import type { GatewayRequest } from '../responses/request'
import { type Answer, parseAnswer, toCheck } from './answer'
import type { Check, Checker } from './check'
import type { Invoke } from './invoke'

export interface UpstreamOptions {
  readonly invoke: Invoke
  readonly clock: Clock
  /** Time for one answer, in milliseconds. */
  readonly deadlineMs: number
  /** How long an answer is cached, in milliseconds; 0: it is called for each request. */
  readonly ttlMs: number
  /**
   * The headers, in lower case, on which answers depend. A request without one of them is never answered from the
   * cache.
   */
  readonly cacheHeaders: readonly string[]
}

interface CachedAnswer {
  readonly answer: Answer
  readonly since: EpochMs
}

/** Answers cached; the oldest are removed first. */
const MAX_ANSWERS = 10_000

/**
 * Calls the upstream authorizer's function, and caches its answers as API Gateway would: by some headers, for the whole
 * stage, so that a cached policy is evaluated for each request's own method. Failures are not cached, and neither is
 * `Unauthorized`.
 */
export class UpstreamAuthorizer implements Checker {
  private readonly answers = new BoundedMap<string, CachedAnswer>(MAX_ANSWERS)

  constructor(private readonly options: UpstreamOptions) {}

  async check(event: unknown, request: GatewayRequest): Promise<Check> {
    try {
      const key = this.keyOf(request)
      const known = this.recall(key)
      if (known) return toCheck(known, request)
      const invoked = await this.invoke(event)
      if (invoked.error === 'Unauthorized') return { kind: 'denied' }
      // its message may be about the caller, and is in its own log
      if (invoked.error !== undefined) throw new Error('the upstream authorizer failed')
      const answer = parseAnswer(invoked.answer, request.api)
      if (!answer) throw new Error('invalid response of the upstream authorizer')
      this.remember(key, answer)
      return toCheck(answer, request)
    } catch (cause) {
      return { kind: 'unavailable', cause }
    }
  }

  /** Ends when the deadline has passed, whether or not the invocation honours the signal. */
  private async invoke(event: unknown): ReturnType<Invoke> {
    const { invoke, deadlineMs } = this.options
    const end = new AbortController()
    return within(deadlineMs, invoke(event, end.signal), () => {
      end.abort()
      throw new Error(`the upstream authorizer did not answer within ${deadlineMs} ms`)
    })
  }

  /** `undefined` where an answer must not be cached. */
  private keyOf({ api, headers, methodArn = '' }: GatewayRequest): string | undefined {
    const { ttlMs, cacheHeaders } = this.options
    const stage = /^arn:[^/]+\/[^/]+\//.exec(methodArn)?.[0]
    const values = cacheHeaders.map((name) => headers.get(name))
    if (ttlMs === 0 || stage === undefined || values.length === 0 || values.includes(undefined)) return undefined
    return hash('sha256', JSON.stringify([api, stage, ...values]), 'base64')
  }

  private recall(key: string | undefined): Answer | undefined {
    const known = key === undefined ? undefined : this.answers.get(key)
    if (!known) return undefined
    const now = this.options.clock()
    return now >= known.since && now < known.since + this.options.ttlMs ? known.answer : undefined
  }

  private remember(key: string | undefined, answer: Answer): void {
    if (key !== undefined) this.answers.set(key, { answer, since: this.options.clock() })
  }
}
