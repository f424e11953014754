import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, Duration, RemovalPolicy, Stack, Tags, Validations } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import { AttributeType, Billing, Capacity, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Vpc } from 'aws-cdk-lib/aws-ec2'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Architecture, type CfnFunction, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { AwsSolutionsChecks } from 'cdk-nag'
import { buildSync } from 'esbuild'
import { authorizerBundleOptions } from '../../lib/authorizer-bundle'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { LimiterMetrics } from '../../lib/limiter-metrics'

const ROOT = join(__dirname, '..', '..')
const AUTHORIZER = { Description: Match.stringLikeRegexp('rate-limits requests') }

function synthesize(
  props: RateLimiterProps | ((stack: Stack) => RateLimiterProps) = {},
  touch: (limiter: RateLimiter) => void = () => {},
) {
  const stack = new Stack(new App(), 'Stack', { env: { account: '123456789012', region: 'eu-west-1' } })
  touch(new RateLimiter(stack, 'Limiter', typeof props === 'function' ? props(stack) : props))
  return Template.fromStack(stack)
}

const statementsOf = (template: Template, role: RegExp) =>
  Object.entries(template.findResources('AWS::IAM::Policy'))
    .filter(([id]) => role.test(id))
    .flatMap(
      ([, { Properties }]) =>
        Properties.PolicyDocument.Statement as { Action: string | string[]; Resource: unknown; Condition?: object }[],
    )

