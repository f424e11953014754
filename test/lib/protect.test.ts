import { App, Duration, Stack } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import {
  AuthorizationType,
  type CfnMethod,
  Cors,
  MockIntegration,
  RequestAuthorizer,
  ResponseType,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway'
import {
  CfnIntegration,
  HttpApi,
  HttpMethod,
  type IHttpRouteAuthorizer,
  WebSocketApi,
} from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer, HttpLambdaAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpUrlIntegration, WebSocketMockIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'

function setUp(props: RateLimiterProps = {}) {
  const app = new App()
  const stack = new Stack(app, 'Stack')
  return { app, stack, limiter: new RateLimiter(stack, 'Limiter', props) }
}

const deploymentOf = (template: Template) => Object.keys(template.findResources('AWS::ApiGateway::Deployment'))[0]
const errorsIn = (stack: Stack) =>
  Annotations.fromStack(stack)
    .findError('*', Match.anyValue())
    .map(({ entry }) => String(entry.data))

describe('a REST API', () => {
  function restApi(stack: Stack) {
    const api = new RestApi(stack, 'Api', {
      cloudWatchRole: false,
      defaultCorsPreflightOptions: { allowOrigins: Cors.ALL_ORIGINS },
    })
    return { api, get: api.root.addMethod('GET') }
  }

  it('is protected as a whole, methods added later included, preflights excluded', () => {
    const { stack, limiter } = setUp()
    const { api } = restApi(stack)
    limiter.protect(api)
    api.root.addResource('later').addMethod('POST')
    const types = Object.values(Template.fromStack(stack).findResources('AWS::ApiGateway::Method')).map(
      ({ Properties }) => [Properties.HttpMethod, Properties.AuthorizationType],
    )
    expect(types.sort()).toEqual([
      ['GET', 'CUSTOM'],
      ['OPTIONS', 'NONE'],
      ['OPTIONS', 'NONE'],
      ['POST', 'CUSTOM'],
    ])
  })

  it('can be protected method by method', () => {
    const { stack, limiter } = setUp()
    const { api, get } = restApi(stack)
    const health = api.root.addMethod('HEAD')
    limiter.protect(api, { methods: [get] })
    Template.fromStack(stack)
    expect([get, health].map(({ node }) => (node.defaultChild as CfnMethod).authorizationType)).toEqual([
      'CUSTOM',
      'NONE',
    ])
  })

  it('gets an authorizer without caching and without identity sources', () => {
    const { stack, limiter } = setUp()
    limiter.protect(restApi(stack).api)
    Template.fromStack(stack).hasResourceProperties('AWS::ApiGateway::Authorizer', {
      Type: 'REQUEST',
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: Match.absent(),
    })
  })

  it('may call the function through that authorizer only', () => {
    const { stack, limiter } = setUp()
    const { authorizer } = limiter.protect(restApi(stack).api)
    Template.fromStack(stack).hasResourceProperties('AWS::Lambda::Permission', {
      Action: 'lambda:InvokeFunction',
      Principal: 'apigateway.amazonaws.com',
      SourceArn: { 'Fn::Join': ['', Match.arrayWith(['/authorizers/', stack.resolve(authorizer.ref)])] },
    })
  })

  it('answers a denial with a 429 that says when to come back', () => {
    const { stack, limiter } = setUp()
    limiter.protect(restApi(stack).api)
    Template.fromStack(stack).hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: 'ACCESS_DENIED',
      StatusCode: '429',
      ResponseParameters: Match.objectLike({ 'gatewayresponse.header.Retry-After': 'context.authorizer.retryAfter' }),
      ResponseTemplates: { 'application/json': Match.stringLikeRegexp('"policy":"\\$context.authorizer.policy"') },
    })
  })

  it('keeps headers and templates of an existing ACCESS_DENIED response', () => {
    const { stack, limiter } = setUp()
    const { api } = restApi(stack)
    api.addGatewayResponse('Mine', {
      type: ResponseType.ACCESS_DENIED,
      statusCode: '403',
      responseHeaders: { 'Access-Control-Allow-Origin': "'*'", 'Retry-After': "'60'" },
      templates: { 'text/plain': 'no', 'application/json': '{}' },
    })
    limiter.protect(api)
    const template = Template.fromStack(stack)
    template.resourceCountIs('AWS::ApiGateway::GatewayResponse', 1)
    template.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      StatusCode: '429',
      ResponseParameters: Match.objectLike({
        'gatewayresponse.header.Access-Control-Allow-Origin': "'*'",
        'gatewayresponse.header.Retry-After': 'context.authorizer.retryAfter',
      }),
      ResponseTemplates: { 'text/plain': 'no', 'application/json': Match.stringLikeRegexp('Too Many Requests') },
    })
  })

  it('keeps the headers of DEFAULT_4XX on denials', () => {
    const { stack, limiter } = setUp()
    const { api } = restApi(stack)
    limiter.protect(api)
    api.addGatewayResponse('Cors', {
      type: ResponseType.DEFAULT_4XX,
      responseHeaders: { 'Access-Control-Allow-Origin': "'https://a.example'" },
    })
    Template.fromStack(stack).hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: 'ACCESS_DENIED',
      ResponseParameters: Match.objectLike({
        'gatewayresponse.header.Access-Control-Allow-Origin': "'https://a.example'",
        'gatewayresponse.header.RateLimit': 'context.authorizer.rateLimit',
      }),
    })
  })

  it('has each header once, however an existing response spells it', () => {
    const { stack, limiter } = setUp()
    const { api } = restApi(stack)
    api.addGatewayResponse('Mine', { type: ResponseType.ACCESS_DENIED, responseHeaders: { 'retry-after': "'60'" } })
    limiter.protect(api)
    api.addGatewayResponse('Others', {
      type: ResponseType.DEFAULT_4XX,
      responseHeaders: { ratelimit: "'none'", 'x-own': "'1'" },
    })
    const [denied] = Object.values(Template.fromStack(stack).findResources('AWS::ApiGateway::GatewayResponse')).filter(
      ({ Properties }) => Properties.ResponseType === 'ACCESS_DENIED',
    )
    const names = Object.keys(denied!.Properties.ResponseParameters).map((name) => name.split('.')[2]!)
    expect(names.map((name) => name.toLowerCase())).toEqual([...new Set(names.map((name) => name.toLowerCase()))])
    expect(names).toEqual(expect.arrayContaining(['Retry-After', 'RateLimit', 'x-own']))
    expect(denied!.Properties.ResponseParameters['gatewayresponse.header.Retry-After']).toBe(
      'context.authorizer.retryAfter',
    )
  })

  it('reports a second ACCESS_DENIED response, which CloudFormation would refuse', () => {
    const { app, stack, limiter } = setUp()
    const { api } = restApi(stack)
    limiter.protect(api)
    api.addGatewayResponse('Late', { type: ResponseType.ACCESS_DENIED })
    expect(() => app.synth()).toThrow('add yours before protect()')
  })

  it('is deployed again when protection is added or changes', () => {
    const deployments = [undefined, {}, { some: true }].map((options) => {
      const { stack, limiter } = setUp()
      const { api, get } = restApi(stack)
      api.root.addMethod('PUT')
      if (options) limiter.protect(api, 'some' in options ? { methods: [get] } : {})
      return deploymentOf(Template.fromStack(stack))
    })
    expect(new Set(deployments).size).toBe(3)
  })

  it('keeps the authorization of a method: protect() refuses to replace it', () => {
    const { stack, limiter } = setUp()
    const { api } = restApi(stack)
    const admin = api.root.addMethod('DELETE', undefined, { authorizationType: AuthorizationType.IAM })
    limiter.protect(api)
    expect(errorsIn(stack)).toEqual([expect.stringContaining('already has authorization AWS_IAM')])
    expect((admin.node.defaultChild as CfnMethod).authorizationType).toBe('AWS_IAM')
  })

  it('can be protected from another stack without a circular dependency', () => {
    const app = new App()
    const limiter = new RateLimiter(new Stack(app, 'Limits'), 'Limiter')
    const stack = new Stack(app, 'Api')
    limiter.protect(restApi(stack).api)
    expect(() => app.synth()).not.toThrow()
    expect(limiter.node.scope).not.toBe(stack)
    expect(stack.dependencies).toEqual([limiter.node.scope])
  })

  it('must have methods, be protected once and be made in this app', () => {
    const { app, stack, limiter } = setUp()
    const mock = new RestApi(stack, 'Api', { cloudWatchRole: false })
    mock.root.addMethod('OPTIONS', new MockIntegration())
    limiter.protect(mock)
    expect(() => limiter.protect(mock)).toThrow('got Stack/Api again')
    expect(() => app.synth()).toThrow('protect() needs an API with methods')
    expect(() => limiter.protect(RestApi.fromRestApiId(stack, 'Imported', 'abc') as never)).toThrow('use attachTo()')
  })
})

