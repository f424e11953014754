import type { EpochMs } from '../../limiter/clock'
import type { Decision } from '../../limiter/decision'
import type { LimiterEvent, OnEvent } from '../../limiter/options'
import type { LogEvent } from './events'
import { jsonLog, type Log, type LogOptions } from './log'
import { type Metrics, type MetricsOptions, makeMetrics } from './metrics'
import { type Charged, makeNearing } from './nearing'
import { makeSampler } from './sampler'

/** What the answer to a request said; the authorizer's context is one. */
interface DecisionSummary {
  readonly allowed: boolean
  readonly reason: string
  readonly policy: string
  readonly tier: string
  readonly limit: number
  readonly remaining: number
  /** Seconds, of a denial. */
  readonly retryAfter?: number
  readonly degraded: boolean
  /** Denied because the caller is locked out. */
  readonly lockedOut?: boolean
}

/** Where a request came from. */
export interface Origin {
  /** The hash of the caller, or of the address where the caller was not identified. */
  readonly subject: string
  /** The label of the API, or its id. */
  readonly api?: string
  readonly method?: string
  /** The pattern of the route, never the path. */
  readonly route?: string
  /** The caller in clear. Called only where the log may name callers. */
  readonly caller: () => Readonly<Record<string, string | undefined>>
}

export interface Telemetry {
  readonly log: Log
  readonly onEvent: OnEvent
  /**
   * Counts and logs one answered request, and then writes the metrics if they are due. It is called last before the
   * answer, since an instance may be frozen right after it.
   */
  answered(
    told: DecisionSummary,
    decision: Decision | undefined,
    origin: Origin,
    now: EpochMs,
    /** Missing where nothing was charged. */
    charged?: Charged,
  ): void
}

export interface TelemetryOptions extends LogOptions, MetricsOptions {
  /** Whether the log names callers by hash only, or also by id and address. @default 'hashed' */
  readonly callers?: 'hashed' | 'clear'
}

/** What happens to requests that pass over a limit: the metric, and the event in the log. */
const PASSES = {
  observe: ['Observed', 'request_observed'],
  overrun: ['Overrun', 'request_overrun'],
  deprioritize: ['Deprioritized', 'request_deprioritized'],
} as const

/** How long a caller's repeated denials are left out of the log at most, and where no policy says so; and at least. */
const WINDOW_MS = 60_000
const MIN_MS = 1000

/** Counts and logs what the limiter and the authorizer do. */
export function makeTelemetry(options: TelemetryOptions): Telemetry {
  const write = jsonLog(options)
  const metrics = makeMetrics(options)
  const log = sampled(write, metrics, options)
  const take = makeSampler()
  const near = makeNearing()
  // neither crowds out the other
  const takeNear = makeSampler()

  const detailsOf = (
    { reason, tier, policy, limit, retryAfter, degraded, lockedOut }: DecisionSummary,
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
      lockedOut: lockedOut || undefined,
      degraded: degraded || undefined,
      api,
      method,
      route,
      ...whom,
    }
  }

  const sample = (event: LogEvent, told: DecisionSummary, origin: Origin, now: EpochMs, forMs = WINDOW_MS) => {
    const key = [event, told.reason, told.tier, told.policy, told.lockedOut, origin.subject, origin.api].join(' ')
    const leftOut = take(key, now, Math.min(WINDOW_MS, Math.max(MIN_MS, forMs)))
    if (leftOut)
      write('info', event, {
        ...detailsOf(told, origin),
        denials: event === 'request_denied' ? leftOut.same + 1 : undefined,
        leftOut: leftOut.same,
        since: leftOut.since,
        othersLeftOut: leftOut.others || undefined,
      })
  }

  const passed = (told: DecisionSummary, { policies }: Decision, origin: Origin, now: EpochMs) => {
    const seen = new Set<string>()
    for (const [policy, standing] of Object.entries(policies)) {
      const { exceeded } = standing
      if (!exceeded || seen.has(exceeded)) continue // a request counts once, for the first policy, as a denial does
      seen.add(exceeded)
      const [metric, event] = PASSES[exceeded]
      metrics.count(metric, told.tier, policy, origin.api)
      sample(
        event,
        { ...told, policy, limit: standing.limit, retryAfter: undefined },
        origin,
        now,
        standing.resetAfterMs,
      )
    }
  }

  const nears = (told: DecisionSummary, origin: Origin, now: EpochMs, charged: Charged) => {
    for (const { subject, policy, limit, used } of near(charged, now)) {
      metrics.count('Nearing', told.tier, policy, origin.api)
      const leftOut = takeNear([told.tier, policy, subject, origin.api].join(' '), now, WINDOW_MS)
      const caller = subject === origin.subject ? origin.caller : () => ({})
      if (leftOut)
        write('info', 'limit_nearing', {
          ...detailsOf({ ...told, policy, limit, retryAfter: undefined }, { ...origin, subject, caller }),
          used,
          nearings: leftOut.same + 1,
          leftOut: leftOut.same,
          since: leftOut.since,
          othersLeftOut: leftOut.others || undefined,
        })
    }
  }

  return {
    log,
    onEvent: (event) => tell(event, metrics, log),
    answered(told, decision, origin, now, charged) {
      const { allowed, tier, policy } = told
      metrics.count(allowed ? 'Allowed' : 'Denied', tier, policy, origin.api)
      if (told.degraded) metrics.count('Degraded', tier, policy, origin.api)
      const lockedOut = !allowed && decision?.lockedOut
      if (lockedOut) metrics.count('LockedOut', tier, policy, origin.api)
      if (!allowed)
        sample('request_denied', { ...told, lockedOut }, origin, now, decision?.policies[policy]?.resetAfterMs)
      else if (decision) {
        passed(told, decision, origin, now)
        if (charged && !decision.degraded) nears(told, origin, now, charged)
      }
      if (options.level === 'debug')
        write('debug', 'request_answered', { allowed, remaining: told.remaining, ...detailsOf(told, origin) })
      metrics.flush()
    },
  }
}

const CLOCK = { wrong: 'clock_skewed', right: 'clock_recovered' } as const
/** How many similar entries are written in a minute: enough to show that it was more than one request. */
const FIRST_ENTRIES = 3
/** How many characters of two entries must agree for them to be similar: error messages may be long. */
const ALIKE_CHARACTERS = 200

/** Mistakes in the config table that are found when a client sends a request, and not when the table is read. */
const ON_REQUEST: readonly LogEvent[] = ['client_invalid', 'client_overrides_invalid', 'state_collision']

/**
 * Samples every entry that a client can cause: of similar entries the first are written, and the next one after a
 * minute says how many were left out. Mistakes found when the config table is read are all written. Metrics count what
 * the log leaves out.
 */
function sampled(write: Log, metrics: Metrics, { clock }: Pick<TelemetryOptions, 'clock'>): Log {
  const take = makeSampler(1000, 10, FIRST_ENTRIES)
  return (level, event, details, metric) => {
    if ((metric && !ON_REQUEST.includes(event)) || level === 'debug') return write(level, event, details, metric)
    const alike = `${event} ${JSON.stringify(details)}`.slice(0, ALIKE_CHARACTERS)
    const leftOut = take(alike, clock(), WINDOW_MS)
    if (leftOut)
      write(
        level,
        event,
        { ...details, leftOut: leftOut.same || undefined, othersLeftOut: leftOut.others || undefined },
        metric,
      )
    else if (metric) metrics.count(metric)
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
  else if (event.state === 'closed') log('info', 'circuit_closed')
  else {
    metrics.count('CircuitOpened')
    log('warn', 'circuit_opened')
  }
}