describe('the function', () => {
  const template = synthesize()

  it('is one file for Node 24 on ARM with one CPU, and times out before API Gateway does', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      ...AUTHORIZER,
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      MemorySize: 1769,
      Timeout: 10,
      ReservedConcurrentExecutions: Match.absent(),
      VpcConfig: Match.absent(),
    })
  })

  it('may make its own calls on each table, write its log, and nothing else', () => {
    const statements = statementsOf(template, /Authorizer/)
    const sorted = (actions: Iterable<string>) => [...actions].map((name) => `dynamodb:${name}`).sort()
    const [log, state, config, copies] = statements
    expect(statements).toHaveLength(4)
    expect(log!.Action).toEqual(['logs:CreateLogStream', 'logs:PutLogEvents'])
    const forgets = 'DeleteItem' // in the code of the store, for `reset`, to which the authorizer has no way
    expect([...state!.Action, `dynamodb:${forgets}`].sort()).toEqual(sorted(commandsIn(/^limiter\/stores\//)))
    expect(readFileSync(join(ROOT, 'lambda', 'authorize.ts'), 'utf8')).not.toContain('reset')
    expect([...config!.Action, ...copies!.Action].sort()).toEqual(sorted(commandsIn(/^lambda\//)))
    expect([...copies!.Action].sort()).toEqual(['dynamodb:DeleteItem', 'dynamodb:UpdateItem'])
    expect(copies!.Condition).toEqual({
      'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['last-valid'] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    })
    const resources = statements.map(({ Resource }) => JSON.stringify(Resource))
    expect(resources).toEqual([/Logs/, /State/, /Config/, /Config/].map((name) => expect.stringMatching(name)))
    for (const resource of resources) expect(resource).not.toContain('*')
    template.allResourcesProperties('AWS::IAM::Role', { ManagedPolicyArns: Match.absent() })
  })

  it('takes its settings from props', () => {
    const custom = synthesize((stack) => ({
      architecture: Architecture.X86_64,
      memorySize: 512,
      timeout: Duration.seconds(5),
      reservedConcurrentExecutions: 20,
      failureMode: 'deny',
      decisionDeadline: Duration.millis(150),
      configTtl: Duration.minutes(1),
      ipv6Prefix: 64,
      denials: 'backend-429',
      logRetention: RetentionDays.ONE_WEEK,
      vpc: new Vpc(stack, 'Vpc'),
    }))
    custom.hasResourceProperties('AWS::Lambda::Function', {
      ...AUTHORIZER,
      Architectures: ['x86_64'],
      MemorySize: 512,
      Timeout: 5,
      ReservedConcurrentExecutions: 20,
      VpcConfig: Match.objectLike({ SubnetIds: Match.anyValue() }),
      Environment: {
        Variables: {
          SLUICE_STATE_TABLE: Match.anyValue(),
          SLUICE_CONFIG_TABLE: Match.anyValue(),
          SLUICE_FAILURE_MODE: 'deny',
          SLUICE_DEADLINE_MS: '150',
          SLUICE_CONFIG_TTL_MS: '60000',
          SLUICE_IPV6_PREFIX: '64',
          SLUICE_DENIALS: 'backend',
        },
      },
    })
    custom.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 })
  })

  it('can be configured by functionOptions or by its resource, where there is no prop', () => {
    const custom = synthesize(
      { functionOptions: { memorySize: 3008, environment: { SLUICE_IPV6_PREFIX: '48' } } },
      ({ handler }) => {
        const resource = handler.node.defaultChild as CfnFunction
        resource.addPropertyOverride('RecursiveLoop', 'Allow')
      },
    )
    custom.hasResourceProperties('AWS::Lambda::Function', {
      ...AUTHORIZER,
      MemorySize: 3008,
      RecursiveLoop: 'Allow',
      Environment: { Variables: Match.objectLike({ SLUICE_IPV6_PREFIX: '48', SLUICE_STATE_TABLE: Match.anyValue() }) },
    })
  })

  it('keeps its logs when the stack is deleted, if you say so', () => {
    const kept = synthesize({ tiersFile: 'tiers.yaml', logRemovalPolicy: RemovalPolicy.RETAIN })
    kept.resourceCountIs('AWS::Logs::LogGroup', 2)
    kept.allResources('AWS::Logs::LogGroup', { DeletionPolicy: 'Retain' })
  })

  it('logs to your log group, if you pass one', () => {
    const custom = synthesize((stack) => ({ logGroup: new LogGroup(stack, 'Mine'), tiersFile: 'tiers.yaml' }))
    custom.resourceCountIs('AWS::Logs::LogGroup', 1)
  })

  it('rejects settings that would fail at its first request', () => {
    expect(() => synthesize({ ipv6Prefix: 129, decisionDeadline: Duration.seconds(10) })).toThrow(
      /decisionDeadline \(SLUICE_DEADLINE_MS\) must be an integer from 20 to 9000, got "10000"\n.*ipv6Prefix \(SLUICE_IPV6_PREFIX\) must be an integer from 1 to 128, got "129"/,
    )
  })

  it('leaves nothing behind where it was built', () => {
    const before = readdirSync(tmpdir())
    synthesize()
    const left = readdirSync(tmpdir()).filter((name) => !before.includes(name) && name.startsWith('sluice'))
    expect(left).toEqual([])
    expect(existsSync(join(ROOT, 'authorizer'))).toBe(false)
  })
})

describe('an upstream authorizer', () => {
  const arn = 'arn:aws:lambda:eu-west-1:123456789012:function:check-tokens'
  const upstreamIn = (stack: Stack) => LambdaFunction.fromFunctionArn(stack, 'Theirs', arn)

  it('is known to the function, which may call it and nothing else', () => {
    const template = synthesize((stack) => ({
      upstream: upstreamIn(stack),
      upstreamDeadline: Duration.millis(800),
      upstreamCacheTtl: Duration.minutes(5),
      upstreamCacheHeaders: ['Authorization', 'X-Tenant'],
    }))
    const statements = statementsOf(template, /Authorizer/)
    expect(statements).toHaveLength(5)
    expect(statements[4]).toEqual({ Action: 'lambda:InvokeFunction', Effect: 'Allow', Resource: arn })
    template.hasResourceProperties('AWS::Lambda::Function', {
      ...AUTHORIZER,
      Environment: {
        Variables: Match.objectLike({
          SLUICE_UPSTREAM: arn,
          SLUICE_UPSTREAM_DEADLINE_MS: '800',
          SLUICE_UPSTREAM_TTL_MS: '300000',
          SLUICE_UPSTREAM_CACHE_HEADERS: 'Authorization,X-Tenant',
        }),
      },
    })
  })

  it('can be a function or alias of this app, whose ARN is a token', () => {
    const template = synthesize((stack) => {
      const code = Code.fromInline('exports.handler = async () => ({})')
      const theirs = new LambdaFunction(stack, 'Theirs', {
        runtime: Runtime.NODEJS_24_X,
        handler: 'index.handler',
        code,
      })
      return { upstream: theirs.addAlias('live') }
    })
    const alias = { Ref: Match.stringLikeRegexp('Alias') }
    template.hasResourceProperties('AWS::Lambda::Function', {
      ...AUTHORIZER,
      Environment: { Variables: Match.objectLike({ SLUICE_UPSTREAM: alias }) },
    })
    template.hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: {
        Statement: Match.arrayWith([{ Action: 'lambda:InvokeFunction', Effect: 'Allow', Resource: alias }]),
      },
    })
  })

  it('can be cached by headers, or not at all', () => {
    expect(() =>
      synthesize((stack) => ({ upstream: upstreamIn(stack), upstreamCacheTtl: Duration.minutes(5) })),
    ).toThrow(
      'upstreamCacheHeaders (SLUICE_UPSTREAM_CACHE_HEADERS) must name the headers by which answers differ where upstreamCacheTtl (SLUICE_UPSTREAM_TTL_MS) is not 0, got none',
    )
  })

  it('must exist if it has settings', () => {
    expect(() => synthesize({ upstreamCacheTtl: Duration.minutes(5), upstreamDeadline: Duration.seconds(1) })).toThrow(
      /upstreamDeadline needs an upstream authorizer, got none\n.*upstreamCacheTtl needs an upstream authorizer, got none/,
    )
  })
})

describe('the tables', () => {
  it('expire state, and keep the configuration when the stack is deleted', () => {
    const template = synthesize()
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Delete',
      Properties: Match.objectLike({
        BillingMode: 'PAY_PER_REQUEST',
        TimeToLiveSpecification: { AttributeName: 'exp', Enabled: true },
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        Replicas: [Match.objectLike({ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false } })],
      }),
    })
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Retain',
      Properties: Match.objectLike({
        TimeToLiveSpecification: { AttributeName: 'exp', Enabled: true }, // of its audit trail
        Replicas: [Match.objectLike({ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } })],
      }),
    })
  })

  it('can be existing tables', () => {
    const template = synthesize((stack) => ({
      stateTable: new TableV2(stack, 'MyState', {
        partitionKey: { name: 'pk', type: AttributeType.STRING },
        timeToLiveAttribute: 'exp',
      }),
      configTable: TableV2.fromTableArn(stack, 'MyConfig', 'arn:aws:dynamodb:eu-west-1:123456789012:table/config'),
    }))
    template.resourceCountIs('AWS::DynamoDB::GlobalTable', 1)
    const resources = statementsOf(template, /Authorizer/).map(({ Resource }) => JSON.stringify(Resource))
    expect(resources[1]).toContain('MyState')
    expect(resources[2]).toContain('table/config')
  })

  it('can have a maximum throughput or provisioned capacity', () => {
    const template = synthesize({
      stateBilling: Billing.onDemand({ maxWriteRequestUnits: 2000, maxReadRequestUnits: 100 }),
      configBilling: Billing.provisioned({
        readCapacity: Capacity.fixed(5),
        writeCapacity: Capacity.autoscaled({ maxCapacity: 2 }),
      }),
    })
    template.hasResourceProperties('AWS::DynamoDB::GlobalTable', {
      WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 2000 },
    })
    template.hasResourceProperties('AWS::DynamoDB::GlobalTable', { BillingMode: 'PROVISIONED' })
  })

  it('have a removal policy and point-in-time recovery as configured', () => {
    const template = synthesize({
      removalPolicy: RemovalPolicy.DESTROY,
      statePointInTimeRecovery: true,
      configPointInTimeRecovery: false,
    })
    template.allResources('AWS::DynamoDB::GlobalTable', { DeletionPolicy: 'Delete' })
    const recoverable = Object.entries(template.findResources('AWS::DynamoDB::GlobalTable')).map(
      ([id, { Properties }]) => [
        id.includes('State'),
        Properties.Replicas[0].PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled,
      ],
    )
    expect(recoverable).toEqual([
      [true, true],
      [false, false],
    ])
  })

  it('keep the config table from deletion, unless it is to be deleted with the stack, or the prop says so', () => {
    const isProtected = (props: RateLimiterProps = {}) =>
      Object.entries(synthesize(props).findResources('AWS::DynamoDB::GlobalTable')).map(([id, { Properties }]) => [
        id.includes('State'),
        Properties.Replicas[0].DeletionProtectionEnabled ?? false,
      ])
    const [protectedOne, open] = [true, false].map((config) => [
      [true, false],
      [false, config],
    ])
    expect(isProtected()).toEqual(protectedOne)
    expect(isProtected({ removalPolicy: RemovalPolicy.DESTROY })).toEqual(open)
    expect(isProtected({ configDeletionProtection: false })).toEqual(open)
  })

  it('are encrypted with your key, which the functions may use as they use the tables', () => {
    const template = synthesize((stack) => ({ encryptionKey: new Key(stack, 'Key'), tiersFile: 'tiers.yaml' }))
    template.allResourcesProperties('AWS::DynamoDB::GlobalTable', {
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
    })
    const kms = statementsOf(template, /Authorizer/).filter(({ Action }) => String(Action).includes('kms:'))
    expect(kms.map(({ Action }) => Action)).toEqual([
      ['kms:Decrypt', 'kms:Encrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*'],
    ])
  })
})

