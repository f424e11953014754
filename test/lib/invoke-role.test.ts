import { App, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { MockIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { WebSocketMockIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { RateLimiter } from '../../lib/index'
import { runs } from '../runs'
import { httpApi, limited, printedFor, resourcesIn, restApi } from './apis'

/** So many protected REST APIs, spread over stacks of an app. */
function manyApis(count: number, perStack: number, invokeRole?: boolean) {
  const app = new App()
  const own = new Stack(app, 'Limits')
  const limiter = new RateLimiter(own, 'Limiter', { invokeRole })
  const stacks = Array.from({ length: Math.ceil(count / perStack) }, (_, i) => new Stack(app, `Apis${i}`))
  for (let i = 0; i < count; i++) {
    const api = new RestApi(stacks[Math.floor(i / perStack)]!, `Api${i}`, { cloudWatchRole: false })
    api.root.addMethod('GET', new MockIntegration())
    limiter.protect(api)
  }
  return { app, own, stacks }
}

const permissionsIn = (stack: Stack) =>
  resourcesIn(stack, 'AWS::Lambda::Permission').filter(([, { Properties }]) =>
    JSON.stringify(Properties.SourceArn).includes('/authorizers/'),
  )

describe('invokeRole', () => {
  const MANY = runs(70, 500)
  it(`lets ${MANY} APIs in several stacks call the function, with one role and no permission`, () => {
    const { own, stacks } = manyApis(MANY, 72, true) // a stack has 500 resources at most
    const roles = stacks.flatMap((stack) =>
      resourcesIn(stack, 'AWS::ApiGateway::Authorizer').map(([, { Properties }]) =>
        JSON.stringify(Properties.AuthorizerCredentials),
      ),
    )
    expect(roles).toHaveLength(MANY)
    expect([...new Set(roles)]).toEqual([expect.stringContaining('InvokeRole')])
    expect(stacks.flatMap((stack) => permissionsIn(stack))).toEqual([])
    expect(printedFor(own, 'warning')).toEqual([])
  }, 180_000)

  it('makes a role that API Gateway alone can assume, and that may call this function alone', () => {
    const { stack, limiter } = limited({ invokeRole: true })
    limiter.protect(restApi(stack).api)
    Template.fromStack(stack).hasResourceProperties('AWS::IAM::Role', {
      AssumeRolePolicyDocument: {
        Statement: [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service: 'apigateway.amazonaws.com' } }],
      },
      Policies: [
        {
          PolicyDocument: {
            Statement: [
              {
                Action: 'lambda:InvokeFunction',
                Effect: 'Allow',
                Resource: { 'Fn::GetAtt': [Match.stringLikeRegexp('^LimiterAuthorizerHandler'), 'Arn'] },
              },
            ],
          },
        },
      ],
    })
  })

  it('outlives a deletion that the guard refuses', () => {
    const { stack, limiter } = limited({ invokeRole: true })
    limiter.protect(restApi(stack).api)
    const [[, { DependsOn }]] = resourcesIn(stack, 'Custom::SluiceDeletionGuard') as [ReturnType<typeof resourcesIn>[0]]
    expect(DependsOn).toContainEqual(expect.stringMatching(/^LimiterInvokeRole/))
  })

  it('is what authorizers of all kinds of APIs have', () => {
    const { stack, limiter } = limited({ invokeRole: true })
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api)
    const connect = { integration: new WebSocketMockIntegration('I') }
    limiter.protect(new WebSocketApi(stack, 'Chat', { connectRouteOptions: connect }))
    limiter.attachTo(RestApi.fromRestApiId(stack, 'Shop', 'a1b2c3d4e5'), { stageName: 'prod' })
    const arn = { 'Fn::GetAtt': [expect.stringMatching(/^LimiterInvokeRole/), 'Arn'] }
    for (const [, { Properties }] of resourcesIn(stack, 'AWS::ApiGatewayV2::Authorizer'))
      expect(Properties.AuthorizerCredentialsArn).toEqual(arn)
    for (const [, { Properties }] of resourcesIn(stack, 'AWS::ApiGateway::Authorizer'))
      expect(Properties.AuthorizerCredentials).toEqual(arn)
    expect(permissionsIn(stack)).toEqual([])
  })

  it('is no role at all where nobody asks for it: each authorizer has a permission of its own', () => {
    const { own, stacks } = manyApis(3, 2)
    expect(stacks.flatMap((stack) => permissionsIn(stack))).toHaveLength(3)
    expect(resourcesIn(own, 'AWS::IAM::Role').filter(([id]) => id.includes('InvokeRole'))).toEqual([])
  })

  it('is named by a warning before Lambda takes no more permissions, and by an error after that', () => {
    expect(printedFor(manyApis(40, 50).own, 'warning')).toEqual([])
    expect(printedFor(manyApis(41, 50).own, 'warning')).toEqual([
      expect.stringMatching(/^41 protected APIs have a permission each.*\[ack: sluice:invokeRole\]/),
    ])
    expect(() => manyApis(69, 100).app.synth()).toThrow(
      'invokeRole must be true for more than 68 protected APIs, got 69: Lambda takes 20 KB of permissions',
    )
  })
})
