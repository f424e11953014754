import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, Aspects, Lazy, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import {
  ApiDefinition,
  CfnDeployment,
  type CfnRestApi,
  ResponseType,
  type RestApi,
  SpecRestApi,
  type SpecRestApiProps,
} from 'aws-cdk-lib/aws-apigateway'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { Asset } from 'aws-cdk-lib/aws-s3-assets'
import { stringify } from 'yaml'
import { type ProtectSpecRestApiOptions, RateLimiter } from '../../lib/index'
import { limited, printedFor, resourcesIn, waitedForBy } from './apis'

const folder = mkdtempSync(join(tmpdir(), 'sluice-spec-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const METHOD = { responses: {}, 'x-amazon-apigateway-integration': { type: 'mock' } }
const documentWith = (fields: object) => ({ openapi: '3.0.1', info: { title: 'Shop', version: '1' }, ...fields })
const ORDERS = documentWith({ paths: { '/orders': { get: METHOD, options: METHOD } } })

const spec = (stack: Stack, definition: object | ApiDefinition, props: Partial<SpecRestApiProps> = {}) =>
  new SpecRestApi(stack, 'Api', {
    apiDefinition: definition instanceof ApiDefinition ? definition : ApiDefinition.fromInline(definition),
    ...props,
  })

function protectedSpec(definition: object | ApiDefinition, options: ProtectSpecRestApiOptions = {}) {
  const { app, stack, limiter } = limited()
  const api = spec(stack, definition)
  limiter.protect(api, options)
  return { app, stack, limiter, api, ...only(stack) }
}

/** The only REST API of a stack. */
function only(stack: Stack) {
  const [[id, { Properties }], ...more] = resourcesIn(stack, 'AWS::ApiGateway::RestApi') as [
    [string, { Properties: { Body: Body; BodyS3Location?: object } }],
  ]
  expect(more).toEqual([])
  return { id, body: Properties.Body, properties: Properties }
}

interface Body {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: readonly object[] }>>>>
  readonly components: { readonly securitySchemes: Readonly<Record<string, Record<string, unknown>>> }
  readonly 'x-amazon-apigateway-gateway-responses': Readonly<
    Record<string, { statusCode: string; responseParameters: Record<string, string>; responseTemplates: object }>
  >
}

/** The `security` of each operation, by `get /orders`. */
const securityIn = ({ paths }: Pick<Body, 'paths'>) =>
  Object.fromEntries(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { security }]) => [`${method} ${path}`, security]),
    ),
  )
const LIMITED = [{ sluice: [] }]

