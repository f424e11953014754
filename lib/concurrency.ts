import { Annotations, type Duration, Token } from 'aws-cdk-lib'
import type { Alarm, IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import type { LimiterMetrics } from './limiter-metrics'
import { ALARMS } from './watch/alarm-set'
import { limiterAlarm } from './watch/limiter-alarms'

/**
 * The id by which the warning can be acknowledged:
 * `Annotations.of(limiter).acknowledgeWarning('sluice:reservedConcurrency')`.
 */
const WARNING = 'sluice:reservedConcurrency'

/** The default deadline of a decision, in milliseconds. */
const DEADLINE_MS = 300

/** An ordinary burst needs fewer instances. */
const MIN_CONCURRENCY = 20

/** Warns that other functions of the account can use up the concurrency of this one, so that requests get a 500. */
export function warnOfSharedConcurrency(scope: Construct, decisionDeadline: Duration | undefined): void {
  const seconds = (decisionDeadline?.toMilliseconds() ?? DEADLINE_MS) / 1000
  Annotations.of(scope).addWarningV2(
    WARNING,
    'no concurrency is reserved for the authorizer: if a flood or another function uses up the account’s concurrency, every request to every API of this ' +
      `limiter gets a 500. Set reservedConcurrentExecutions to peak requests per second × ${Math.max(0.1, seconds)} s, at least ${MIN_CONCURRENCY}; see "Concurrency" in docs/deploy.md`,
  )
}

/** Options of `addConcurrencyAlarms`. */
export interface ConcurrencyAlarmsOptions {
  /**
   * Actions of the alarms, such as `new SnsAction(topic)`.
   *
   * @default none
   */
  readonly actions?: readonly IAlarmAction[] | undefined
}

/** Alarms on a function's concurrency. */
export class ConcurrencyAlarms extends Construct {
  /** The authorizer was throttled within a minute: each such request got a 500. */
  readonly throttles: Alarm
  /** 80 % of the reserved concurrency is in use; `undefined` if none is reserved, or the number is a token. */
  readonly concurrency: Alarm | undefined

  constructor(
    scope: Construct,
    id: string,
    limiter: LimiterMetrics,
    reserved: number | undefined,
    { actions = [] }: ConcurrencyAlarmsOptions,
  ) {
    super(scope, id)
    this.throttles = limiterAlarm(this, 'throttles', limiter, ALARMS.throttles.threshold!)
    this.concurrency =
      reserved === undefined || Token.isUnresolved(reserved)
        ? undefined
        : limiterAlarm(this, 'concurrency', limiter, ALARMS.concurrency.threshold!, reserved)
    for (const alarm of [this.throttles, ...(this.concurrency ? [this.concurrency] : [])])
      alarm.addAlarmAction(...actions)
  }
}
