import { App, Duration, Annotations as Notes, Stack } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'

const ACTION: IAlarmAction = { bind: () => ({ alarmActionArn: 'arn:aws:sns:us-east-1:123456789012:alarms' }) }

function limiterWith(props: RateLimiterProps = {}) {
  const stack = new Stack(new App(), 'Stack')
  return { stack, limiter: new RateLimiter(stack, 'Limiter', props) }
}
const warningsOf = (stack: Stack) => Annotations.fromStack(stack).findWarning('*', Match.anyValue())

describe('reserved concurrency of the authorizer', () => {
  it.each<[RateLimiterProps, string]>([
    [{}, '× 0.3 s, at least 20'],
    [{ decisionDeadline: Duration.millis(500) }, '× 0.5 s, at least 20'],
    // ten requests a second for each instance that is reserved
    [{ decisionDeadline: Duration.millis(20) }, '× 0.1 s, at least 20'],
  ])('is recommended by a warning, with how much to reserve: %j', (props, formula) => {
    const [warning, ...others] = warningsOf(limiterWith(props).stack)
    expect(others).toEqual([])
    expect(warning!.id).toBe('/Stack/Limiter')
    expect(warning!.entry.data).toContain(formula)
  })

  it('can be left out on purpose by acknowledging the warning’s id', () => {
    const { stack, limiter } = limiterWith()
    Notes.of(limiter).acknowledgeWarning('sluice:reservedConcurrency')
    expect(warningsOf(stack)).toEqual([])
  })

  it.each<RateLimiterProps>([
    { reservedConcurrentExecutions: 100 },
    { functionOptions: { reservedConcurrentExecutions: 100 } },
  ])('set by %j causes no warning, and has an alarm before it is used up', (props) => {
    const { stack, limiter } = limiterWith(props)
    const { throttles, concurrency } = limiter.addConcurrencyAlarms({ actions: [ACTION] })
    expect(warningsOf(stack)).toEqual([])
    const template = Template.fromStack(stack)
    template.hasResourceProperties('AWS::Lambda::Function', { ReservedConcurrentExecutions: 100 })
    const common = {
      Namespace: 'AWS/Lambda',
      Period: 60,
      EvaluationPeriods: 1,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      TreatMissingData: 'notBreaching',
      Dimensions: [{ Name: 'FunctionName', Value: stack.resolve(limiter.handler.functionName) }],
      AlarmActions: ['arn:aws:sns:us-east-1:123456789012:alarms'],
    }
    template.resourceCountIs('AWS::CloudWatch::Alarm', 2)
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      ...common,
      MetricName: 'Throttles',
      Statistic: 'Sum',
      Threshold: 1,
    })
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      ...common,
      MetricName: 'ConcurrentExecutions',
      Statistic: 'Maximum',
      Threshold: 80,
    })
    expect([throttles, concurrency]).not.toContain(undefined)
  })

  it('that is not set has an alarm on throttled requests', () => {
    const { stack, limiter } = limiterWith()
    expect(limiter.addConcurrencyAlarms().concurrency).toBeUndefined()
    Template.fromStack(stack).resourceCountIs('AWS::CloudWatch::Alarm', 1)
    expect(() => limiter.addConcurrencyAlarms()).toThrow('ConcurrencyAlarms')
  })

  it('has no alarm if alarms are switched off', () => {
    Template.fromStack(limiterWith({ reservedConcurrentExecutions: 100 }).stack).resourceCountIs(
      'AWS::CloudWatch::Alarm',
      0,
    )
  })
})