/** Why a synth refuses a document. */
const refusalOf = (
  definition: object | ApiDefinition,
  options: ProtectSpecRestApiOptions = {},
  then: (made: { api: SpecRestApi; stack: Stack }) => void = () => {},
): string => {
  const { app, stack, limiter } = limited()
  const api = spec(stack, definition)
  limiter.protect(api, options)
  then({ api, stack })
  try {
    app.synth()
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

describe('an OpenAPI document', () => {
  const DOCUMENT = documentWith({
    paths: {
      '/orders/{id}': { parameters: [], get: METHOD, delete: METHOD, options: METHOD },
      '/{proxy+}': { 'x-amazon-apigateway-any-method': METHOD },
    },
    components: { securitySchemes: { api_key: { type: 'apiKey', name: 'x-api-key', in: 'header' } } },
  })
  const { components, ...rest } = DOCUMENT as typeof DOCUMENT & { readonly components: Body['components'] }
  const { openapi: _, ...others } = rest
  const SWAGGER = { swagger: '2.0', ...others, securityDefinitions: components.securitySchemes }
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return ApiDefinition.fromAsset(path)
  }

  describe.each([
    ['OpenAPI 3', DOCUMENT],
    ['Swagger 2', SWAGGER],
  ])('%s', (version, document) => {
    it.each([
      ['inline', () => ApiDefinition.fromInline(document)],
      ['a JSON file', () => file(`${version}.json`, JSON.stringify(document, undefined, '\t'))],
      ['a YAML file', () => file(`${version}.yaml`, stringify(document))],
    ])(
      '%s has the authorizer at each operation, greedy ones too, and none at OPTIONS or the root',
      (__, definition) => {
        const { body, properties, stack } = protectedSpec(definition())
        const { parameters, ...security } = securityIn(body)
        expect(security).toEqual({
          'parameters /orders/{id}': undefined,
          'get /orders/{id}': LIMITED,
          'delete /orders/{id}': LIMITED,
          'options /orders/{id}': undefined,
          'x-amazon-apigateway-any-method /{proxy+}': LIMITED,
        })
        const fields = body as unknown as typeof SWAGGER & typeof DOCUMENT & Body
        const schemes = version === 'Swagger 2' ? fields.securityDefinitions : fields.components.securitySchemes
        expect(schemes).toEqual({
          api_key: components.securitySchemes.api_key,
          sluice: expect.objectContaining({ 'x-amazon-apigateway-authtype': 'custom', type: 'apiKey' }),
        })
        const authorizer = (schemes as Body['components']['securitySchemes']).sluice!['x-amazon-apigateway-authorizer']
        expect(authorizer).toMatchObject({ type: 'request', authorizerResultTtlInSeconds: 0 })
        expect(authorizer).not.toHaveProperty('identitySource')
        expect(fields).not.toHaveProperty('security')
        expect(fields).toMatchObject({ info: document.info })
        expect(properties.BodyS3Location).toBeUndefined()
        expect(body['x-amazon-apigateway-gateway-responses'].ACCESS_DENIED).toMatchObject({
          statusCode: '429',
          responseParameters: { 'gatewayresponse.header.Retry-After': 'context.authorizer.retryAfter' },
        })
        expect(printedFor(stack, 'warning')).toEqual([])
      },
    )
  })

  it('keeps what CloudFormation fills in, also from another stack', () => {
    const { app, stack, limiter } = limited()
    const bucket = new Bucket(new Stack(app, 'Other'), 'Bucket')
    const integration = {
      uri: { 'Fn::Sub': `arn:$${'{AWS::Partition}'}:x` },
      credentials: bucket.bucketArn,
      timeoutInMillis: Lazy.number({ produce: () => 50 }),
      requestParameters: {},
    }
    limiter.protect(
      spec(
        stack,
        documentWith({ paths: { '/': { get: { ...METHOD, 'x-amazon-apigateway-integration': integration } } } }),
      ),
    )
    app.synth()
    expect(only(stack).body.paths['/']!.get).toMatchObject({
      'x-amazon-apigateway-integration': {
        ...integration,
        credentials: { 'Fn::ImportValue': expect.stringContaining('Other:') },
        timeoutInMillis: 50,
      },
    })
  })

  it('is read from the file of an asset, by whatever location it is named', () => {
    const path = join(folder, 'shared.yaml')
    writeFileSync(path, stringify(ORDERS))
    const { stack, limiter } = limited()
    const asset = new Asset(stack, 'File', { path })
    limiter.protect(spec(stack, ApiDefinition.fromBucket(asset.bucket, asset.s3ObjectKey)))
    expect(securityIn(only(stack).body)).toEqual({ 'get /orders': LIMITED, 'options /orders': undefined })
  })

  it('keeps API keys and others’ requirements beside, those of the root too, and drops what makes them optional', () => {
    const { body } = protectedSpec(
      documentWith({
        security: [{ api_key: [] }],
        paths: {
          '/a': { get: METHOD, put: { ...METHOD, security: [{ token: [] }, {}] } },
          '/b': { get: { ...METHOD, security: [], 'x-amazon-apigateway-auth': { type: 'NONE' } }, options: METHOD },
        },
        components: {
          securitySchemes: {
            api_key: { type: 'apiKey', name: 'x-api-key', in: 'header' },
            token: { type: 'http', scheme: 'bearer' },
          },
        },
      }),
    )
    expect(securityIn(body)).toEqual({
      'get /a': [{ api_key: [] }, { sluice: [] }],
      'put /a': [{ token: [] }, { sluice: [] }],
      'get /b': LIMITED, // public, and limited: as a method without authorization of a RestApi
      'options /b': undefined,
    })
    expect(body.paths['/b']!.get).not.toHaveProperty('x-amazon-apigateway-auth')
    expect(body).toMatchObject({ security: [{ api_key: [] }] })
  })

  describe('whose operations have authorizers of their own', () => {
    const OWN = documentWith({
      security: [{ own: [] }],
      paths: {
        '/a': {
          get: { ...METHOD, security: [{ iam: [] }] },
          put: { ...METHOD, security: [], 'x-amazon-apigateway-auth': { type: 'AWS_IAM' } },
          post: { ...METHOD, security: [{ pool: ['read'] }] },
          delete: METHOD,
          patch: { ...METHOD, security: [{ gone: [] }] },
          head: { ...METHOD, security: [] },
        },
      },
      components: {
        securitySchemes: {
          iam: { type: 'apiKey', name: 'Authorization', in: 'header', 'x-amazon-apigateway-authtype': 'awsSigv4' },
          own: { type: 'apiKey', 'x-amazon-apigateway-authorizer': { type: 'token' } },
          pool: { type: 'apiKey', 'x-amazon-apigateway-authorizer': { type: 'cognito_user_pools' } },
        },
      },
    })
    const TYPES = {
      'GET /a': 'AWS_IAM',
      'PUT /a': 'AWS_IAM',
      'POST /a': 'COGNITO_USER_POOLS',
      'DELETE /a': 'CUSTOM',
      'PATCH /a': '"gone", a scheme that the document does not define',
    }

    it('is refused, and each is named', () => {
      const refusal = refusalOf(OWN)
      for (const [name, type] of Object.entries(TYPES))
        expect(refusal).toContain(`${name}: protect() found a method that already has authorization ${type}, and`)
      expect(refusal).not.toContain('HEAD /a')
    })

    it('keeps them by skipAuthorized or except, and prints them', () => {
      const names = Object.keys(TYPES)
      for (const options of [{ skipAuthorized: true }, { except: names }]) {
        const { body, stack } = protectedSpec(OWN, options)
        expect(body.paths['/a']).toEqual({
          ...(OWN as unknown as Body).paths['/a'],
          head: { ...METHOD, security: LIMITED },
        })
        const [printed] = printedFor(stack, 'info')
        expect(printed).toContain('leaves 5 of 6 methods of Stack/Api')
        const { Metadata } = resourcesIn(stack, 'AWS::ApiGateway::RestApi')[0]![1]
        const skipped = names.map((route) => ({ route, because: 'except' in options ? 'except' : expect.any(String) }))
        expect(Metadata).toMatchObject({ 'sluice:skipped': expect.arrayContaining(skipped) })
      }
    })
  })

  it('keeps other headers and bodies of its ACCESS_DENIED and of DEFAULT_4XX, and says what is replaced', () => {
    const responses = (header: string) => ({ responseParameters: { [`gatewayresponse.header.${header}`]: "'own'" } })
    const document = {
      ...ORDERS,
      'x-amazon-apigateway-gateway-responses': {
        ACCESS_DENIED: { statusCode: 403, ...responses('retry-after'), responseTemplates: { 'text/plain': 'no' } },
        DEFAULT_4XX: responses('Access-Control-Allow-Origin'),
        UNAUTHORIZED: { statusCode: 401 },
      },
    }
    const { stack, limiter } = limited()
    const api = spec(stack, document)
    limiter.protect(api)
    api.addGatewayResponse('Cors', { type: ResponseType.DEFAULT_4XX, responseHeaders: { 'x-cors': "'1'" } })
    const { ACCESS_DENIED, ...others } = only(stack).body['x-amazon-apigateway-gateway-responses']
    expect(ACCESS_DENIED!.responseParameters).toMatchObject({
      'gatewayresponse.header.Retry-After': 'context.authorizer.retryAfter',
      'gatewayresponse.header.Access-Control-Allow-Origin': "'own'",
      'gatewayresponse.header.x-cors': "'1'",
    })
    expect(ACCESS_DENIED!.responseParameters).not.toHaveProperty(['gatewayresponse.header.retry-after'])
    expect(ACCESS_DENIED!.responseTemplates).toMatchObject({ 'text/plain': 'no' })
    const { ACCESS_DENIED: _, ...before } = document['x-amazon-apigateway-gateway-responses']
    expect(others).toEqual(before)
    expect(printedFor(stack, 'info')).toEqual([
      expect.stringContaining('denials: statusCode 403, gatewayresponse.header.retry-after'),
    ])
  })

  it('leaves an ACCESS_DENIED response that the app made to it, and refuses one that comes later', () => {
    const { stack, limiter } = limited()
    const api = spec(stack, ORDERS)
    api.addGatewayResponse('Mine', { type: ResponseType.ACCESS_DENIED, responseHeaders: { 'x-mine': "'1'" } })
    limiter.protect(api)
    const { body } = only(stack)
    expect(body['x-amazon-apigateway-gateway-responses']).toBeUndefined()
    Template.fromStack(stack).hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      StatusCode: '429',
      ResponseParameters: Match.objectLike({ 'gatewayresponse.header.x-mine': "'1'" }),
    })
    const [[response]] = resourcesIn(stack, 'AWS::ApiGateway::GatewayResponse') as [[string, object]]
    const [[deployment]] = resourcesIn(stack, 'AWS::ApiGateway::Deployment') as [[string, object]]
    expect(waitedForBy(stack, deployment)).toContain(response)
    expect(
      refusalOf(ORDERS, {}, ({ api }) => api.addGatewayResponse('Late', { type: ResponseType.ACCESS_DENIED })),
    ).toContain('add yours before protect()')
  })
})

