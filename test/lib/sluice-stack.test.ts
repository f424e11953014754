import { App, Stack } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import { SluiceStack } from '../../lib/sluice-stack'
import { stackOptionsFrom } from '../../lib/stack-options'
import { issuesOf } from '../policies/issues'

const optionsFrom = (context: Record<string, unknown>) => stackOptionsFrom(new App({ context }).node)

describe('the stack', () => {
  const stack = new SluiceStack(new App(), 'Sluice')
  const template = Template.fromStack(stack)

  it('protects every method', () => {
    const methods = Object.values(template.findResources('AWS::ApiGateway::Method'))
    expect(methods.length).toBeGreaterThan(0)
    for (const { Properties } of methods) {
      expect(Properties).toMatchObject({ AuthorizationType: 'CUSTOM', AuthorizerId: expect.anything() })
    }
  })

  it('seeds the tiers of tiers.yaml', () => {
    const [seed] = Object.values(template.findResources('Custom::SluiceTiers'))
    const items: string[] = seed!.Properties.Items
    expect(items.map((text) => JSON.parse(text).sk)).toEqual(
      expect.arrayContaining(['tier#anonymous', 'tier#free', 'route#POST /batch']),
    )
  })

  it('outputs its URL and a command to try', () => {
    template.hasOutput('ApiUrl', {})
    template.hasOutput('TryIt', { Value: { 'Fn::Join': ['', Match.arrayWith([Match.stringLikeRegexp('curl')])] } })
  })

  it('reserves no concurrency, because new accounts cannot, and warns of it', () => {
    const warningsOf = (one: Stack) => Annotations.fromStack(one).findWarning('*', Match.anyValue())
    expect(warningsOf(stack).map(({ entry }) => entry.data)).toEqual([
      expect.stringContaining('[ack: sluice:reservedConcurrency]'),
    ])
    const reserving = new SluiceStack(new App(), 'Sluice', optionsFrom({ reservedConcurrency: '50' }))
    expect(warningsOf(reserving)).toEqual([])
    Template.fromStack(reserving).hasResourceProperties('AWS::Lambda::Function', { ReservedConcurrentExecutions: 50 })
  })
})

describe('the context of the app', () => {
  it('is optional', () => expect(new SluiceStack(new App(), 'Sluice', optionsFrom({})).stackName).toBe('Sluice'))

  it('chooses names, removal policy, architecture and log retention', () => {
    const stack = new SluiceStack(
      new App(),
      'Sluice',
      optionsFrom({
        stackName: 'limits',
        stateTableName: 'limits-state',
        configTableName: 'limits-config',
        removalPolicy: 'destroy',
        architecture: 'x86_64',
        logRetentionDays: '7',
      }),
    )
    const template = Template.fromStack(stack)
    expect(stack.stackName).toBe('limits')
    for (const TableName of ['limits-state', 'limits-config'])
      template.hasResource('AWS::DynamoDB::GlobalTable', {
        Properties: Match.objectLike({ TableName }),
        DeletionPolicy: 'Delete',
      })
    template.allResourcesProperties('AWS::Lambda::Function', { Architectures: ['x86_64'] })
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 })
  })

  it('has the limiter watched where it says dashboard=true', () => {
    const stack = new SluiceStack(new App(), 'Sluice', optionsFrom({ dashboard: 'true' }))
    const template = Template.fromStack(stack)
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1)
    template.resourceCountIs('AWS::CloudWatch::InsightRule', 1)
    template.resourceCountIs('AWS::Logs::QueryDefinition', 5)
    expect(Object.keys(template.findResources('AWS::CloudWatch::Alarm')).length).toBeGreaterThan(10)
  })

  it.each([
    [
      'ops@example.com',
      { 'AWS::SNS::Topic': 1, 'AWS::SNS::Subscription': 1 },
      { Ref: expect.stringMatching(/^Alarms/) },
    ],
    ['arn:aws:sns:eu-west-1:123456789012:ops', { 'AWS::SNS::Topic': 0 }, 'arn:aws:sns:eu-west-1:123456789012:ops'],
  ])('has alarms, and nothing else, that are sent to %s', (alarms, made, topic) => {
    const template = Template.fromStack(new SluiceStack(new App(), 'Sluice', optionsFrom({ alarms })))
    for (const [type, count] of Object.entries(made)) template.resourceCountIs(type, count)
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 0)
    const all = Object.values(template.findResources('AWS::CloudWatch::Alarm'))
    expect(all.length).toBeGreaterThan(10)
    for (const { Properties } of all)
      expect([Properties.AlarmActions, Properties.OKActions]).toEqual([[topic], [topic]])
  })

  it('runs all its functions by another runtime, in a Region that lacks the default', () => {
    const stack = new SluiceStack(new App(), 'Sluice', optionsFrom({ runtime: 'nodejs22.x' }))
    Template.fromStack(stack).allResourcesProperties('AWS::Lambda::Function', { Runtime: 'nodejs22.x' })
  })

  it('chooses the tiers file, whose errors fail the synth', () => {
    const { tiersFile } = optionsFrom({ tiersFile: 'package.json' })
    expect(() => new SluiceStack(new App(), 'Sluice', { tiersFile })).toThrow('(package.json)')
  })

  it('is checked, and every error in it is reported', () => {
    const context = {
      stackName: '1',
      stateTableName: 'a b',
      configTableName: 'x',
      removalPolicy: 'keep',
      dashboard: 'yes',
      alarms: 'ops',
      configTableLoss: 'never',
      architecture: 'arm',
      runtime: 'node22',
      logRetentionDays: '2',
      reservedConcurrency: '0',
    }
    expect(issuesOf(() => optionsFrom(context))).toEqual([
      'stackName must be a name of letters, digits and "-", got "1" (context)',
      'stateTableName must be a valid DynamoDB table name, got "a b" (context)',
      'configTableName must be a valid DynamoDB table name, got "x" (context)',
      'removalPolicy must be destroy or retain, got "keep" (context)',
      'configTableLoss must be refuse or accept, got "never" (context)',
      'dashboard must be true or false, got "yes" (context)',
      'alarms must be an e-mail address or the ARN of an SNS topic, got "ops" (context)',
      'architecture must be arm64 or x86_64, got "arm" (context)',
      'runtime must be a runtime of Lambda, nodejs20.x or newer, got "node22" (context)',
      'reservedConcurrency must be an integer from 1 to 999999, got "0" (context)',
      expect.stringMatching(/^logRetentionDays must be one of 1, 3, 5, 7, .*, got "2" \(context\)$/),
    ])
  })
})

test('the stack needs no environment other than its own', () => {
  expect(
    Stack.isStack(new SluiceStack(new App(), 'Sluice', { env: { account: '123456789012', region: 'cn-north-1' } })),
  ).toBe(true)
})
