import { Aspects, type IAspect, Stack } from 'aws-cdk-lib'
import {
  AuthorizationType,
  CfnMethod,
  CognitoUserPoolsAuthorizer,
  MockIntegration,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway'
import { CfnRoute, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { UserPool } from 'aws-cdk-lib/aws-cognito'
import { Construct } from 'constructs'
import { authorizationIn, httpApi, limited, printedFor, resourcesIn, restApi } from './apis'

const IAM = { authorizationType: AuthorizationType.IAM }
const skippedIn = (stack: Stack, type: string) =>
  resourcesIn(stack, type).flatMap(
    ([, { Metadata }]) => (Metadata as Record<string, unknown>)?.['sluice:skipped'] ?? [],
  )

describe('protect(api, { skipAuthorized: true })', () => {
  it('leaves methods with Cognito or IAM as they are, and limits the others, those that come later too', () => {
    const { stack, limiter } = limited()
    const { api } = restApi(stack)
    const authorizer = new CognitoUserPoolsAuthorizer(stack, 'Pool', { cognitoUserPools: [new UserPool(stack, 'P')] })
    api.root.addMethod('PUT', undefined, { authorizer })
    limiter.protect(api, { skipAuthorized: true })
    api.root.addMethod('POST')
    api.root.addMethod('DELETE', undefined, IAM)
    expect(authorizationIn(stack)).toEqual({
      'GET /': 'CUSTOM',
      'GET /orders/{id}': 'CUSTOM',
      'PUT /': 'COGNITO_USER_POOLS',
      'POST /': 'CUSTOM',
      'DELETE /': 'AWS_IAM',
    })
    expect(printedFor(stack, 'error')).toEqual([])
  })

  it('prints at synth what is left out, and keeps it as metadata', () => {
    const { stack, limiter } = limited()
    const { api } = restApi(stack)
    limiter.protect(api, { skipAuthorized: true, except: ['GET /orders/{id}'] })
    api.root.addMethod('DELETE', undefined, IAM)
    expect(printedFor(stack, 'info')).toEqual([
      expect.stringContaining(
        'protect() leaves 2 of 3 methods of Stack/Api as they are, without limits: GET /orders/{id} (except), DELETE / (AWS_IAM)' +
          '; what their own authorizers deny is a 429 now, the one answer of a REST API for denials',
      ),
    ])
    expect(skippedIn(stack, 'AWS::ApiGateway::Authorizer')).toEqual([
      { route: 'GET /orders/{id}', because: 'except' },
      { route: 'DELETE /', because: 'AWS_IAM' },
    ])
  })

  it('does the same for routes of an HTTP API', () => {
    const { stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api, { skipAuthorized: true })
    add('admin', HttpMethod.GET, new HttpIamAuthorizer())
    expect(authorizationIn(stack)).toEqual({ 'GET /a': 'CUSTOM', 'GET /admin': 'AWS_IAM' })
    expect(printedFor(stack, 'info')).toEqual([expect.stringContaining('1 of 2 routes of Stack/Api')])
    expect(skippedIn(stack, 'AWS::ApiGatewayV2::Authorizer')).toEqual([{ route: 'GET /admin', because: 'AWS_IAM' }])
  })

  it('prints nothing and keeps no metadata where nothing is left out', () => {
    const { stack, limiter } = limited()
    limiter.protect(restApi(stack).api, { skipAuthorized: true })
    expect(printedFor(stack, 'info')).toEqual([])
    expect(skippedIn(stack, 'AWS::ApiGateway::Authorizer')).toEqual([])
  })

  it('is an error where it leaves nothing to protect', () => {
    const { app, stack, limiter } = limited()
    const api = new RestApi(stack, 'Api', { cloudWatchRole: false })
    api.root.addMethod('GET', undefined, IAM)
    limiter.protect(api, { skipAuthorized: true })
    expect(() => app.synth()).toThrow('except and skipAuthorized leave all 1 methods of Stack/Api out')
  })
})

describe('protect(api, { except })', () => {
  it('leaves out the methods that it names, also one that is added later', () => {
    const { stack, limiter } = limited()
    const { api } = restApi(stack)
    limiter.protect(api, { except: ['GET /health', 'ANY /files/{proxy+}', 'GET /'] })
    api.root.addResource('health').addMethod('GET')
    api.root.addResource('files').addProxy()
    expect(authorizationIn(stack)).toEqual({
      'GET /': 'NONE',
      'GET /orders/{id}': 'CUSTOM',
      'GET /health': 'NONE',
      'ANY /files/{proxy+}': 'NONE',
    })
  })

  it('leaves out routes of an HTTP API, $default too', () => {
    const { stack, limiter } = limited()
    const { api, add } = httpApi(stack, {
      defaultIntegration: new HttpUrlIntegration('Fallback', 'https://example.com'),
    })
    limiter.protect(api, { except: ['GET /health', '$default'] })
    add('health')
    add('a')
    expect(authorizationIn(stack)).toEqual({ 'GET /health': 'NONE', $default: 'NONE', 'GET /a': 'CUSTOM' })
  })

  it.each(['GET /helth', 'get /', 'GET /orders', 'GET', '/'])(
    '%p, which nothing has, is an error that says what there is',
    (name) => {
      const { app, stack, limiter } = limited()
      limiter.protect(restApi(stack).api, { except: ['GET /', name] })
      expect(() => app.synth()).toThrow(
        `except must name methods or routes of the API, got "${name}", wanted one of: GET /, GET /orders/{id}`,
      )
    },
  )

  it('is an error for an HTTP API that has no such route', () => {
    const { app, stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api, { except: ['GET /b'] })
    expect(() => app.synth()).toThrow('got "GET /b", wanted one of: GET /a')
  })

  it('excludes the prop that names what is protected, and both are named', () => {
    const { stack, limiter } = limited()
    const { api, get } = restApi(stack)
    expect(() => limiter.protect(api, { methods: [get], except: ['GET /'] })).toThrow(
      'methods and except exclude each other, got both (Stack/Api)',
    )
    const http = httpApi(new Stack(stack, 'Other'))
    expect(() => limiter.protect(http.api, { routes: [], except: [] })).toThrow('routes and except exclude each other')
  })

  it('lets an API be protected after a call that was refused', () => {
    const { stack, limiter } = limited()
    const { api, get } = restApi(stack)
    expect(() => limiter.protect(api, { methods: [get], except: ['GET /'], as: 'shop' })).toThrow('exclude')
    limiter.protect(api, { except: ['GET /'], as: 'shop' })
    expect(authorizationIn(stack)).toEqual({ 'GET /': 'NONE', 'GET /orders/{id}': 'CUSTOM' })
  })

  it('holds for attachTo(), too', () => {
    const { stack, limiter } = limited()
    const api = RestApi.fromRestApiAttributes(stack, 'Shop', { restApiId: 'a1b2c3d4e5', rootResourceId: 'f6g7h8' })
    limiter.attachTo(api, { stageName: 'prod', except: ['GET /health'] })
    api.root.addResource('health').addMethod('GET')
    api.root.addResource('orders').addMethod('GET')
    expect(authorizationIn(stack)).toEqual({ 'GET /health': 'NONE', 'GET /orders': 'CUSTOM' })
  })
})

describe('an authorizer that something changes after protect()', () => {
  const forced = (change: (route: CfnMethod | CfnRoute) => void): IAspect => ({
    visit: (node) => {
      if (node instanceof CfnMethod || node instanceof CfnRoute) change(node)
    },
  })

  const toIam = (route: CfnMethod | CfnRoute) => {
    route.authorizationType = 'AWS_IAM'
  }
  const toTheirs = (route: CfnMethod | CfnRoute) => {
    route.authorizerId = 'theirs'
  }

  it.each([
    ['sets AWS_IAM', toIam, '"AWS_IAM"'],
    ['overrides it', (route: CfnMethod | CfnRoute) => route.addPropertyOverride('AuthorizationType', 'NONE'), '"NONE"'],
    ['names another one', toTheirs, 'another authorizer'],
  ] as const)('fails the synth: an aspect that %s', (_, change, now) => {
    const { app, stack, limiter } = limited()
    limiter.protect(restApi(stack).api)
    Aspects.of(app).add(forced(change))
    expect(() => app.synth()).toThrow(/gave the method GET \/ its authorizer/)
    expect(() => app.synth()).toThrow(now)
  })

  it('fails the synth of an HTTP API', () => {
    const { app, stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api)
    Aspects.of(app).add(forced(toIam))
    expect(() => app.synth()).toThrow('gave the route GET /a its authorizer')
  })

  it('fails the synth for a method that an aspect adds after all were seen', () => {
    const { app, stack, limiter } = limited()
    const { api } = restApi(stack)
    limiter.protect(api)
    Aspects.of(new Construct(stack, 'Last')).add({ visit: () => void api.root.addMethod('PUT', new MockIntegration()) })
    expect(() => app.synth({ aspectStabilization: false })).toThrow(/did not see the method PUT \/ \(Stack\/Api/)
  })
})

describe('methods and routes that another stack adds', () => {
  it('to a protected REST API cause a warning that names them', () => {
    const { app, stack, limiter } = limited()
    const { api } = restApi(stack)
    limiter.protect(api, { except: ['GET /health'] })
    const other = new Stack(app, 'Other')
    const imported = RestApi.fromRestApiAttributes(other, 'Api', {
      restApiId: api.restApiId,
      rootResourceId: api.restApiRootResourceId,
    })
    imported.root.addResource('late').addMethod('GET')
    imported.root.addResource('health').addMethod('GET')
    imported.root.addResource('iam').addMethod('GET', undefined, IAM)
    expect(printedFor(stack, 'warning')).toEqual([
      expect.stringMatching(
        /does not limit methods that other stacks add to Stack\/Api: GET \/late \(Other\/Api.*\[ack: sluice:other-stack\]/,
      ),
    ])
  })

  it('to a protected HTTP API cause the same', () => {
    const { app, stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api)
    const other = new Stack(app, 'Other')
    const imported = HttpApi.fromHttpApiAttributes(other, 'Api', { httpApiId: api.apiId })
    new CfnRoute(other, 'Late', { apiId: imported.apiId, routeKey: 'GET /late' })
    expect(printedFor(stack, 'warning')).toEqual([expect.stringContaining('GET /late (Other/Late)')])
  })

  it('to an API that is imported by its id in two stacks cause the same', () => {
    const { app, stack, limiter } = limited()
    const attributes = { restApiId: 'a1b2c3d4e5', rootResourceId: 'f6g7h8' }
    limiter.attachTo(RestApi.fromRestApiAttributes(stack, 'Shop', attributes), { stageName: 'prod' })
    const other = new Stack(app, 'Other')
    RestApi.fromRestApiAttributes(other, 'Shop', attributes).root.addMethod('GET')
    expect(printedFor(stack, 'warning')).toContainEqual(expect.stringContaining('GET / (Other/Shop'))
  })
})