describe('the deployment of a protected document', () => {
  it('waits for the permission, for all authorizers of this API alone, the tiers and the label', () => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    limiter.protect(spec(stack, ORDERS), { as: 'shop' })
    const { id } = only(stack)
    const [[deployment]] = resourcesIn(stack, 'AWS::ApiGateway::Deployment') as [[string, object]]
    const [[permission, { Properties }]] = resourcesIn(stack, 'AWS::Lambda::Permission').filter(([name]) =>
      name.startsWith('Api'),
    ) as [[string, { Properties: object }]]
    expect(JSON.stringify(Properties)).toContain(`{"Ref":"${id}"},"/authorizers/*"`)
    const wanted = ['Custom::SluiceTiers', 'Custom::SluiceApiLabel'].map((type) => resourcesIn(stack, type)[0]![0])
    expect(waitedForBy(stack, deployment)).toEqual(expect.arrayContaining([permission, id, ...wanted]))
    expect(waitedForBy(stack, id)).toContain(wanted[0])
  })

  it('needs no permission with a role, which the document names', () => {
    const { stack, limiter } = limited({ invokeRole: true })
    limiter.protect(spec(stack, ORDERS))
    const authorizer = only(stack).body.components.securitySchemes.sluice!['x-amazon-apigateway-authorizer']
    const [[role]] = resourcesIn(stack, 'AWS::IAM::Role').filter(([name]) => name.includes('InvokeRole')) as [
      [string, object],
    ]
    expect(authorizer).toMatchObject({ authorizerCredentials: { 'Fn::GetAtt': [role, 'Arn'] } })
    expect(resourcesIn(stack, 'AWS::Lambda::Permission')).toEqual([])
  })

  it.each([
    ['the CDK’s', undefined],
    [
      'CloudFormation’s',
      (stack: Stack, api: SpecRestApi) => new CfnDeployment(stack, 'Mine', { restApiId: api.restApiId }),
    ],
  ])('is made anew by a changed document, file or protection, and only then (%s)', (_, make) => {
    const ids = (
      [
        [ORDERS, undefined],
        [ORDERS, {}],
        [ORDERS, {}],
        [documentWith({ paths: { '/orders': { get: METHOD, put: METHOD } } }), {}],
        [documentWith({ paths: { '/orders': { get: METHOD, put: METHOD } } }), { except: ['PUT /orders'] }],
      ] as const
    ).map(([document, options]) => {
      const { stack, limiter } = limited()
      const api = spec(stack, document, { deploy: !make })
      make?.(stack, api)
      if (options) limiter.protect(api, options)
      return resourcesIn(stack, 'AWS::ApiGateway::Deployment').map(([id]) => id)
    })
    expect(ids[1]).toEqual(ids[2])
    expect(new Set(ids.flat()).size).toBe(4)
  })

  it('is missed if no deployment is in the app', () => {
    const { stack, limiter } = limited()
    limiter.protect(spec(stack, ORDERS, { deploy: false }))
    expect(printedFor(stack, 'warning')).toEqual([expect.stringContaining('no deployment of Stack/Api')])
  })
})

