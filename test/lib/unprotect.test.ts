import { Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { CfnMethod, MockIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { CfnIntegration, CfnRoute, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { RateLimiter } from '../../lib/index'
import { limited } from './apis'

const propertiesOf = (stack: Stack, type: string) =>
  Object.values(Template.fromStack(stack).findResources(type)).map(({ Properties }) => Properties)

/** An HTTP API with a route of each level, and an integration with a mapping of its own. */
function httpApi(stack: Stack) {
  const api = new HttpApi(stack, 'Api')
  const [route] = api.addRoutes({
    path: '/l2',
    methods: [HttpMethod.GET],
    integration: new HttpUrlIntegration('Url', 'https://example.com'),
  })
  const { target } = route!.node.defaultChild as CfnRoute
  new CfnRoute(stack, 'L1', { apiId: api.apiId, routeKey: 'GET /l1', target })
  const integration = stack.node.findAll().find((one) => one instanceof CfnIntegration)!
  const own = { ResponseParameters: [{ Destination: 'append:header.X-Zoo', Source: '1' }] }
  integration.responseParameters = { 200: own }
  return { api, own }
}

describe('unprotect() in the place of protect()', () => {
  it('says of each route that it has no authorizer, also where the app does not say it', () => {
    const stack = new Stack()
    const { api } = httpApi(stack)
    RateLimiter.unprotect(api)
    const routes = propertiesOf(stack, 'AWS::ApiGatewayV2::Route')
    expect(routes.map(({ RouteKey, AuthorizationType }) => [RouteKey, AuthorizationType]).sort()).toEqual([
      ['GET /l1', 'NONE'],
      ['GET /l2', 'NONE'],
    ])
  })

  it('empties the mappings that protect() made, by the same statuses, and keeps those of the app', () => {
    const stack = new Stack()
    const { api, own } = httpApi(stack)
    RateLimiter.unprotect(api, { mapStatuses: [200, 422] })
    const [{ ResponseParameters }] = propertiesOf(stack, 'AWS::ApiGatewayV2::Integration') as [
      { ResponseParameters: unknown },
    ]
    expect(ResponseParameters).toEqual({ 200: own, 422: { ResponseParameters: [] } })
  })

  it('says the same of methods of a REST API, and leaves another authorization as it is', () => {
    const stack = new Stack()
    const api = new RestApi(stack, 'Api', { cloudWatchRole: false })
    api.root.addMethod('GET', new MockIntegration())
    const at = { restApiId: api.restApiId, resourceId: api.restApiRootResourceId }
    new CfnMethod(stack, 'Plain', { ...at, httpMethod: 'PUT' })
    new CfnMethod(stack, 'Iam', { ...at, httpMethod: 'POST', authorizationType: 'AWS_IAM' })
    RateLimiter.unprotect(api)
    const methods = propertiesOf(stack, 'AWS::ApiGateway::Method')
    expect(methods.map(({ HttpMethod, AuthorizationType }) => [HttpMethod, AuthorizationType]).sort()).toEqual([
      ['GET', 'NONE'],
      ['POST', 'AWS_IAM'],
      ['PUT', 'NONE'],
    ])
  })

  it('refuses an API that protect() stands in front of, and statuses that no response has', () => {
    const { stack, limiter } = limited()
    const { api } = httpApi(stack)
    expect(() => RateLimiter.unprotect(api, { mapStatuses: [99] })).toThrow(
      'mapStatuses must be integers from 200 to 599, got 99 (Stack/Api)',
    )
    limiter.protect(api)
    expect(() => RateLimiter.unprotect(api)).toThrow('unprotect() replaces protect(), got both (Stack/Api)')
  })
})
