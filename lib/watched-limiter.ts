import { Annotations, Stack } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import { ConfigError, Mistake, printed } from '../limiter/errors'
import { ConcurrencyAlarms, type ConcurrencyAlarmsOptions } from './concurrency'
import { LimiterMetrics } from './limiter-metrics'
import { DeniedCallersRule } from './watch/denied-callers-rule'
import { LimiterAlarms, type LimiterAlarmsOptions } from './watch/limiter-alarms'
import { LimiterDashboard, type LimiterDashboardOptions } from './watch/limiter-dashboard'
import { LimiterQueries } from './watch/limiter-queries'
import { NearingRule, type NearingRuleOptions } from './watch/nearing-rule'

/** The id by which the warning can be acknowledged. */
const WARNING = 'sluice:sharedMetricsNamespace'

/** The monitoring of a limiter in CloudWatch: each part is created, and costs money, only if you call its method. */
export abstract class WatchedLimiter extends LimiterMetrics {
  abstract readonly logGroup: ILogGroup
  abstract readonly configTable: ITableV2
  protected abstract readonly reserved: number | undefined
  private isChecked = false

  /**
   * Creates a dashboard: allowed and denied, denied by tier and policy, latency, conflicts, concurrency, mistakes and
   * cost. docs/observability.md has its price.
   *
   * @throws when it is called again.
   */
  addDashboard(options?: LimiterDashboardOptions): LimiterDashboard {
    this.warnOfSharedNamespace()
    const { configTable, reserved } = this
    const dashboard = new LimiterDashboard(this, 'Dashboard', this, { configTable, reserved }, options)
    const rule = this.node.tryFindChild('DeniedCallersRule') as DeniedCallersRule | undefined
    if (rule) dashboard.showDeniedCallers(rule.ruleName)
    return dashboard
  }

  /**
   * Creates the recommended alarms, whose descriptions name the first step. Those of `addConcurrencyAlarms` are among
   * them: call one of the two. docs/runbook.md has an entry for each.
   *
   * @throws ConfigError with every mistake in the options; an error when it is called again.
   */
  addAlarms(options?: LimiterAlarmsOptions): LimiterAlarms {
    this.warnOfSharedNamespace()
    return new LimiterAlarms(this, 'Alarms', this, this.reserved, options)
  }

  /**
   * Saves queries of the log in CloudWatch Logs Insights: callers denied most, denials by policy, newly denied callers,
   * decisions without the state table, mistakes in the config table.
   *
   * @throws when it is called again.
   */
  addQueries(): LimiterQueries {
    return new LimiterQueries(this, 'Queries', this.logGroup)
  }

  /**
   * Creates a Contributor Insights rule that ranks callers, by hash, by how often they were denied; a dashboard shows
   * it. It needs a log group of the standard class.
   *
   * @throws ConfigError if the function logs no denials at its `logLevel`; an error when it is called again.
   */
  addDeniedCallersRule(): DeniedCallersRule {
    this.assertLogged('denials')
    const rule = new DeniedCallersRule(this, 'DeniedCallersRule', this.logGroup)
    const dashboard = this.node.tryFindChild('Dashboard') as LimiterDashboard | undefined
    dashboard?.showDeniedCallers(rule.ruleName)
    return rule
  }

  /**
   * Sends an event to EventBridge for each caller that nears a limit, and to the targets: a topic, a queue, a function.
   * It costs a small function, one of the log group's two subscription filters, and $1.00 for a million events.
   *
   * @throws ConfigError if the function does not log it at its `logLevel`, and with every mistake in the options; an
   * error when it is called again.
   */
  addNearingRule(options: NearingRuleOptions): NearingRule {
    this.assertLogged('callers that near a limit')
    return new NearingRule(this, 'NearingRule', this.logGroup, options)
  }

  /**
   * Creates alarms on concurrency: one on throttled requests and, with reserved concurrency, one on 80 % of it in use.
   *
   * @throws when it is called again.
   */
  addConcurrencyAlarms(options: ConcurrencyAlarmsOptions = {}): ConcurrencyAlarms {
    return new ConcurrencyAlarms(this, 'ConcurrencyAlarms', this, this.reserved, options)
  }

  private assertLogged(what: string): void {
    if (['debug', 'info'].includes(this.logLevel)) return
    throw new ConfigError([
      new Mistake(
        'fields_conflict',
        `logLevel must be info or debug for a rule about ${what}, which are lines of level info, got ${printed(this.logLevel)}`,
      ),
    ])
  }

  /** Metrics of limiters with one namespace add up, so that an alarm or a graph of one shows both. */
  private warnOfSharedNamespace(): void {
    if (this.isChecked) return
    this.isChecked = true
    this.node.addValidation({
      validate: () => {
        const { environment } = Stack.of(this)
        const others = this.node.root.node
          .findAll()
          .filter((one) => one instanceof LimiterMetrics && one !== this)
          .map((one) => one as LimiterMetrics)
          .filter((one) => one.metricsNamespace === this.metricsNamespace && Stack.of(one).environment === environment)
        if (others.length > 0)
          Annotations.of(this).addWarningV2(
            WARNING,
            `the alarms and graphs of this limiter also count ${others.map(({ node }) => node.path).join(', ')}, because all write metrics to the namespace "${this.metricsNamespace}": give each its own metricsNamespace`,
          )
        return []
      },
    })
  }
}
