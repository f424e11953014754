import { App, CfnParameter, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { MockIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration, WebSocketMockIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { ConfigError, RateLimiter } from '../../lib/index'

const LABEL = 'Custom::SluiceApiLabel'

const restApi = (stack: Stack, id: string) => {
  const api = new RestApi(stack, id, { cloudWatchRole: false })
  api.root.addMethod('GET', new MockIntegration())
  return api
}
const httpApi = (stack: Stack, id: string) => {
  const api = new HttpApi(stack, id)
  api.addRoutes({ path: '/a', integration: new HttpUrlIntegration('I', 'https://example.com') })
  return api
}
const webSocketApi = (stack: Stack, id: string) =>
  new WebSocketApi(stack, id, { connectRouteOptions: { integration: new WebSocketMockIntegration('I') } })

function issues(work: () => unknown): readonly string[] {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
  throw new Error('no mistake was found')
}

describe('an API that is protected as "shop"', () => {
  it.each([
    [
      'REST',
      (limiter: RateLimiter, stack: Stack) => limiter.protect(restApi(stack, 'Api'), { as: 'shop' }),
      { Name: 'Api' },
    ],
    [
      'HTTP',
      (limiter: RateLimiter, stack: Stack) => limiter.protect(httpApi(stack, 'Api'), { as: 'shop' }),
      { Name: 'Api' },
    ],
    [
      'WebSocket',
      (limiter: RateLimiter, stack: Stack) => limiter.protect(webSocketApi(stack, 'Api'), { as: 'shop' }),
      { Name: 'Api' },
    ],
    [
      'imported',
      (limiter: RateLimiter, stack: Stack) =>
        limiter.attachTo(RestApi.fromRestApiId(stack, 'Api', 'a1b2c3d4e5'), { stageName: 'prod', as: 'shop' }),
      { Id: 'a1b2c3d4e5', Name: Match.absent() },
    ],
  ] as const)('gets the label before its first request reaches the limiter (%s)', (_, protect, api) => {
    const stack = new Stack(new App(), 'Stack')
    const limiter = new RateLimiter(stack, 'Limiter')
    const { authorizer } = protect(limiter, stack)
    const template = Template.fromStack(stack)
    template.hasResourceProperties(LABEL, {
      ServiceToken: { 'Fn::GetAtt': [Match.stringLikeRegexp('^LimiterTiersHandler'), 'Arn'] },
      TableName: { Ref: Match.stringLikeRegexp('Config') },
      Api: { Id: Match.anyValue(), Label: 'shop', ...api },
    })
    const [label] = Object.keys(template.findResources(LABEL))
    const [made] = Object.entries(template.toJSON().Resources as Record<string, { DependsOn?: string[] }>).flatMap(
      ([id, one]) => (id === stack.getLogicalId(authorizer) ? one.DependsOn : []),
    )
    expect(made).toBe(label)
  })

  it('is written after the function has its permissions, which allow deletes of labels only', () => {
    const stack = new Stack(new App(), 'Stack')
    const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'tiers.yaml' })
    const rights = () => {
      const policies = Object.entries(Template.fromStack(stack).findResources('AWS::IAM::Policy'))
      const [, { Properties }] = policies.find(([id]) => id.includes('Tiers'))!
      const statements = Properties.PolicyDocument.Statement as {
        Action: string | string[]
        Condition?: Record<string, Record<string, string[]>>
      }[]
      return statements.flatMap(({ Action, Condition }) =>
        Condition
          ? [[[Action].flat(), Condition['ForAllValues:StringEquals']!['dynamodb:LeadingKeys'], Condition.Null]]
          : [],
      )
    }
    for (const id of ['A', 'B']) limiter.protect(restApi(stack, id), { as: id })
    const always = { 'dynamodb:LeadingKeys': 'false' }
    expect(rights()).toEqual([
      [['dynamodb:Query'], ['policy-set', 'seed'], always],
      [['dynamodb:PutItem'], ['policy-set', 'seed', 'audit'], always],
      [['dynamodb:PutItem'], ['hmac-key', 'signing-key', 'audit'], always],
      [['dynamodb:Query'], ['policy-set', 'seed', 'api-labels'], always],
      [['dynamodb:PutItem', 'dynamodb:DeleteItem'], ['policy-set', 'seed', 'api-labels', 'audit'], always],
    ])
    Template.fromStack(stack).allResources(LABEL, {
      DependsOn: Match.arrayWith([Match.stringLikeRegexp('TiersRoleDefaultPolicy')]),
    })
    Template.fromStack(stack).resourceCountIs('AWS::Lambda::Function', 2)
  })

  it('is written in its own stack, which depends on the limiter’s stack', () => {
    const app = new App()
    const [ours, theirs] = [new Stack(app, 'Ours'), new Stack(app, 'Theirs')]
    const limiter = new RateLimiter(ours, 'Limiter')
    limiter.protect(restApi(theirs, 'Api'), { as: 'shop' })
    Template.fromStack(theirs).resourceCountIs(LABEL, 1)
    Template.fromStack(ours).resourceCountIs(LABEL, 0)
    expect([ours.dependencies, theirs.dependencies]).toEqual([[], [ours]])
  })

  it('has one resource per limiter, because CloudFormation does not change a resource’s function', () => {
    const idIn = (limiterId: string) => {
      const stack = new Stack(new App(), 'Stack')
      new RateLimiter(stack, limiterId).protect(restApi(stack, 'Api'), { as: 'shop' })
      return Object.keys(Template.fromStack(stack).findResources(LABEL))[0]
    }
    expect(idIn('One')).not.toBe(idIn('Two'))
    expect(idIn('One')).toBe(idIn('One'))
  })

  it('uses the same function with and without a tiers file', () => {
    const tokenWith = (props: object) => {
      const stack = new Stack(new App(), 'Stack')
      new RateLimiter(stack, 'Limiter', props).protect(restApi(stack, 'Api'), { as: 'shop' })
      return Object.values(Template.fromStack(stack).findResources(LABEL))[0]!.Properties.ServiceToken
    }
    expect(tokenWith({})).toEqual(tokenWith({ tiersFile: 'tiers.yaml' }))
  })
})