describe('an imported REST API', () => {
  const importedInto = (stack: Stack) =>
    RestApi.fromRestApiAttributes(stack, 'Shop', { restApiId: 'a1b2c3d4e5', rootResourceId: 'f6g7h8' })

  it('gets an authorizer without caching and identity sources that may call the function, and whose id is an output', () => {
    const { stack, limiter } = setUp()
    const { authorizerId } = limiter.attachTo(importedInto(stack), { stageName: 'prod' })
    const template = Template.fromStack(stack)
    template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
      RestApiId: 'a1b2c3d4e5',
      Type: 'REQUEST',
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: Match.absent(),
    })
    const [logicalId] = Object.keys(template.findResources('AWS::ApiGateway::Authorizer'))
    expect(stack.resolve(authorizerId)).toEqual({ Ref: logicalId })
    template.hasResourceProperties('AWS::Lambda::Permission', {
      SourceArn: { 'Fn::Join': ['', Match.arrayWith([':a1b2c3d4e5/authorizers/', { Ref: logicalId }])] },
    })
  })

  it('answers a denial with a 429, unless another template already defines the response', () => {
    for (const gatewayResponse of [undefined, false]) {
      const { stack, limiter } = setUp()
      const made = limiter.attachTo(importedInto(stack), { stageName: 'prod', gatewayResponse })
      const template = Template.fromStack(stack)
      template.resourceCountIs('AWS::ApiGateway::GatewayResponse', gatewayResponse === false ? 0 : 1)
      expect(made.gatewayResponse?.statusCode).toBe(gatewayResponse === false ? undefined : '429')
    }
  })

  it('is deployed after all its resources, and keeps a deployment that the stage may use', () => {
    const { stack, limiter } = setUp()
    limiter.attachTo(importedInto(stack), { stageName: 'prod' })
    const template = Template.fromStack(stack)
    const [authorizer] = Object.keys(template.findResources('AWS::ApiGateway::Authorizer'))
    const [response] = Object.keys(template.findResources('AWS::ApiGateway::GatewayResponse'))
    template.hasResource('AWS::ApiGateway::Deployment', {
      Properties: { RestApiId: 'a1b2c3d4e5', StageName: 'prod' },
      DependsOn: Match.arrayWith([authorizer, response].sort()),
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
    })
  })

  it('is deployed again only when its resources change or on request', () => {
    const deployed = [{}, {}, { redeploy: '2' }, { gatewayResponse: false }, { stageName: 'test' }].map((options) => {
      const { stack, limiter } = setUp()
      limiter.attachTo(importedInto(stack), { stageName: 'prod', ...options })
      return deploymentOf(Template.fromStack(stack))
    })
    expect(deployed[1]).toBe(deployed[0])
    expect(new Set(deployed).size).toBe(4)
  })

  it('is protected at methods that this app adds to it, before the deployment', () => {
    for (const some of [false, true]) {
      const { stack, limiter } = setUp()
      const api = importedInto(stack)
      const get = api.root.addMethod('GET')
      limiter.attachTo(api, { stageName: 'prod', methods: some ? [get] : undefined })
      const later = [api.root.addMethod('POST'), api.root.addMethod('OPTIONS')]
      const template = Template.fromStack(stack)
      const types = [get, ...later].map(({ node }) => (node.defaultChild as CfnMethod).authorizationType)
      expect(types).toEqual(['CUSTOM', some ? 'NONE' : 'CUSTOM', 'NONE'])
      template.hasResource('AWS::ApiGateway::Deployment', {
        DependsOn: Match.arrayWith([stack.getLogicalId(get.node.defaultChild as CfnMethod)]),
      })
    }
  })

  it('causes a warning if its methods are defined in another template', () => {
    const { stack, limiter } = setUp()
    limiter.attachTo(importedInto(stack), { stageName: 'prod' })
    const warnings = Annotations.fromStack(stack).findWarning('*', Match.anyValue())
    const [warning, ...others] = warnings.filter(
      ({ entry }) => !String(entry.data).includes('sluice:reservedConcurrency'),
    )
    expect(others).toEqual([])
    expect(String(warning!.entry.data)).toMatch(/Stack\/Shop .*this authorizerId.*\[ack: sluice:attachTo-methods\]/)
  })

  it('can be attached once, and must not be made in this app', () => {
    const { stack, limiter } = setUp()
    const api = RestApi.fromRestApiId(stack, 'ById', 'a1b2c3d4e5')
    limiter.attachTo(api, { stageName: 'prod' })
    expect(() => limiter.attachTo(api, { stageName: 'test' })).toThrow('got Stack/ById again')
    expect(() => limiter.attachTo(new RestApi(stack, 'Api'), { stageName: 'prod' })).toThrow(
      'attachTo() needs an imported REST API, got Stack/Api, which is made in this app: use protect()',
    )
  })
})

