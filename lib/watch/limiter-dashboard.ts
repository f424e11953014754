import { Duration, Stack, Token } from 'aws-cdk-lib'
import {
  ConcreteWidget,
  Dashboard,
  GraphWidget,
  type HorizontalAnnotation,
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch'
import { Architecture, type CfnFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { MetricName } from '../../lambda/telemetry/emf'
import { DYNAMODB_USD, LAMBDA_USD, PRICES_READ, X86_GB_SECOND_USD } from '../../provisioning/prices'
import type { LimiterMetrics } from '../limiter-metrics'

/** Options of `addDashboard`. */
export interface LimiterDashboardOptions {
  /**
   * Its name in the account: letters, digits, `-` and `_`.
   *
   * @default CloudFormation generates one
   */
  readonly dashboardName?: string | undefined
  /** The address of a copy of docs/runbook.md, for the dashboard's links. @default 'docs/runbook.md' */
  readonly runbook?: string | undefined
}

/** The tables' and the function's properties that the dashboard needs. */
interface Watched {
  readonly configTable: { readonly tableName: string }
  readonly reserved: number | undefined
}

/** Pairs of tier and policy in one graph: a graph takes 500 lines, more than anyone can read. */
const MAX_PAIRS = 20
const WIDTH = 8
const FIVE = Duration.minutes(5)
const HOUR = Duration.hours(1)

/** The dashboard of a limiter, see `addDashboard`. */
export class LimiterDashboard extends Construct {
  /** The dashboard itself, to which widgets can be added. */
  readonly dashboard: Dashboard

  constructor(
    scope: Construct,
    id: string,
    limiter: LimiterMetrics,
    { configTable, reserved }: Watched,
    { dashboardName, runbook = 'docs/runbook.md' }: LimiterDashboardOptions = {},
  ) {
    super(scope, id)
    this.dashboard = new Dashboard(this, 'Dashboard', {
      dashboardName,
      widgets: [
        [
          new TextWidget({
            markdown: `**Sluice** ${limiter.node.path}. What each graph means, and what to do: ${runbook}`,
            width: 24,
            height: 1,
          }),
        ],
        decisions(limiter),
        state(limiter),
        capacity(limiter, reserved),
        [...mistakes(limiter), cost(limiter, configTable)],
      ],
    })
  }

  /** Adds the callers that a Contributor Insights rule finds. */
  showDeniedCallers(ruleName: string): void {
    this.dashboard.addWidgets(new DeniedCallersWidget(ruleName, Stack.of(this).region))
  }
}

const graph = (title: string, left: IMetric[], more: object = {}): IWidget =>
  new GraphWidget({ title, left, width: WIDTH, leftYAxis: { min: 0 }, period: FIVE, ...more })

const decisions = (limiter: LimiterMetrics): IWidget[] => [
  graph('Allowed and denied', [limiter.metricAllowed({ label: 'allowed' }), limiter.metricDenied({ label: 'denied' })]),
  graph('Denied by tier and policy', [byTierAndPolicy(limiter, 'Denied')], { stacked: true }),
  graph('Near a limit, or over it and not simply denied', [
    limiter.metricObserved({ label: 'observed' }),
    limiter.metricOverrun({ label: 'overrun' }),
    limiter.metricDeprioritized({ label: 'low priority' }),
    limiter.metricLockedOut({ label: 'locked out' }),
    limiter.metricNearing({ label: 'nearing' }),
  ]),
]

const state = (limiter: LimiterMetrics): IWidget[] => [
  graph('Decisions without the state table', [
    limiter.metricDegraded({ label: 'degraded' }),
    limiter.metricStoreFailures({ label: 'failed calls' }),
    limiter.metricCircuitOpened({ label: 'circuit breaker opened' }),
  ]),
  graph('Latency of calls to the state table', [
    limiter.metricStoreLatency({ statistic: 'p50', label: 'p50, ms' }),
    limiter.metricStoreLatency({ label: 'p99, ms' }),
  ]),
  graph('Latency of the authorizer', [
    limiter.metricDuration({ statistic: 'p50', label: 'p50, ms' }),
    limiter.metricDuration({ statistic: 'p99', label: 'p99, ms' }),
  ]),
]

const capacity = (limiter: LimiterMetrics, reserved: number | undefined): IWidget[] => [
  graph('Conflicts and leases', [
    limiter.metricConflicts({ label: 'conflicts' }),
    limiter.metricLeaseGrants({ label: 'leases' }),
  ]),
  graph('Hot keys and throttled writes', [
    limiter.metricHotKeys({ label: 'hot keys' }),
    limiter.metricThrottledWrites({ label: 'throttled writes' }),
  ]),
  graph('Busy instances', [limiter.metricConcurrentExecutions({ label: 'at once' })], {
    leftAnnotations: (reserved === undefined || Token.isUnresolved(reserved)
      ? []
      : [{ value: reserved, label: 'reserved' }]) satisfies HorizontalAnnotation[],
  }),
]

const mistakes = (limiter: LimiterMetrics): IWidget[] => [
  graph('Failed requests', [
    limiter.metricErrors({ label: 'errors' }),
    limiter.metricThrottles({ label: 'throttled: too few instances' }),
  ]),
  graph('Mistakes in the config table; wrong clocks', [
    limiter.metricConfigErrors({ label: 'config mistakes' }),
    limiter.metricClockErrors({ label: 'wrong clocks' }),
  ]),
]

/** One line for each pair that has reported within two weeks, those with the most first. */
function byTierAndPolicy({ metricsNamespace }: LimiterMetrics, name: MetricName): IMetric {
  const namespace = /^\w+$/.test(metricsNamespace) ? metricsNamespace : `"${metricsNamespace}"`
  const expression = `SORT(SEARCH('{${namespace},tier,policy} MetricName="${name}"', 'Sum'), SUM, DESC, ${MAX_PAIRS})`
  return new MathExpression({ expression, usingMetrics: {}, label: '', period: FIVE })
}

/** Dollars an hour, a line for each part, so that a part without data yet hides no other. */
function cost(limiter: LimiterMetrics, configTable: Watched['configTable']): IWidget {
  const { handler, stateTable } = limiter
  const { memorySize = 128 } = handler.node.defaultChild as CfnFunction
  const gbSecond = handler.architecture === Architecture.X86_64 ? X86_GB_SECOND_USD : LAMBDA_USD.lambdaGbSecond
  const units = (metricName: string, { tableName }: { readonly tableName: string }) =>
    new Metric({ namespace: 'AWS/DynamoDB', metricName, dimensionsMap: { TableName: tableName }, statistic: 'sum' })
  // A number for CloudWatch's metric math: without an exponent.
  const dollars = (label: string, metric: Metric, millionUsd: number) => {
    const id = label.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())
    const expression = `${id} * ${millionUsd.toFixed(6)} / 1000000`
    return new MathExpression({ expression, usingMetrics: { [id]: metric }, label, period: HOUR })
  }
  const { dynamodbMillionWriteUnits: write, dynamodbMillionReadUnits: read } = DYNAMODB_USD
  const msUsd = (memorySize / 1024) * gbSecond * 1000 // a million milliseconds
  const left = [
    dollars('writes', units('ConsumedWriteCapacityUnits', stateTable), write),
    dollars('reads of state', units('ConsumedReadCapacityUnits', stateTable), read),
    dollars('reads of tiers and clients', units('ConsumedReadCapacityUnits', configTable), read),
    dollars('invocations', limiter.metricInvocations({ statistic: 'sum' }), LAMBDA_USD.lambdaMillionRequests),
    dollars('duration', limiter.metricDuration({ statistic: 'sum' }), msUsd),
  ]
  const title = `Cost in $ an hour, by list prices of us-east-1 on ${PRICES_READ}, on demand`
  return graph(title, left, { stacked: true, period: HOUR })
}

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/ContributorInsights-GraphReportData.html */
class DeniedCallersWidget extends ConcreteWidget {
  constructor(
    private readonly ruleName: string,
    private readonly region: string,
  ) {
    super(24, 6)
  }

  toJson(): unknown[] {
    const { ruleName, region, width, height, x, y } = this
    const insightRule = { ruleName, maxContributorCount: 10, orderBy: 'Sum' }
    const properties = { title: 'Callers denied most', region, period: 300, view: 'timeSeries', insightRule }
    return [{ type: 'metric', width, height, x, y, properties: { ...properties, legend: { position: 'right' } } }]
  }
}