describe('an invalid label', () => {
  const stack = () => new Stack(new App(), 'Stack')
  const wanted =
    'label must be a label of 1 to 64 letters, digits, ".", "_" or "-", and not 10 lower-case letters and digits, as ids are'

  it.each(['', 'a b', 'a/b', '*', 'x'.repeat(65), 'a1b2c3d4e5'])('fails the synth: %j', (label) => {
    const at = stack()
    expect(issues(() => new RateLimiter(at, 'L').protect(restApi(at, 'Api'), { as: label }))).toEqual([
      expect.stringContaining(`as: ${wanted}, got "${label.slice(0, 40)}`),
    ])
  })

  it('fails the synth if it is a token', () => {
    const at = stack()
    const { valueAsString } = new CfnParameter(at, 'P')
    expect(issues(() => new RateLimiter(at, 'L').protect(restApi(at, 'Api'), { as: valueAsString }))).toEqual([
      'as must be known at synth, got a token (Stack/Api)',
    ])
  })

  it('fails the synth if two APIs of limiters with the same table have it', () => {
    const at = stack()
    const configTable = new TableV2(at, 'Shared', { partitionKey: { name: 'pk', type: AttributeType.STRING } })
    const [one, two, apart] = [
      new RateLimiter(at, 'One', { configTable }),
      new RateLimiter(at, 'Two', { configTable }),
      new RateLimiter(at, 'Three'),
    ]
    one.protect(restApi(at, 'A'), { as: 'shop' })
    for (const limiter of [one, two]) {
      expect(issues(() => limiter.protect(httpApi(at, `B${limiter.node.id}`), { as: 'shop' }))).toEqual([
        `as must be unique, got "shop" for Stack/A and Stack/B${limiter.node.id}`,
      ])
    }
    apart.protect(webSocketApi(at, 'C'), { as: 'shop' })
  })
})

test('an API that is protected without a label has none, and nothing may write into its table', () => {
  const stack = new Stack(new App(), 'Stack')
  new RateLimiter(stack, 'Limiter').protect(restApi(stack, 'Api'))
  const template = Template.fromStack(stack)
  template.resourceCountIs(LABEL, 0)
  const [policy] = Object.entries(template.findResources('AWS::IAM::Policy')).flatMap(([id, { Properties }]) =>
    id.includes('Tiers') ? [JSON.stringify(Properties.PolicyDocument)] : [],
  )
  expect(policy).not.toContain('dynamodb:')
})
