import { Match, Template } from 'aws-cdk-lib/assertions'
import { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { WebSocketMockIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { httpApi, limited, resourcesIn, restApi } from './apis'
import { manyApis, permissionsIn } from './many-apis'

describe('invokeRole', () => {
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
})
