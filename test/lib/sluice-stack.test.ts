import { App } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import { SluiceStack } from '../../lib/sluice-stack'

describe('the stack', () => {
  const stack = new SluiceStack(new App(), 'Sluice')
  const template = Template.fromStack(stack)

  it('never lets API Gateway cache a decision, nor ask for an identity before the function does', () => {
    template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
      Type: 'REQUEST',
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: '', // how the CDK says none
    })
  })

  it('asks the authorizer on every method', () => {
    const methods = Object.values(template.findResources('AWS::ApiGateway::Method'))
    expect(methods.length).toBeGreaterThan(0)
    for (const { Properties } of methods) {
      expect(Properties).toMatchObject({ AuthorizationType: 'CUSTOM', AuthorizerId: expect.anything() })
    }
  })

  it('turns a denial into a 429 that says when to come back', () => {
    template.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: 'ACCESS_DENIED',
      StatusCode: '429',
      ResponseParameters: Match.objectLike({ 'gatewayresponse.header.Retry-After': 'context.authorizer.retryAfter' }),
      ResponseTemplates: { 'application/json': Match.stringLikeRegexp('"policy":"\\$context.authorizer.policy"') },
    })
  })

  it('lets the function change single items of its state, read its configuration, and nothing else', () => {
    const statements = Object.values(template.findResources('AWS::IAM::Policy')).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    )
    expect(statements.map(({ Action }) => Action)).toEqual([
      ['dynamodb:UpdateItem', 'dynamodb:GetItem'],
      ['dynamodb:GetItem', 'dynamodb:Query'],
    ])
    for (const { Resource } of statements) expect(JSON.stringify(Resource)).not.toContain('*')
  })

  it('forgets state after its time, and keeps the configuration when the stack goes', () => {
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Delete',
      Properties: Match.objectLike({
        TimeToLiveSpecification: { AttributeName: 'exp', Enabled: true },
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      }),
    })
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Retain',
      Properties: Match.objectLike({ TimeToLiveSpecification: Match.absent() }),
    })
  })

  it('raises no warning', () => Annotations.fromStack(stack).hasNoWarning('*', Match.anyValue()))
})
