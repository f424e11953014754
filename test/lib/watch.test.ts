import { App, NestedStack, Stack, Validations } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { AwsSolutionsChecks } from 'cdk-nag'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { ALARMS, type AlarmName } from '../../lib/watch/alarm-set'
import { QUERIES } from '../../lib/watch/limiter-queries'
import { pageOf } from '../docs/examples'
import { issuesOf } from '../policies/issues'
import { watched } from '../telemetry/watched'

function limiterWith(props: RateLimiterProps = {}, scope = new App()) {
  const stack = new Stack(scope, 'Stack')
  return { stack, limiter: new RateLimiter(stack, 'Limiter', props) }
}

interface Widget {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly properties: {
    readonly title?: string
    readonly metrics?: readonly unknown[][]
    readonly insightRule?: unknown
  }
}

/** A metric in an alarm's arithmetic. */
interface Part {
  readonly Id: string
  readonly Expression?: string
  readonly expression?: string
  readonly MetricStat?: { readonly Metric: { readonly MetricName: string } }
}

// biome-ignore lint/suspicious/noExplicitAny: a template is data of any shape
const propertiesIn = (template: Template, type: string): Record<string, any>[] =>
  Object.values(template.findResources(type)).map(({ Properties }) => Properties)

/** A text of a template, whose references stand as `<Name>`. */
const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  const [, parts] = (value as { 'Fn::Join': [string, unknown[]] })['Fn::Join']
  return parts.map((part) => (typeof part === 'string' ? part : `<${Object.values(part as object)[0]}>`)).join('')
}

