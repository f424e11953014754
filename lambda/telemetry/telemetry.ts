import type { EpochMs } from '../../limiter/clock'
import type { Decision } from '../../limiter/decision'
import type { LimiterEvent, OnEvent } from '../../limiter/events'
import { jsonLog, type Log, type LogOptions } from './log'
import { type Metrics, type MetricsOptions, makeMetrics } from './metrics'
import { makeSampler } from './sampler'

/** What a request was told; the authorizer's context is one. */
interface Told {
  readonly allowed: boolean
  readonly reason: string
  readonly policy: string
  readonly tier: string
  readonly limit: number
  readonly remaining: number
  /** Seconds, of a denial. */
  readonly retryAfter?: number
  readonly degraded: boolean
}

/** Where a request came from. */
export interface Origin {
  /** The hash of who asks, or of the address where nobody got so far as to look. */
  readonly subject: string
  /** The label of the API that was asked, or its id. */
  readonly api?: string
  readonly method?: string
  /** The pattern of the route, never the path. */
  readonly route?: string
  /** Who asks, in clear. Called only where the log may say so. */
  readonly caller: () => Readonly<Record<string, string | undefined>>
}

export interface Telemetry {
  readonly log: Log
  readonly onEvent: OnEvent
  /**
   * Counts and logs one answered request, and then writes the metrics if they are due: the last thing before the
   * answer, since an instance may stand still right after it.
   */
  answered(told: Told, decision: Decision | undefined, origin: Origin, now: EpochMs): void
}

export interface TelemetryOptions extends LogOptions, MetricsOptions {
  /** Whether the log names callers by hash only, or by their id and address, too. @default 'hashed' */
  readonly callers?: 'hashed' | 'clear'
}

/** What is done with requests over a limit that pass: the metric, and what the log says. */
const PASSES = {
  observe: ['Observed', 'a request would have been denied'],
  relaxed: ['Relaxed', 'a request was let pass over its limit'],
  deprioritize: ['Deprioritized', 'a request over its limit was let pass with low priority'],
} as const

/** How long a caller's denials are told once, where no policy says it; and the least in any case. */
const WINDOW_MS = 60_000
const SHORTEST_MS = 1000

/** Counts and logs what the limiter and the authorizer do. */
export function makeTelemetry(options: TelemetryOptions): Telemetry {
  const write = jsonLog(options)
  const log = sampled(write, options)
  const metrics = makeMetrics(options)
  const take = makeSampler()

  const detailsOf = (
    { reason, tier, policy, limit, retryAfter, degraded }: Told,
    { subject, api, method, route, caller }: Origin,
  ) => {
    const whom = options.callers === 'clear' ? caller() : undefined
    return {
      reason,
      tier,
      policy,
      subject,
      limit,
      retryAfter,
      degraded: degraded || undefined,
      api,
      method,
      route,
      ...whom,
    }
  }

  const sample = (message: string, told: Told, origin: Origin, now: EpochMs, forMs = WINDOW_MS) => {
    const key = [message, told.reason, told.policy, origin.subject, origin.api].join(' ')
    const leftOut = take(key, now, Math.max(SHORTEST_MS, forMs))
    if (leftOut)
      write('info', message, {
        ...detailsOf(told, origin),
        leftOut: leftOut.same,
        othersLeftOut: leftOut.others || undefined,
      })
  }

  const passed = (told: Told, { policies }: Decision, origin: Origin, now: EpochMs) => {
    const seen = new Set<string>()
    for (const [policy, standing] of Object.entries(policies)) {
      const { exceeded } = standing
      if (!exceeded || seen.has(exceeded)) continue // a request counts once, for the first policy, as a denial does
      seen.add(exceeded)
      const [metric, message] = PASSES[exceeded]
      metrics.count(metric, told.tier, policy, origin.api)
      sample(
        message,
        { ...told, policy, limit: standing.limit, retryAfter: undefined },
        origin,
        now,
        standing.resetAfterMs,
      )
    }
  }

  return {
    log,
    onEvent: (event) => tell(event, metrics, log),
    answered(told, decision, origin, now) {
      const { allowed, tier, policy } = told
      metrics.count(allowed ? 'Allowed' : 'Denied', tier, policy, origin.api)
      if (told.degraded) metrics.count('Degraded', tier, policy, origin.api)
      if (!allowed) sample('a request was denied', told, origin, now, decision?.policies[policy]?.resetAfterMs)
      else if (decision) passed(told, decision, origin, now)
      if (options.level === 'debug')
        write('debug', 'a request was answered', { allowed, remaining: told.remaining, ...detailsOf(told, origin) })
      metrics.flush()
    },
  }
}

const CLOCK = {
  wrong: 'the system clock is off, and the time of the state table is used',
  right: 'the system clock agrees again',
} as const
/** How many entries that are alike are written in a minute: enough to see that it was not one request. */
const FIRST_ENTRIES = 3
/** How much of an entry makes it like another: error texts may be long. */
const ALIKE_CHARACTERS = 200

/**
 * A log of which clients cannot make as many entries as they make requests: of those that are alike the first are
 * written, and the next after a minute says how many were left out. An entry that is counted as a metric is always
 * written, since it is what is counted.
 */
function sampled(write: Log, { clock }: Pick<TelemetryOptions, 'clock'>): Log {
  const take = makeSampler(1000, 10, FIRST_ENTRIES)
  return (level, message, details, metric) => {
    if (metric || level === 'debug') return write(level, message, details, metric)
    const alike = `${message} ${JSON.stringify(details)}`.slice(0, ALIKE_CHARACTERS)
    const leftOut = take(alike, clock(), WINDOW_MS)
    if (!leftOut) return
    write(level, message, {
      ...details,
      leftOut: leftOut.same || undefined,
      othersLeftOut: leftOut.others || undefined,
    })
  }
}

const COUNTED = { conflict: 'Conflicts', lease: 'LeaseGrants', 'hot-key': 'HotKeys' } as const

function tell(event: LimiterEvent, metrics: Metrics, log: Log): void {
  if (event.kind === 'store-call') metrics.called(event.ms, event.failure)
  else if (event.kind === 'clock') {
    const { state, offMs } = event
    if (state === 'wrong') metrics.count('ClockErrors')
    log(state === 'wrong' ? 'warn' : 'info', CLOCK[state], { offMs })
  } else if (event.kind !== 'circuit') metrics.count(COUNTED[event.kind])
  else if (event.state === 'closed') log('info', 'the state table is asked again')
  else {
    metrics.count('CircuitOpened')
    log('warn', 'the state table fails, and is not asked for a while')
  }
}
