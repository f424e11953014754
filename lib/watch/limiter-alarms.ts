import { Token } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import { ConfigError, Mistake, printed } from '../../limiter/errors'
import type { LimiterMetrics } from '../limiter-metrics'
import { ALARMS, type AlarmName, UNITS } from './alarm-set'

/** Options of `addAlarms`. */
export interface LimiterAlarmsOptions {
  /**
   * The topic for alarms and their end. If a key of yours encrypts it, CloudWatch must be allowed to use the key.
   *
   * @default nowhere
   */
  readonly topic?: ITopic | undefined
  /**
   * Further actions of alarms, such as `new LambdaAction(fn)`.
   *
   * @default nothing
   */
  readonly actions?: readonly IAlarmAction[] | undefined
  /**
   * Thresholds of the alarms by name; false leaves an alarm out. `concurrency`, `deniedShare`, `errors` and
   * `storeFailures` are in percent, `storeLatency` in milliseconds, all others counts.
   *
   * @default docs/runbook.md lists them. `lockedOut` has no alarm without a threshold, and `concurrency` none unless
   * concurrency is reserved.
   */
  readonly thresholds?: { readonly [Name in AlarmName]?: number | false } | undefined
  /**
   * The runbook in the alarms' descriptions: the address of a copy of docs/runbook.md, to which they append `#` and the
   * alarm's name.
   *
   * @default 'docs/runbook.md'
   */
  readonly runbook?: string | undefined
}

/** With the longest text of an alarm, a description is within the 1,024 characters that CloudWatch takes. */
const MAX_RUNBOOK_LENGTH = 500

/** The alarms of a limiter, see `addAlarms`. */
export class LimiterAlarms extends Construct {
  /** The alarms that were created, by name. */
  readonly alarms: { readonly [Name in AlarmName]?: Alarm }

  /** @throws ConfigError with every mistake in the options. */
  constructor(
    scope: Construct,
    id: string,
    limiter: LimiterMetrics,
    reserved: number | undefined,
    options: LimiterAlarmsOptions = {},
  ) {
    super(scope, id)
    const share = reserved === undefined || Token.isUnresolved(reserved) ? undefined : reserved
    check(options, share)
    const { topic, actions = [], thresholds = {} } = options
    const alarms: { [Name in AlarmName]?: Alarm } = {}
    for (const name of Object.keys(ALARMS) as AlarmName[]) {
      const threshold = thresholds[name] ?? ALARMS[name].threshold
      if (threshold === undefined || threshold === false || (name === 'concurrency' && share === undefined)) continue
      const alarm = limiterAlarm(this, name, limiter, threshold, share, options.runbook)
      if (topic) {
        const action = { bind: () => ({ alarmActionArn: topic.topicArn }) }
        alarm.addAlarmAction(action)
        alarm.addOkAction(action)
      }
      alarm.addAlarmAction(...actions)
      alarms[name] = alarm
    }
    this.alarms = alarms
  }
}

/** One alarm of the set, whose id is its name, capitalised. */
export function limiterAlarm(
  scope: Construct,
  name: AlarmName,
  limiter: LimiterMetrics,
  threshold: number,
  reserved?: number,
  runbook = 'docs/runbook.md',
): Alarm {
  const { metric, period, periods, happened, advice } = ALARMS[name]
  const id = name.charAt(0).toUpperCase() + name.slice(1)
  const watched: IMetric = metric(limiter, period)
  return new Alarm(scope, id, {
    metric: watched,
    threshold:
      name === 'concurrency' && reserved !== undefined
        ? Math.max(1, Math.floor((reserved * threshold) / 100))
        : threshold,
    evaluationPeriods: periods,
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    treatMissingData: TreatMissingData.NOT_BREACHING,
    alarmDescription: `${happened(threshold)}. ${advice}. ${runbook}#${name.toLowerCase()}`,
  })
}

function check({ thresholds = {}, runbook }: LimiterAlarmsOptions, reserved: number | undefined): void {
  const issues: Mistake[] = []
  for (const [name, given] of Object.entries(thresholds)) {
    if (!Object.hasOwn(ALARMS, name)) {
      const names = Object.keys(ALARMS).join(', ')
      issues.push(new Mistake('unknown_field', `thresholds must be of ${names}, got ${printed(name)}`))
      continue
    }
    if (given === undefined || given === false) continue
    const { isRight, wanted } = UNITS[ALARMS[name as AlarmName].unit]
    if (typeof given !== 'number' || !isRight(given))
      issues.push(new Mistake('invalid_value', `thresholds.${name} must be ${wanted}, or false, got ${printed(given)}`))
    else if (name === 'concurrency' && reserved === undefined)
      issues.push(
        new Mistake('missing_field', 'thresholds.concurrency needs reservedConcurrentExecutions, a number, got none'),
      )
  }
  if (runbook !== undefined && (typeof runbook !== 'string' || runbook === '' || runbook.length > MAX_RUNBOOK_LENGTH))
    issues.push(
      new Mistake(
        'invalid_value',
        `runbook must be an address of 1 to ${MAX_RUNBOOK_LENGTH} characters, got ${printed(runbook)}`,
      ),
    )
  if (issues.length > 0) throw new ConfigError(issues)
}