describe('a document that cannot be protected', () => {
  const FRAGMENT = [
    /securitySchemes:\n +sluice:/,
    /authorizerResultTtlInSeconds: 0/,
    /statusCode: "429"/,
    /security: \[\{ sluice: \[\] \}\]/,
  ]

  it('in a bucket is refused with the fragment to paste, and nothing is made', () => {
    const { stack, limiter } = limited()
    const api = spec(stack, ApiDefinition.fromBucket(Bucket.fromBucketName(stack, 'Bucket', 'documents'), 'api.yaml'))
    for (const part of [/got one in a bucket \(Stack\/Api\)/, ...FRAGMENT])
      expect(() => limiter.protect(api)).toThrow(part)
    expect(api.node.tryFindChild('Sluice')).toBeUndefined()
  })

  it.each([
    ['as a whole', { 'Fn::Transform': { Name: 'AWS::Include', Parameters: { Location: 's3://b/k' } } }, 'the document'],
    ['in part', documentWith({ paths: { '/a': { 'Fn::Transform': { Name: 'AWS::Include' } } } }), 'paths./a'],
  ])('by AWS::Include %s is refused with the fragment to paste', (_, document, place) => {
    const refusal = refusalOf(document)
    expect(refusal).toContain(`${place} is completed by Fn::Transform at deployment`)
    for (const part of FRAGMENT) expect(refusal).toMatch(part)
  })

  it.each([
    [documentWith({ paths: { '/a': { $ref: './a.yaml' } } }), 'paths./a is a $ref, "./a.yaml", which is not followed'],
    [documentWith({ paths: { '/a': { get: null } } }), 'paths./a.get must be an object, got null'],
    [
      documentWith({ paths: { '/a': { get: { security: { 'Fn::If': [] } } } } }),
      'paths./a.get.security is completed by Fn::If at deployment',
    ],
    [documentWith({ paths: { '/a': { get: { security: [{ Ref: 'X' }] } } } }), 'security[0] is completed by Ref'],
    [{ info: {}, paths: {} }, 'the document has neither a field "openapi" nor "swagger"'],
    [documentWith({ paths: {} }), 'protect() needs an API with methods, got one without'],
    [documentWith({ paths: { '/a': { options: METHOD } } }), 'protect() needs an API with methods, got one without'],
    [
      { ...ORDERS, components: { securitySchemes: { sluice: {} } } },
      'the security scheme sluice, and the document has one of that name',
    ],
    [
      documentWith({ paths: { '/a': { get: { ...METHOD, responses: { 200: { example: null } } } } } }),
      'paths./a.get.responses.200.example must have a value, got null',
    ],
  ])('%j is refused', (document, reason) => {
    expect(refusalOf(document)).toContain(reason)
  })

  it('is refused where the file is neither JSON nor YAML', () => {
    const path = join(folder, 'broken.yaml')
    writeFileSync(path, 'openapi: [3')
    const { stack, limiter } = limited()
    expect(() => limiter.protect(spec(stack, ApiDefinition.fromAsset(path)))).toThrow(
      'the document of Stack/Api must be JSON or YAML',
    )
  })

  it('is refused for names that no operation has, and where except leaves none', () => {
    expect(refusalOf(ORDERS, { except: ['GET /order'] })).toContain('got "GET /order", wanted one of: GET /orders')
    expect(refusalOf(ORDERS, { except: ['GET /orders'] })).toContain('leave all 1 methods of Stack/Api out')
    expect(() => protectedSpec(ORDERS, { methods: [] } as object)).toThrow('methods is for a RestApi')
  })

  it('is refused past CloudFormation’s limit of a template, just past it and not just below', () => {
    const sized = (length: number) =>
      refusalOf({ ...ORDERS, info: { title: 'x', version: '1', description: 'x'.repeat(length) } })
    const [, got] = /at most 1000000 bytes, got (\d+) with the document of Stack\/Api/.exec(sized(1_000_000)) ?? []
    const others = Number(got) - 1_000_000
    expect(sized(1_000_000 - others)).toBe('')
    expect(sized(1_000_000 - others + 1)).toContain('got 1000001 with the document')
  })

  it('is refused where something takes the limiter from it afterwards, or adds to it', () => {
    const resourceOf = (api: SpecRestApi) => api.node.defaultChild as CfnRestApi
    const overridden = (path: string, value: unknown) =>
      refusalOf(ORDERS, {}, ({ api }) => resourceOf(api).addPropertyOverride(`Body.${path}`, value))
    expect(overridden('paths./orders.get.security', [])).toContain('afterwards: GET /orders would not be limited')
    expect(overridden('paths./orders.put', METHOD)).toContain('afterwards: PUT /orders would not be limited')
    const ttl = 'components.securitySchemes.sluice.x-amazon-apigateway-authorizer.authorizerResultTtlInSeconds'
    expect(overridden(ttl, 300)).toContain('afterwards: GET /orders would')
    expect(overridden('info.title', 'Mine')).toBe('')
    const replaced = refusalOf(ORDERS, {}, ({ api, stack }) =>
      Aspects.of(stack).add({
        visit: (node) => {
          if (node === resourceOf(api)) resourceOf(api).body = ORDERS
        },
      }),
    )
    expect(replaced).toContain('afterwards: GET /orders would not be limited')
  })

  it('is refused with methods beside it, but for preflights and those in except', () => {
    const add = ({ api }: { readonly api: SpecRestApi }) => {
      api.root.addMethod('POST')
      api.root.addMethod('OPTIONS')
    }
    expect(refusalOf(ORDERS, {}, add)).toContain('does not limit methods beside a document, got POST /')
    expect(refusalOf(ORDERS, { except: ['POST /'] }, add)).toBe('')
  })
})

describe('protect(), attachTo() and unprotect()', () => {
  it('name the one for a document, and protect it once', () => {
    const { stack, limiter } = limited()
    const api = spec(stack, ORDERS)
    expect(() => limiter.attachTo(api, { stageName: 'prod' })).toThrow('use protect()')
    limiter.protect(api)
    const other = new RateLimiter(stack, 'Other')
    expect(() => other.protect(api)).toThrow('once per API')
    const bare = new SpecRestApi(stack, 'Bare', { apiDefinition: ApiDefinition.fromInline(ORDERS) })
    expect(() => RateLimiter.unprotect(bare as unknown as RestApi)).toThrow('remove protect()')
  })

  it('protect a document by a limiter of another account', () => {
    const env = { account: '222222222222', region: 'eu-west-1' }
    const stack = new Stack(new App(), 'Stack', { env })
    const arn = 'arn:aws:lambda:eu-west-1:111111111111:function:limiter:live'
    RateLimiter.fromFunctionArn(stack, 'Shared', arn).protect(spec(stack, ORDERS))
    expect(JSON.stringify(only(stack).body)).toContain(`functions/${arn}/invocations`)
    expect(resourcesIn(stack, 'AWS::Lambda::Permission')).toEqual([])
  })
})