describe('an HTTP API', () => {
  function httpApi(stack: Stack) {
    const api = new HttpApi(stack, 'Api')
    const integration = (path: string) => new HttpUrlIntegration(path, `https://example.com/${path}`)
    const add = (path: string, method = HttpMethod.GET, authorizer?: IHttpRouteAuthorizer) =>
      api.addRoutes({ path: `/${path}`, methods: [method], integration: integration(path), authorizer })[0]!
    return { api, add }
  }
  const routesIn = (stack: Stack) =>
    Object.fromEntries(
      Object.values(Template.fromStack(stack).findResources('AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
        Properties.RouteKey,
        Properties.AuthorizationType,
      ]),
    )
  const mappingsIn = (stack: Stack) =>
    Object.fromEntries(
      Object.values(Template.fromStack(stack).findResources('AWS::ApiGatewayV2::Integration')).map(({ Properties }) => [
        Properties.IntegrationUri,
        Properties.ResponseParameters,
      ]),
    )

  it('is protected as a whole, without caching', () => {
    const { stack, limiter } = setUp()
    const { api, add } = httpApi(stack)
    add('before')
    limiter.protect(api)
    add('after')
    add('after', HttpMethod.OPTIONS)
    expect(routesIn(stack)).toEqual({ 'GET /before': 'CUSTOM', 'GET /after': 'CUSTOM', 'OPTIONS /after': 'NONE' })
    Template.fromStack(stack).hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'REQUEST',
      AuthorizerPayloadFormatVersion: '2.0',
      EnableSimpleResponses: true,
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: [],
    })
  })

  it('can be protected route by route, and maps headers there only', () => {
    const { stack, limiter } = setUp()
    const { api, add } = httpApi(stack)
    const routes = [add('a')]
    add('b')
    limiter.protect(api, { routes })
    expect(routesIn(stack)).toEqual({ 'GET /a': 'CUSTOM', 'GET /b': 'NONE' })
    expect(mappingsIn(stack)).toEqual({
      'https://example.com/a': expect.anything(),
      'https://example.com/b': undefined,
    })
  })

  it('adds rate-limit headers to responses, in addition to existing mappings', () => {
    const { stack, limiter } = setUp()
    const { api, add } = httpApi(stack)
    const route = add('a')
    const own = [
      { Destination: 'append:header.X-Own', Source: "'1'" },
      { Destination: 'remove:header.ratelimit', Source: "''" },
    ]
    limiter.protect(api)
    const integration = route.node.findAll().find((node): node is CfnIntegration => node instanceof CfnIntegration)!
    integration.responseParameters = { 200: { ResponseParameters: own }, 299: { ResponseParameters: own } }
    const mapping = mappingsIn(stack)['https://example.com/a']
    const added = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit-Policy']
    expect(mapping['200'].ResponseParameters.slice(0, 2)).toEqual(own)
    expect(
      mapping['200'].ResponseParameters.slice(2).map(({ Destination }: { Destination: string }) => Destination),
    ).toEqual(added.map((name) => `overwrite:header.${name}`))
    expect(mapping['404'].ResponseParameters).toContainEqual({
      Destination: 'overwrite:header.X-RateLimit-Remaining',
      Source: '$context.authorizer.remaining',
    })
    expect(mapping['299'].ResponseParameters).toEqual(own)
  })

  it('maps no headers if the backends answer 429', () => {
    const { stack, limiter } = setUp({ denials: 'backend-429' })
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api)
    expect(mappingsIn(stack)).toEqual({ 'https://example.com/a': undefined })
    Template.fromStack(stack).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ SLUICE_DENIALS: 'backend' }) },
    })
  })

  it('keeps the authorization of a route: protect() refuses to replace it', () => {
    const { stack, limiter } = setUp()
    const { api, add } = httpApi(stack)
    add('admin', HttpMethod.GET, new HttpIamAuthorizer())
    limiter.protect(api)
    expect(errorsIn(stack)).toEqual([expect.stringContaining('already has authorization AWS_IAM')])
  })

  it('must have routes', () => {
    const { app, stack, limiter } = setUp()
    limiter.protect(httpApi(stack).api)
    expect(() => app.synth()).toThrow('protect() needs an API with routes')
  })
})