describe('the limiter', () => {
  it('passes tags on to all its resources', () => {
    const template = synthesize({ tiersFile: 'tiers.yaml' }, (limiter) => Tags.of(limiter).add('team', 'edge'))
    const tag = Match.arrayWith([{ Key: 'team', Value: 'edge' }])
    for (const type of ['AWS::Lambda::Function', 'AWS::IAM::Role', 'AWS::Logs::LogGroup'])
      template.allResourcesProperties(type, { Tags: tag })
    template.allResourcesProperties('AWS::DynamoDB::GlobalTable', { Replicas: [Match.objectLike({ Tags: tag })] })
  })

  it('has metrics for alarms', () => {
    const names: string[] = []
    const template = synthesize({}, (limiter) => {
      const metrics = [
        limiter.metricInvocations(),
        limiter.metricErrors(),
        limiter.metricDuration(),
        limiter.metricThrottles(),
      ]
      names.push(...[...metrics, limiter.metricThrottledWrites()].map(({ metricName }) => metricName))
    })
    expect(names).toEqual(['Invocations', 'Errors', 'Duration', 'Throttles', 'WriteThrottleEvents'])
    template.resourceCountIs('AWS::Logs::MetricFilter', 0)
  })

  it('has a method for each metric that the function writes, under the name and by the dimensions that it has there', () => {
    synthesize({}, (limiter) => {
      const methods = Object.getOwnPropertyNames(LimiterMetrics.prototype).filter((name) => /^metric[A-Z]/.test(name))
      const metrics = methods.map((method) => (limiter as never as Record<string, () => Metric>)[method]!())
      const own = metrics.filter(({ namespace }) => namespace === 'Sluice')
      const names = [...readFileSync(join(ROOT, 'lambda/telemetry/emf.ts'), 'utf8').matchAll(/^ {2}\| '(\w+)'$/gm)].map(
        ([, name]) => name,
      )
      expect(names).toHaveLength(16)
      expect(own.map(({ metricName }) => metricName).sort()).toEqual(names.sort())
      for (const { metricName, statistic, dimensions } of own) {
        expect({ statistic, dimensions }).toEqual({
          statistic: metricName === 'StoreLatency' ? 'p99' : 'Sum',
          dimensions: undefined,
        })
      }
      const ofTier = limiter.metricDenied({ tier: 'free', policy: 'per-minute', period: Duration.minutes(1) })
      expect(ofTier).toMatchObject({
        metricName: 'Denied',
        dimensions: { tier: 'free', policy: 'per-minute' },
        period: Duration.minutes(1),
      })
      expect(() => limiter.metricDenied({ tier: 'free' })).toThrow('got tier "free" and policy undefined')
    })
  })

  it('looks for its metrics where the function writes them', () => {
    const template = synthesize({ metricsNamespace: 'Shop' }, (limiter) =>
      expect(limiter.metricDenied().namespace).toBe('Shop'),
    )
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { SLUICE_METRICS_NAMESPACE: 'Shop' } },
    })
    synthesize(
      { metricsNamespace: 'Shop', functionOptions: { environment: { SLUICE_METRICS_NAMESPACE: 'Store' } } },
      (limiter) => expect(limiter.metricDenied().namespace).toBe('Store'),
    )
  })

  it('configures the function’s log and metrics', () => {
    const template = synthesize({ logLevel: 'warn', logCallers: 'clear', metricsInterval: Duration.minutes(1) })
    const Variables = { SLUICE_LOG_LEVEL: 'warn', SLUICE_LOG_CALLERS: 'clear', SLUICE_METRICS_FLUSH_MS: '60000' }
    template.hasResourceProperties('AWS::Lambda::Function', { Environment: { Variables } })
    expect(() => synthesize({ metricsInterval: Duration.hours(2) })).toThrow(
      'metricsInterval (SLUICE_METRICS_FLUSH_MS) must be an integer from 0 to 3600000',
    )
  })

  it.each([
    [undefined, undefined],
    [true, { region: 'eu-west-1', account: '123456789012' }],
  ])('has no unacknowledged cdk-nag finding, with invokeRole: %s', (invokeRole, env) => {
    const app = new App()
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
    new RateLimiter(new Stack(app, 'Stack', { env }), 'Limiter', { tiersFile: 'tiers.yaml', invokeRole })
    expect(() => app.synth()).not.toThrow()
  })
})

/** The DynamoDB calls in those files of the authorizer's bundle. */
function commandsIn(files: RegExp): Set<string> {
  const { metafile } = buildSync({
    ...authorizerBundleOptions,
    metafile: true,
    write: false,
    outdir: ROOT,
    logLevel: 'silent',
  })
  const paths = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 && files.test(path) ? path : [])),
  )
  const code = paths.map((path) => readFileSync(join(ROOT, path), 'utf8')).join()
  const operations = 'BatchGetItem|DeleteItem|GetItem|Query|UpdateItem'
  return new Set(code.match(new RegExp(`(?<=')(?:${operations})(?=')`, 'g')))
}
