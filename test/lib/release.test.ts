import { App, Stack, Validations } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { CfnAuthorizer, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { LambdaDeploymentConfig } from 'aws-cdk-lib/aws-codedeploy'
import { AwsSolutionsChecks } from 'cdk-nag'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { httpApi, limited, resourcesIn, restApi } from './apis'

const HERE = { account: '123456789012', region: 'eu-west-1' }
const ALIAS = 'AWS::Lambda::Alias'
const PERMISSION = 'AWS::Lambda::Permission'
const text = (value: unknown) => JSON.stringify(value)

describe('a limiter with a release', () => {
  const app = new App()
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
  const stack = new Stack(app, 'Stack', { env: HERE })
  const limiter = new RateLimiter(stack, 'Limiter', {
    tiersFile: 'tiers.yaml',
    reservedConcurrentExecutions: 100,
    release: {
      alias: 'stable',
      provisionedConcurrency: 20,
      rollout: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
    },
  })
  limiter.addConcurrencyAlarms()
  limiter.attachTo(RestApi.fromRestApiId(stack, 'Shop', 'a1b2c3d4e5'), { stageName: 'prod' })
  const apis = new Stack(app, 'Apis', { env: HERE })
  const http = httpApi(apis)
  http.add('a')
  limiter.protect(http.api)
  Validations.of(apis).acknowledge({ id: 'AwsSolutions::AwsSolutions-APIG1', reason: 'not of the limiter' })
  const template = Template.fromStack(stack)
  const [[aliasId]] = resourcesIn(stack, ALIAS) as [ReturnType<typeof resourcesIn>[0]]

  it('has an alias on the present version, with instances that are kept ready', () => {
    template.hasResourceProperties(ALIAS, {
      Name: 'stable',
      FunctionVersion: { 'Fn::GetAtt': [Match.stringLikeRegexp('CurrentVersion'), 'Version'] },
      ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: 20 },
    })
  })

  it('moves requests step by step, and goes back by the errors of the new version alone', () => {
    template.hasResource(ALIAS, { UpdatePolicy: { CodeDeployLambdaAliasUpdate: Match.anyValue() } })
    template.hasResourceProperties('AWS::CodeDeploy::DeploymentGroup', {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      AlarmConfiguration: { Alarms: [{ Name: { Ref: Match.stringLikeRegexp('Failing') } }], Enabled: true },
      AutoRollbackConfiguration: { Enabled: true, Events: Match.arrayWith(['DEPLOYMENT_STOP_ON_ALARM']) },
    })
    const [[, alarm]] = resourcesIn(stack, 'AWS::CloudWatch::Alarm').filter(([id]) => id.includes('Failing')) as [
      ReturnType<typeof resourcesIn>[0],
    ]
    const metrics = alarm.Properties.Metrics as { MetricStat?: { Metric: { Dimensions: object[] } } }[]
    const dimensions = metrics.flatMap(({ MetricStat }) => MetricStat?.Metric.Dimensions ?? [])
    expect(text(dimensions)).toMatch(/ExecutedVersion.*CurrentVersion/)
    expect(text(dimensions)).toContain(':stable')
    expect(text(alarm)).not.toContain(aliasId) // or the alias would wait for itself
  })

  it('is called by its alias, by every API in whatever stack, and permits the alias alone', () => {
    const own = resourcesIn(stack, 'AWS::ApiGateway::Authorizer')
    expect(text(own[0]![1].Properties.AuthorizerUri)).toContain(`"Ref":"${aliasId}"`)
    expect(resourcesIn(stack, PERMISSION).map(([, { Properties }]) => Properties.FunctionName)).toEqual([
      { Ref: aliasId },
    ])
    const [[, elsewhere]] = resourcesIn(apis, PERMISSION) as [ReturnType<typeof resourcesIn>[0]]
    expect(text(elsewhere.Properties.FunctionName)).toContain(aliasId)
  })

  it('is guarded with its alias: what this stack permits there is its own, and the alias outlives a refusal', () => {
    const [[, guard]] = resourcesIn(stack, 'Custom::SluiceDeletionGuard') as [ReturnType<typeof resourcesIn>[0]]
    expect((guard.Properties.Guard as { Own: unknown[] }).Own).toHaveLength(1)
    expect(guard.DependsOn).toEqual(expect.arrayContaining([aliasId, expect.stringContaining('Rollout')]))
  })

  it('names its alias for the command line, so that attach calls it, too', () => {
    const outputs = Object.values(template.findOutputs('*')).map(({ Value }) => text(Value))
    expect(outputs.find((value) => value.includes('configTable'))).toContain(aliasId)
  })

  it('has no unacknowledged cdk-nag finding', () => {
    expect(() => app.synth()).not.toThrow()
  })
})

describe('a release', () => {
  const deploymentId = (props: RateLimiterProps) => {
    const { stack, limiter } = limited(props)
    limiter.protect(restApi(stack).api)
    return resourcesIn(stack, 'AWS::ApiGateway::Deployment')[0]![0]
  }

  it('has stages deployed anew where it changes what they call', () => {
    const ids = [{}, { release: {} }, { invokeRole: true }].map(deploymentId)
    expect(new Set(ids).size).toBe(3)
  })

  it('may be called by a role, which knows the function too, as long as old stages call that', () => {
    const { stack, limiter } = limited({ release: {}, invokeRole: true })
    limiter.protect(restApi(stack).api)
    const [[, role]] = resourcesIn(stack, 'AWS::IAM::Role').filter(([id]) => id.includes('InvokeRole')) as [
      ReturnType<typeof resourcesIn>[0],
    ]
    const [[aliasId, alias]] = resourcesIn(stack, ALIAS) as [ReturnType<typeof resourcesIn>[0]]
    expect(alias.Properties).toMatchObject({ Name: 'live' })
    expect(alias.Properties).not.toHaveProperty('ProvisionedConcurrencyConfig') // which nobody asked for
    expect(resourcesIn(stack, 'AWS::CodeDeploy::DeploymentGroup')).toEqual([])
    expect(text(role.Properties.Policies)).toMatch(/AuthorizerHandler.*Arn/)
    expect(text(role.Properties.Policies)).toContain(aliasId)
  })

  it('does not hide an authorizer that caches', () => {
    const { app, stack, limiter } = limited({ release: {} })
    const uri = `arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${limiter.alias!.functionArn}/invocations`
    new CfnAuthorizer(stack, 'Mine', { restApiId: 'a1', name: 'mine', type: 'REQUEST', authorizerUri: uri })
    expect(() => app.synth()).toThrow('resultsCacheTtl must be 0, got 300 seconds (Stack/Mine)')
  })

  it.each<[NonNullable<RateLimiterProps['release']>, string]>([
    [{ alias: '7' }, 'release.alias must be 1 to 128 letters, digits, "-" or "_", not digits alone'],
    [{ provisionedConcurrency: 0 }, 'release.provisionedConcurrency must be a positive integer, got 0 (Stack/Limiter)'],
    [
      { provisionedConcurrency: 21 },
      'release.provisionedConcurrency must be at most reservedConcurrentExecutions, 20, got 21 (Stack/Limiter)',
    ],
    [{ rollbackAlarms: [] }, 'release.rollbackAlarms needs release.rollout, got none (Stack/Limiter)'],
  ])('%j is refused at the synth', (release, why) => {
    expect(() => limited({ reservedConcurrentExecutions: 20, release })).toThrow(why)
  })
})