describe('everything that watches a limiter', () => {
  const app = new App()
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
  const { stack, limiter } = limiterWith({ reservedConcurrentExecutions: 50, tiersFile: 'tiers.yaml' }, app)
  const topic = Topic.fromTopicArn(stack, 'Topic', 'arn:aws:sns:eu-west-1:123456789012:alarms')
  limiter.addDashboard()
  limiter.addDeniedCallersRule()
  limiter.addQueries()
  const { alarms } = limiter.addAlarms({ topic })
  const template = Template.fromStack(stack)
  const made = propertiesIn(template, 'AWS::CloudWatch::Alarm')
  const [rule] = propertiesIn(template, 'AWS::CloudWatch::InsightRule')
  const { widgets }: { widgets: Widget[] } = JSON.parse(
    textOf(propertiesIn(template, 'AWS::CloudWatch::Dashboard')[0]!.DashboardBody),
  )
  const metricsIn = (widget: Widget): readonly unknown[] => widget.properties.metrics ?? []

  it('is made when it is asked for, and not before, and has no unacknowledged cdk-nag finding', () => {
    const silent = Template.fromStack(limiterWith().stack)
    for (const type of [
      'CloudWatch::Alarm',
      'CloudWatch::Dashboard',
      'CloudWatch::InsightRule',
      'Logs::QueryDefinition',
    ])
      silent.resourceCountIs(`AWS::${type}`, 0)
    expect(() => app.synth()).not.toThrow()
    for (const add of ['addDashboard', 'addAlarms', 'addQueries', 'addDeniedCallersRule'] as const)
      expect(() => limiter[add]()).toThrow('already a Construct')
  })

  it('has an alarm of each name but lockedOut, that says what to do and where to read on', () => {
    const names = Object.keys(ALARMS).filter((name) => name !== 'lockedOut')
    expect(Object.keys(alarms)).toEqual(names)
    expect(made.map(({ AlarmDescription }) => AlarmDescription)).toEqual(
      expect.arrayContaining(
        names.map((name) => expect.stringMatching(`\\. docs/runbook\\.md#${name.toLowerCase()}$`)),
      ),
    )
    for (const alarm of made)
      expect(alarm).toMatchObject({
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        TreatMissingData: 'notBreaching',
        AlarmActions: [topic.topicArn],
        OKActions: [topic.topicArn],
      })
  })

  it('costs what the page says: each metric of an alarm $0.10', () => {
    const metrics = made.flatMap(({ Metrics }) =>
      Metrics ? Metrics.filter(({ MetricStat }: Part) => MetricStat) : [0],
    )
    expect([made.length, metrics.length]).toEqual([12, 15])
    expect(pageOf('how-to/watch-a-deployment.md')).toContain(
      '11, and one more with reserved concurrency | $1.40, or $1.50: 14 or 15 alarm metrics at $0.10 |',
    )
  })

  it('watches shares by arithmetic in which no missing metric hides the other', () => {
    const shares = made.flatMap(({ Metrics }) => (Metrics ? [Metrics as Part[]] : []))
    expect(shares).toHaveLength(3)
    for (const [expression, ...metrics] of shares) {
      expect(expression!.Expression).toMatch(/^IF\(whole >= \d+, 100 \* part \/ whole, 0\)$/)
      expect(metrics.map(({ Id, MetricStat }) => [Id, MetricStat?.Metric.MetricName])).toContainEqual([
        'whole',
        expect.stringMatching(/^(Invocations|StoreLatency)$/),
      ])
    }
  })

  it('has a dashboard of every metric, within CloudWatch’s bounds', () => {
    const names = JSON.stringify(widgets)
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(RateLimiter.prototype)))
    const metrics = own
      .filter((name) => /^metric[A-Z]/.test(name))
      .map((name) => limiter[name as 'metricDenied']().metricName)
    expect(metrics.length).toBeGreaterThan(18)
    expect(metrics.filter((name) => !names.includes(`"${name}"`))).toEqual([])
    expect(widgets.length).toBeLessThanOrEqual(500)
    for (const widget of widgets.slice(1)) expect(metricsIn(widget).length).toBeLessThanOrEqual(500)
    // Three dashboards of up to 50 metrics are free.
    expect(widgets.slice(1).flatMap(metricsIn).length).toBeLessThanOrEqual(50)
  })

  it('adds the cost up in arithmetic that CloudWatch reads: no exponents, and the prices per unit', () => {
    const [cost] = widgets.filter(({ properties: { title } }) => title?.startsWith('Cost in $'))
    const expressions = cost!.properties.metrics!.map(([one]) => (one as Part).expression).filter((one) => one)
    expect(expressions).toEqual([
      'writes * 0.625000 / 1000000',
      'readsOfState * 0.125000 / 1000000',
      'readsOfTiersAndClients * 0.125000 / 1000000',
      'invocations * 0.200000 / 1000000',
      'duration * 0.023034 / 1000000', // 1,769 MB for a thousand seconds
    ])
    expect(Annotations.fromStack(stack).findWarning('*', Match.anyValue())).toEqual([])
  })

  it('has widgets that do not overlap', () => {
    const cells = widgets.flatMap(({ x, y, width, height }) =>
      Array.from({ length: width * height }, (_, i) => `${x + (i % width)} ${y + Math.floor(i / width)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...widgets.map(({ x, width }) => x + width))).toBe(24)
  })

  it('shows the tiers and policies that deny most, and the callers', () => {
    const graphs = JSON.stringify(widgets)
    expect(graphs).toContain(`SORT(SEARCH('{Sluice,tier,policy} MetricName=\\"Denied\\"', 'Sum'), SUM, DESC, 20)`)
    expect(widgets.at(-1)!.properties.insightRule).toEqual({
      ruleName: rule!.RuleName,
      maxContributorCount: 10,
      orderBy: 'Sum',
    })
  })

  it('ranks callers by what lines of denials have', () => {
    const { Contribution, LogGroupNames, ...others } = JSON.parse(textOf(rule!.RuleBody))
    expect(others).toEqual({
      Schema: { Name: 'CloudWatchLogRule', Version: 1 },
      LogFormat: 'JSON',
      AggregateOn: 'Sum',
    })
    expect(LogGroupNames).toEqual([expect.stringMatching(/^<.*Logs.*>$/)])
    const line = deniedLine()
    for (const field of [...Contribution.Keys, Contribution.ValueOf])
      expect(line).toHaveProperty(field.replace('$.', ''), expect.anything())
    expect(Contribution.Filters).toEqual([{ Match: '$.event', In: [line.event] }])
    expect(typeof line.denials).toBe('number')
  })

  it('saves queries of the function’s log, under the names of stack and limiter', () => {
    const saved = propertiesIn(template, 'AWS::Logs::QueryDefinition')
    expect(saved.map(({ Name }) => Name)).toEqual(Object.keys(QUERIES).map((name) => `Sluice/Stack/Limiter/${name}`))
    for (const { LogGroupNames } of saved) expect(LogGroupNames).toEqual([{ Ref: expect.stringMatching(/Logs/) }])
  })

  it('asks of denials what their lines have', () => {
    const fields = [...Object.keys(deniedLine()), '@timestamp']
    for (const text of Object.values(QUERIES).filter((text) => text.includes('"request_denied"'))) {
      const words = text.replaceAll(/"[^"]*"| as \w+/g, '').match(/@?\b[a-z]\w*\b/gi)!
      const syntax = /^(filter|stats|sum|min|count_distinct|by|sort|desc|limit|denied|firstDenied|\d+)$/
      expect(words.filter((word) => !syntax.test(word.replace('@', '')) && !fields.includes(word))).toEqual([])
    }
  })
})

/** What the authorizer logs of a request over its limit. */
function deniedLine(): Record<string, unknown> {
  const { telemetry, lines, clock } = watched()
  telemetry.answered(
    {
      allowed: false,
      reason: 'over-limit',
      policy: 'p',
      tier: 't',
      limit: 2,
      remaining: 0,
      retryAfter: 1,
      degraded: false,
    },
    undefined,
    { subject: 'client#x', api: 'a', method: 'GET', route: '/', caller: () => ({}) },
    clock.now,
  )
  return lines.map((line) => JSON.parse(line)).find(({ event }) => event === 'request_denied')
}

describe('alarms', () => {
  it('take thresholds, and are left out by false', () => {
    const { stack, limiter } = limiterWith({ reservedConcurrentExecutions: 30 })
    const runbook = `https://${'x'.repeat(492)}`
    const { alarms } = limiter.addAlarms({
      thresholds: { degraded: 7, hotKeys: false, lockedOut: 100, concurrency: 50, storeLatency: 2.5 },
      runbook,
    })
    expect(Object.keys(alarms)).not.toContain('hotKeys')
    const template = Template.fromStack(stack)
    const thresholds = { Degraded: 7, LockedOut: 100, ConcurrentExecutions: 15, StoreLatency: 2.5 }
    for (const [MetricName, Threshold] of Object.entries(thresholds))
      template.hasResourceProperties('AWS::CloudWatch::Alarm', { MetricName, Threshold, AlarmActions: Match.absent() })
    for (const { AlarmDescription } of propertiesIn(template, 'AWS::CloudWatch::Alarm')) {
      expect(AlarmDescription).toContain(`${runbook}#`)
      expect(AlarmDescription.length).toBeLessThanOrEqual(1024)
    }
  })

  it('refuse thresholds that are none, all at once, and make nothing', () => {
    const { limiter } = limiterWith()
    const thresholds = { degraded: 0, storeFailures: 101, storeLatency: Number.NaN, hotkeys: 1, concurrency: 80 }
    expect(issuesOf(() => limiter.addAlarms({ thresholds, runbook: '' }))).toEqual([
      'thresholds.degraded must be an integer from 1, or false, got 0',
      'thresholds.storeFailures must be a percentage above 0, at most 100, or false, got 101',
      expect.stringMatching(/^thresholds\.storeLatency must be milliseconds above 0, or false, got /),
      expect.stringMatching(/^thresholds must be of degraded, .*, lockedOut, got "hotkeys"$/),
      'thresholds.concurrency needs reservedConcurrentExecutions, a number, got none',
      'runbook must be an address of 1 to 500 characters, got ""',
    ])
  })

  it('has none on concurrency where none is reserved, and is made by addConcurrencyAlarms alone as well', () => {
    const { limiter } = limiterWith()
    const { alarms } = limiter.addAlarms()
    expect(Object.keys(alarms)).toHaveLength(Object.keys(ALARMS).length - 2)
    expect(alarms).not.toHaveProperty('concurrency' satisfies AlarmName)
  })
})

