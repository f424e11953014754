import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { AttributeType, Billing, Table, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { GatewayVpcEndpointAwsService, SecurityGroup, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { ConfigError, RateLimiter, type RateLimiterProps } from '../../lib/index'
import { limited, printedFor } from './apis'

type Props = (stack: Stack) => RateLimiterProps

const HERE = { account: '123456789012', region: 'eu-west-1' }
const make = (props: Props, app = new App()) => {
  const stack = new Stack(app, 'Stack', { env: HERE })
  return { app, stack, limiter: new RateLimiter(stack, 'Limiter', props(stack)) }
}
const issuesOf = (work: () => unknown): readonly string[] => {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
  return []
}
const PK = { name: 'pk', type: AttributeType.STRING }
const SK = { name: 'sk', type: AttributeType.STRING }

describe('props that exclude each other are an error that names both', () => {
  const state = (stack: Stack) => new TableV2(stack, 'S', { partitionKey: PK, timeToLiveAttribute: 'exp' })
  const config = (stack: Stack) => new TableV2(stack, 'C', { partitionKey: PK, sortKey: SK })

  it.each<readonly [string, Props]>([
    [
      'stateTable and stateBilling exclude each other, got both (Stack/Limiter)',
      (stack) => ({ stateTable: state(stack), stateBilling: Billing.onDemand() }),
    ],
    [
      'configTable and configTableName exclude each other, got both (Stack/Limiter)',
      (stack) => ({ configTable: config(stack), configTableName: 'config' }),
    ],
    [
      'logGroup and logRetention exclude each other, got both (Stack/Limiter)',
      (stack) => ({ logGroup: new LogGroup(stack, 'L'), logRetention: RetentionDays.ONE_DAY }),
    ],
    [
      'removalPolicy is for tables that are made, got stateTable and configTable (Stack/Limiter)',
      (stack) => ({ stateTable: state(stack), configTable: config(stack), removalPolicy: RemovalPolicy.DESTROY }),
    ],
    [
      'vpcSubnets needs vpc, got none (Stack/Limiter)',
      () => ({ vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED } }),
    ],
  ])('%s', (issue, props) => {
    expect(issuesOf(() => make(props))).toEqual([issue])
  })

  it('and all of them are named at once', () => {
    const issues = issuesOf(() =>
      make((stack) => ({
        stateTable: state(stack),
        stateTableName: 'state',
        statePointInTimeRecovery: true,
        vpcSubnets: {},
        securityGroups: [],
        logGroup: new LogGroup(stack, 'L'),
        logRetention: RetentionDays.ONE_DAY,
      })),
    )
    expect(issues.map((text) => text.split(' ', 3).join(' '))).toEqual([
      'stateTable and stateTableName',
      'stateTable and statePointInTimeRecovery',
      'logGroup and logRetention',
      'vpcSubnets needs vpc,',
      'securityGroups needs vpc,',
    ])
  })

  it('but a prop without a value is none', () => {
    expect(issuesOf(() => make((stack) => ({ stateTable: state(stack), stateTableName: undefined })))).toEqual([])
  })
})

describe('tables of one’s own', () => {
  it.each<readonly [string, Props]>([
    [
      'stateTable must have the key "pk" (S), got "id" (S) (Stack/Mine)',
      (stack) => ({
        stateTable: new TableV2(stack, 'Mine', { partitionKey: { ...PK, name: 'id' }, timeToLiveAttribute: 'exp' }),
      }),
    ],
    [
      'stateTable must have the key "pk" (S), got "pk" (N) (Stack/Mine)',
      (stack) => ({
        stateTable: new TableV2(stack, 'Mine', {
          partitionKey: { ...PK, type: AttributeType.NUMBER },
          timeToLiveAttribute: 'exp',
        }),
      }),
    ],
    [
      'stateTable must have the key "pk" (S), got "pk" (S) and "sk" (S) (Stack/Mine)',
      (stack) => ({
        stateTable: new TableV2(stack, 'Mine', { partitionKey: PK, sortKey: SK, timeToLiveAttribute: 'exp' }),
      }),
    ],
    [
      'stateTable must have the TTL attribute "exp", got none: items would never expire (Stack/Mine)',
      (stack) => ({ stateTable: new TableV2(stack, 'Mine', { partitionKey: PK }) }),
    ],
    [
      'stateTable must have the TTL attribute "exp", got "ttl": items would never expire (Stack/Mine)',
      (stack) => ({
        stateTable: new Table(stack, 'Mine', { partitionKey: PK, timeToLiveAttribute: 'ttl' }),
      }),
    ],
    [
      'configTable must have the key "pk" (S) and "sk" (S), got "pk" (S) (Stack/Mine)',
      (stack) => ({ configTable: new TableV2(stack, 'Mine', { partitionKey: PK }) }),
    ],
  ])('fail the synth if the function cannot use them: %s', (issue, props) => {
    expect(() => make(props).app.synth()).toThrow(issue)
  })

  it('may get what they lack later in the app', () => {
    const { app } = make((stack) => {
      const stateTable = new Table(stack, 'Mine', { partitionKey: PK })
      const specification = { AttributeName: 'exp', Enabled: true }
      ;(
        stateTable.node.defaultChild as never as { addPropertyOverride(name: string, value: object): void }
      ).addPropertyOverride('TimeToLiveSpecification', specification)
      return { stateTable, configTable: TableV2.fromTableName(stack, 'Imported', 'config') }
    })
    expect(() => app.synth()).not.toThrow()
  })

  it('must be of the limiter’s account and Region, where the function looks for their names', () => {
    const issues = issuesOf(() =>
      make((stack) => ({
        stateTable: TableV2.fromTableArn(stack, 'S', 'arn:aws:dynamodb:us-east-1:123456789012:table/state'),
        configTable: TableV2.fromTableArn(stack, 'C', 'arn:aws:dynamodb:eu-west-1:999999999999:table/config'),
      })),
    )
    expect(issues).toEqual([
      'stateTable must be in the limiter’s Region, "eu-west-1", got "us-east-1" (Stack/Limiter)',
      'configTable must be in the limiter’s account, "123456789012", got "999999999999" (Stack/Limiter)',
    ])
  })
})

describe('an API in another place than the limiter', () => {
  it.each([
    ['Region', { ...HERE, region: 'us-east-1' }, '"eu-west-1", got "us-east-1"'],
    ['account', { ...HERE, account: '999999999999' }, '"123456789012", got "999999999999"'],
  ])('is refused by its %s, and nothing is made in front of it', (what, env, got) => {
    const { app, limiter } = make(() => ({}))
    const other = new Stack(app, 'Other', { env })
    const rest = new RestApi(other, 'Rest', { cloudWatchRole: false })
    rest.root.addMethod('GET')
    const http = new HttpApi(other, 'Http', { defaultIntegration: new HttpUrlIntegration('I', 'https://example.com') })
    const imported = RestApi.fromRestApiId(other, 'Imported', 'a1b2c3d4e5')
    expect(() => limiter.protect(rest)).toThrow(`api must be in the limiter’s ${what}, ${got} (Other/Rest)`)
    expect(() => limiter.protect(http)).toThrow(`(Other/Http)`)
    expect(() => limiter.attachTo(imported, { stageName: 'prod' })).toThrow(`(Other/Imported)`)
    expect([rest, http, imported].map(({ node }) => node.tryFindChild('Sluice'))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('is not known where a stack does not say its place', () => {
    const { app, limiter } = make(() => ({}))
    const other = new Stack(app, 'Other')
    expect(() =>
      limiter.attachTo(RestApi.fromRestApiId(other, 'Api', 'a1b2c3d4e5'), { stageName: 'prod' }),
    ).not.toThrow()
  })
})

describe('an upstream authorizer of another account', () => {
  it('causes a warning that it has to allow the call, and one of the same account does not', () => {
    const warnings = ['123456789012', '999999999999'].map((account) => {
      const arn = `arn:aws:lambda:eu-west-1:${account}:function:check`
      return printedFor(
        make((stack) => ({ upstream: LambdaFunction.fromFunctionArn(stack, 'U', arn) })).stack,
        'warning',
      )
    })
    expect(warnings).toEqual([
      [],
      [expect.stringMatching(/^upstream is a function of account 999999999999.*\[ack: sluice:upstream-account\]/)],
    ])
  })
})

describe('a config table of one’s own', () => {
  it('causes a warning where records of the audit trail would stay forever, and one that cannot be seen does not', () => {
    const warnings = [undefined, 'ttl', 'exp'].map((timeToLiveAttribute) =>
      printedFor(
        make((stack) => ({
          configTable: new TableV2(stack, 'Mine', { partitionKey: PK, sortKey: SK, timeToLiveAttribute }),
        })).stack,
        'warning',
      ),
    )
    const sentence = (got: string) =>
      expect.stringMatching(
        `^configTable should have the TTL attribute "exp", got ${got}: .* kept forever \\(Stack/Mine\\).*sluice:auditTimeToLive`,
      )
    expect(warnings).toEqual([[sentence('none')], [sentence('"ttl"')], []])
    const imported = make((stack) => ({ configTable: TableV2.fromTableName(stack, 'Imported', 'config') }))
    expect(printedFor(imported.stack, 'warning')).toEqual([])
  })
})

describe('a VPC', () => {
  const inVpc = (endpoint: boolean, more: (vpc: Vpc, stack: Stack) => RateLimiterProps = (vpc) => ({ vpc })) =>
    make((stack) => {
      const vpc = new Vpc(stack, 'Vpc', { natGateways: 1 })
      if (endpoint) vpc.addGatewayEndpoint('DynamoDb', { service: GatewayVpcEndpointAwsService.DYNAMODB })
      else vpc.addGatewayEndpoint('S3', { service: GatewayVpcEndpointAwsService.S3 })
      return { tiersFile: 'tiers.yaml', ...more(vpc, stack) }
    })

  it('without an endpoint for DynamoDB causes a warning, by whichever prop it comes', () => {
    const warning = expect.stringMatching(
      /^vpc has no endpoint for DynamoDB \(Stack\/Vpc\).*\[ack: sluice:vpc-endpoint\]/,
    )
    expect(printedFor(inVpc(false).stack, 'warning')).toEqual([warning])
    expect(printedFor(inVpc(false, (vpc) => ({ functionOptions: { vpc } })).stack, 'warning')).toEqual([warning])
    expect(printedFor(inVpc(true).stack, 'warning')).toEqual([])
  })

  it('whose subnets are isolated causes a warning for each check that asks AWS: CloudFormation, and API Gateway with invokeRole', () => {
    const isolated = { subnetType: SubnetType.PRIVATE_ISOLATED }
    const printed = (
      more: RateLimiterProps,
      subnetConfiguration = [
        { name: 'a', ...isolated },
        { name: 'b', subnetType: SubnetType.PRIVATE_WITH_EGRESS },
        { name: 'c', subnetType: SubnetType.PUBLIC },
      ],
    ) =>
      printedFor(
        make((stack) => {
          const vpc = new Vpc(stack, 'Vpc', { subnetConfiguration })
          vpc.addGatewayEndpoint('DynamoDb', { service: GatewayVpcEndpointAwsService.DYNAMODB })
          return { vpc, invokeRole: true, ...more }
        }).stack,
        'warning',
      )
    const [ofTables, ofCallers] = ['check-network', 'guard-network'].map((name) =>
      expect.stringMatching(
        new RegExp(`^vpc has no way out of its subnets \\(Stack/Vpc\\).*\\[ack: sluice:${name}\\]`),
      ),
    )
    const all = [ofTables, ofCallers]
    expect(printed({}, [{ name: 'a', ...isolated }])).toEqual(all)
    expect(printed({ vpcSubnets: isolated })).toEqual(all)
    expect(printed({ functionOptions: { vpcSubnets: isolated } })).toEqual(all)
    expect(printed({ vpcSubnets: isolated, invokeRole: false })).toEqual([ofTables])
    expect(printed({ vpcSubnets: isolated, configTableLoss: 'accept' })).toEqual([ofCallers])
    expect(printed({})).toEqual([])
    expect(printed({ vpcSubnets: isolated, deletionGuard: false })).toEqual([ofTables])
  })

  it('that is imported causes none: its endpoints cannot be seen', () => {
    const { stack } = make((stack) => ({
      vpc: Vpc.fromVpcAttributes(stack, 'Vpc', {
        vpcId: 'vpc-1',
        availabilityZones: ['eu-west-1a'],
        privateSubnetIds: ['subnet-1'],
      }),
    }))
    expect(printedFor(stack, 'warning').filter((text) => text.includes('sluice:'))).toEqual([])
  })

  it.each<readonly [string, (vpc: Vpc, stack: Stack) => RateLimiterProps]>([
    ['props', (vpc, stack) => ({ vpc, securityGroups: [new SecurityGroup(stack, 'Own', { vpc })] })],
    [
      'functionOptions',
      (vpc, stack) => ({ functionOptions: { vpc, securityGroups: [new SecurityGroup(stack, 'Own', { vpc })] } }),
    ],
  ])('holds for both functions, which may make network interfaces (%s)', (_, props) => {
    const template = Template.fromStack(inVpc(true, props).stack)
    const functions = Object.entries(template.findResources('AWS::Lambda::Function')).filter(([id]) =>
      id.startsWith('Limiter'),
    )
    expect(functions).toHaveLength(2)
    for (const [, { Properties }] of functions)
      expect(Properties.VpcConfig.SecurityGroupIds).toEqual([
        { 'Fn::GetAtt': [expect.stringMatching(/^Own/), 'GroupId'] },
      ])
    const roles = Object.entries(template.findResources('AWS::IAM::Role')).filter(([id]) => id.startsWith('Limiter'))
    expect(roles).toHaveLength(2)
    for (const [, { Properties }] of roles)
      expect(JSON.stringify(Properties.ManagedPolicyArns)).toContain('AWSLambdaVPCAccessExecutionRole')
  })
})

describe('the function that seeds', () => {
  const seeding = (props: RateLimiterProps) => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml', ...props })
    const api = new RestApi(stack, 'Api', { cloudWatchRole: false })
    api.root.addMethod('GET')
    limiter.protect(api, { as: 'shop' })
    return Template.fromStack(stack)
  }
  const functionsIn = (template: Template) =>
    Object.fromEntries(
      Object.values(template.findResources('AWS::Lambda::Function')).map(({ Properties }) => [
        /writes tiers/.test(Properties.Description) ? 'seed' : 'authorizer',
        Properties,
      ]),
    )

  it('runs as functionOptions say, except for what is the authorizer’s own', () => {
    const { seed, authorizer } = functionsIn(
      seeding({
        functionOptions: {
          tracing: Tracing.ACTIVE,
          environment: { HTTPS_PROXY: 'http://proxy' },
          functionName: 'authorizer',
          memorySize: 3008,
          timeout: Duration.seconds(3),
          reservedConcurrentExecutions: 300,
        },
      }),
    )
    for (const one of [seed, authorizer])
      expect(one).toMatchObject({
        TracingConfig: { Mode: 'Active' },
        Environment: { Variables: { HTTPS_PROXY: 'http://proxy' } },
      })
    expect(authorizer).toMatchObject({ FunctionName: 'authorizer', MemorySize: 3008 })
    expect(seed).toMatchObject({ MemorySize: 512, Timeout: 120 })
    expect(Object.keys(seed)).not.toEqual(expect.arrayContaining(['FunctionName']))
    expect(Object.keys(seed)).not.toEqual(expect.arrayContaining(['ReservedConcurrentExecutions']))
  })

  it('runs on the Node.js that runtime says, as the authorizer does', () => {
    const of = (props: RateLimiterProps) => Object.values(functionsIn(seeding(props))).map(({ Runtime: name }) => name)
    expect(of({})).toEqual(['nodejs24.x', 'nodejs24.x'])
    expect(of({ runtime: Runtime.NODEJS_22_X })).toEqual(['nodejs22.x', 'nodejs22.x'])
  })

  it('has ten minutes to answer CloudFormation, not an hour', () => {
    const template = seeding({})
    for (const type of ['Custom::SluiceTiers', 'Custom::SluiceApiLabel'])
      template.hasResourceProperties(type, { ServiceTimeout: '600' })
  })

  it('has an output of what it kept, for which resources of older versions are asked again', () => {
    const template = seeding({})
    template.hasOutput('*', {
      Description: Match.stringLikeRegexp('differ from the tiers of the app and were kept'),
      Value: { 'Fn::GetAtt': [Match.stringLikeRegexp('^LimiterTiersItems'), 'Kept'] },
    })
    template.hasResourceProperties('Custom::SluiceTiers', { Reports: ['Kept'] })
  })
})