describe('a WebSocket API', () => {
  it('is protected at $connect only', () => {
    const { stack, limiter } = setUp()
    const integration = new WebSocketMockIntegration('Mock')
    const api = new WebSocketApi(stack, 'Api', {
      connectRouteOptions: { integration },
      defaultRouteOptions: { integration },
    })
    limiter.protect(api)
    const template = Template.fromStack(stack)
    template.hasResourceProperties('AWS::ApiGatewayV2::Route', {
      RouteKey: '$connect',
      AuthorizationType: 'CUSTOM',
      AuthorizerId: Match.anyValue(),
    })
    template.hasResourceProperties('AWS::ApiGatewayV2::Route', { RouteKey: '$default', AuthorizerId: Match.absent() })
    template.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', { AuthorizerType: 'REQUEST', IdentitySource: [] })
  })

  it('must have a $connect route', () => {
    const { app, stack, limiter } = setUp()
    limiter.protect(new WebSocketApi(stack, 'Api'))
    expect(() => app.synth()).toThrow('protect() needs an API with a $connect route')
  })
})

describe('a hand-made authorizer with Sluice’s function', () => {
  it.each([
    ['as it comes', undefined, 300],
    ['with a second', Duration.seconds(1), 1],
  ])('may not cache decisions: REST, %s', (_, resultsCacheTtl, seconds) => {
    const { app, stack, limiter } = setUp()
    const identitySources = ['method.request.header.Authorization']
    const authorizer = new RequestAuthorizer(stack, 'Mine', {
      handler: limiter.handler,
      identitySources,
      resultsCacheTtl,
    })
    new RestApi(stack, 'Api', { cloudWatchRole: false }).root.addMethod('GET', undefined, { authorizer })
    expect(() => app.synth()).toThrow(
      `resultsCacheTtl must be 0, got ${seconds} seconds (Stack/Mine/Resource): API Gateway would answer from its cache`,
    )
  })

  it('may not cache decisions: HTTP', () => {
    const { app, stack, limiter } = setUp()
    const integration = new HttpUrlIntegration('I', 'https://example.com')
    new HttpApi(stack, 'Api', {
      defaultIntegration: integration,
      defaultAuthorizer: new HttpLambdaAuthorizer('Mine', limiter.handler),
    })
    expect(() => app.synth()).toThrow('resultsCacheTtl must be 0, got 300 seconds')
  })

  it('is accepted without a cache, and other authorizers may cache', () => {
    const { app, stack, limiter } = setUp()
    const integration = new HttpUrlIntegration('I', 'https://example.com')
    const mine = new HttpLambdaAuthorizer('Mine', limiter.handler, {
      resultsCacheTtl: Duration.seconds(0),
      identitySource: [],
    })
    new HttpApi(stack, 'Api', { defaultIntegration: integration, defaultAuthorizer: mine })
    const other = new RateLimiter(new Stack(app, 'Other'), 'Limiter')
    expect(other.node.validate()).toEqual([])
    expect(() => app.synth()).not.toThrow()
  })
})