describe('a rule of denied callers', () => {
  it.each<RateLimiterProps>([
    { logLevel: 'warn' },
    { functionOptions: { environment: { SLUICE_LOG_LEVEL: 'error' } } },
  ])('needs the lines of denials, which are not logged with %j', (props) => {
    expect(issuesOf(() => limiterWith(props).limiter.addDeniedCallersRule())).toEqual([
      expect.stringMatching(/^logLevel must be info or debug for a rule about denials, .*, got "(warn|error)"$/),
    ])
  })

  it('reads a log group of yours, and has a name of at most 128 characters that says the stack, also a nested one’s', () => {
    const stack = new Stack(new App(), 'x'.repeat(128))
    const nested = new NestedStack(stack, 'Nested')
    const logGroup = LogGroup.fromLogGroupName(nested, 'Logs', 'my-logs')
    const limiter = new RateLimiter(nested, 'Limiter', { logGroup })
    expect(limiter.addDeniedCallersRule().ruleName).toMatch(/^x{100}-denied-callers-[0-9a-f]{8}$/)
    limiter.addQueries()
    const template = Template.fromStack(nested)
    template.hasResourceProperties('AWS::CloudWatch::InsightRule', {
      RuleBody: Match.stringLikeRegexp('"LogGroupNames":\\["my-logs"\\]'),
    })
    for (const { Name } of propertiesIn(template, 'AWS::Logs::QueryDefinition'))
      expect(Name).toMatch(/^Sluice\/x{128}\/Nested\/Limiter\/[a-z ]+$/)
  })
})

describe('several limiters', () => {
  const warned = (stack: Stack) =>
    Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp('sharedMetricsNamespace'))

  it('whose metrics add up are warned of, and have names of their own in the account', () => {
    const { stack, limiter } = limiterWith()
    const other = new RateLimiter(stack, 'Other')
    for (const one of [limiter, other]) {
      one.addAlarms()
      one.addDashboard()
      one.addDeniedCallersRule()
    }
    expect(warned(stack).map(({ id }) => id)).toEqual(['/Stack/Limiter', '/Stack/Other'])
    const template = Template.fromStack(stack)
    const names = propertiesIn(template, 'AWS::CloudWatch::InsightRule').map(({ RuleName }) => RuleName)
    expect(new Set(names).size).toBe(2)
    for (const { AlarmName } of propertiesIn(template, 'AWS::CloudWatch::Alarm')) expect(AlarmName).toBeUndefined()
  })

  it('are not, with a namespace each, which a search finds by its name', () => {
    const { stack, limiter } = limiterWith({ metricsNamespace: 'Shop/limits' })
    new RateLimiter(stack, 'Other')
    limiter.addDashboard()
    expect(warned(stack)).toEqual([])
    const [dashboard] = propertiesIn(Template.fromStack(stack), 'AWS::CloudWatch::Dashboard')
    expect(JSON.stringify(JSON.parse(textOf(dashboard!.DashboardBody)))).toContain(`'{\\"Shop/limits\\",tier,policy} `)
  })
})
