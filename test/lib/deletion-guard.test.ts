import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import { ApiGatewayV2Client } from '@aws-sdk/client-apigatewayv2'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { App, NestedStack, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { ApiDefinition, CfnAuthorizer, MockIntegration, RestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { handler, type SeedRequest } from '../../lib/seed/handler'
import { failure } from '../attach/fake-service'
import { customResource } from './cloudformation'

const GUARD = 'Custom::SluiceDeletionGuard'

interface Command {
  readonly input: Readonly<Record<string, string | undefined>>
  readonly constructor: { readonly name: string }
}

/** A list in pages of one. */
function oneByOne(all: readonly object[], from: string | undefined, items: string, next: string): object {
  const at = Number(from ?? 0)
  return { [items]: all.slice(at, at + 1), [next]: at + 1 < all.length ? String(at + 1) : undefined }
}

function restApi(stack: Stack, id: string): RestApi {
  const api = new RestApi(stack, id, { cloudWatchRole: false })
  api.root.addMethod('GET', new MockIntegration())
  return api
}

describe('the deletion guard in a stack', () => {
  const synth = (props?: RateLimiterProps, arrange: (limiter: RateLimiter, stack: Stack) => void = () => {}) => {
    const stack = new Stack(new App(), 'Stack')
    arrange(new RateLimiter(stack, 'Limiter', props), stack)
    return Template.fromStack(stack)
  }

  it('is deleted before anything of the limiter, because it depends on all of it', () => {
    const template = synth({ tiersFile: 'tiers.yaml' })
    const [guard] = Object.values(template.findResources(GUARD))
    const ofLimiter = Object.keys(template.toJSON().Resources).filter((id) =>
      /^Limiter(Tables|Authorizer|Tiers)/.test(id),
    )
    expect(ofLimiter.length).toBeGreaterThan(8)
    expect([...guard!.DependsOn].sort()).toEqual(ofLimiter.sort())
  })

  it('refuses by default, and is there without refusing where protection is off', () => {
    const guardWith = (props?: RateLimiterProps) =>
      Object.values(synth(props).findResources(GUARD)).map(({ Properties }) => Properties.Guard.Refuse)
    expect(guardWith()).toEqual(['true'])
    expect(guardWith({ deletionGuard: true })).toEqual(['true'])
    expect(guardWith({ deletionGuard: false })).toEqual(['false'])
  })

  it('does not count what the stack itself permits, nested stacks included, and counts other stacks', () => {
    const app = new App()
    const stack = new Stack(app, 'Stack')
    const limiter = new RateLimiter(stack, 'Limiter')
    limiter.protect(restApi(stack, 'Api'))
    limiter.protect(restApi(new NestedStack(stack, 'Nested'), 'NestedApi'))
    limiter.protect(restApi(new Stack(app, 'Other'), 'OtherApi'))
    const [guard] = Object.values(Template.fromStack(stack).findResources(GUARD))
    const own = guard!.Properties.Guard.Own.map((one: unknown) => JSON.stringify(one))
    expect(own).toHaveLength(2)
    expect(own[0]).toContain('"ApiSluiceAuthorizer')
    expect(own[1]).toContain('NestedStack')
  })

  const rightsIn = (template: Template, service: RegExp) =>
    Object.values(template.findResources('AWS::IAM::Policy'))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => service.test([Action].flat()[0]))

  it('may read who may call the limiter, its aliases and its versions, and nothing else of it', () => {
    const arn = { 'Fn::GetAtt': [expect.stringMatching(/^LimiterAuthorizerHandler/), 'Arn'] }
    const template = synth()
    expect(rightsIn(template, /^lambda:/)).toEqual([
      {
        Action: ['lambda:GetPolicy', 'lambda:ListAliases', 'lambda:ListVersionsByFunction'],
        Effect: 'Allow',
        Resource: arn,
      },
      { Action: 'lambda:GetPolicy', Effect: 'Allow', Resource: { 'Fn::Join': ['', [arn, ':*']] } },
    ])
    expect(rightsIn(template, /^apigateway:/)).toEqual([])
  })

  it('may read the authorizers of all APIs with invokeRole, which no policy of the function tells of', () => {
    const [rights, ...more] = rightsIn(synth({ invokeRole: true }), /^apigateway:/)
    expect(more).toEqual([])
    expect(rights.Action).toBe('apigateway:GET')
    expect(
      rights.Resource.map((one: { readonly 'Fn::Join': [string, unknown[]] }) => one['Fn::Join'][1].at(-1)),
    ).toEqual(['::/restapis', '::/restapis/*/authorizers', '::/apis', '::/apis/*/authorizers'])
  })

  it('does not count authorizers of the stack itself, nor its APIs from documents, and counts others, with invokeRole', () => {
    const app = new App()
    const stack = new Stack(app, 'Stack')
    const limiter = new RateLimiter(stack, 'Limiter', { invokeRole: true })
    limiter.protect(restApi(stack, 'Api'))
    limiter.protect(restApi(new NestedStack(stack, 'Nested'), 'NestedApi'))
    limiter.protect(restApi(new Stack(app, 'Other'), 'OtherApi'))
    limiter.attachTo(RestApi.fromRestApiId(stack, 'Shop', 'a1b2c3d4e5'), { stageName: 'prod' })
    new SpecRestApi(stack, 'Spec', { apiDefinition: ApiDefinition.fromInline({ openapi: '3.0.1' }) })
    new CfnAuthorizer(stack, 'Alien', { restApiId: 'alien00001', name: 'alien', type: 'REQUEST', authorizerUri: 'x' })
    const [guard] = Object.values(Template.fromStack(stack).findResources(GUARD))
    expect(guard!.Properties.Guard).toMatchObject({ ByRole: 'true' })
    const own = guard!.Properties.Guard.OwnCallers.map((one: unknown) => JSON.stringify(one))
    expect(own).toEqual([
      expect.stringMatching(/"Api\w+"},"\/",{"Ref":"ApiSluiceAuthorizer/),
      expect.stringMatching(/NestedStack.*"\/".*NestedStack/),
      expect.stringMatching(/a1b2c3d4e5\/",{"Ref":"ShopSluiceAuthorizer/),
      expect.stringMatching(/^{"Ref":"Spec/),
    ])
  })
})

describe('the deletion guard, asked by CloudFormation', () => {
  const cloudFormation = customResource(() => 'http://127.0.0.1:9')
  const FunctionArn = 'arn:aws:lambda:us-east-1:123456789012:function:sluice'
  const source = (apiId: string) => `arn:aws:execute-api:us-east-1:123456789012:${apiId}/authorizers/a1`
  const statement = (Sid: string, arn: string | undefined, more = {}) => ({
    Sid,
    Effect: 'Allow',
    Principal: { Service: 'apigateway.amazonaws.com' },
    Action: 'lambda:InvokeFunction',
    ...(arn && { Condition: { ArnLike: { 'AWS:SourceArn': arn } } }),
    ...more,
  })
  const ATTACHED = statement('sluice-attach-a1b2c3d4e5-a1', source('a1b2c3d4e5'))
  const OWN = statement('Stack-ApiSluicePermission-1A2B', source('own0000001'))
  const OTHER = statement('Shop-ApiSluicePermission-3C4D', source('shop000001'))

  let policy: () => unknown
  /** Policies of aliases and versions, by qualifier. */
  let qualified: Record<string, object[]>
  /** The authorizers of each API of the account, by kind and id. */
  let apis: { rest: Record<string, string[]>; http: Record<string, string[]> }
  let asked: string[]
  beforeEach(() => {
    ;[qualified, apis, asked] = [{}, { rest: {}, http: {} }, []]
    jest.spyOn(LambdaClient.prototype, 'send').mockImplementation((async ({
      input,
      constructor: { name },
    }: Command) => {
      switch (name) {
        case 'ListAliasesCommand':
          return { Aliases: [{ Name: 'live' }] }
        case 'ListVersionsByFunctionCommand':
          return input.Marker === undefined
            ? { Versions: [{ Version: '$LATEST' }], NextMarker: '1' }
            : { Versions: [{ Version: '7' }] }
        default: {
          if (input.Qualifier === undefined) return policy()
          const Statement = qualified[input.Qualifier]
          if (!Statement) throw failure('ResourceNotFoundException', 404, 'none')
          return { Policy: JSON.stringify({ Statement }) }
        }
      }
    }) as never)
    const uri = (arn: string) => `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${arn}/invocations`
    jest.spyOn(APIGatewayClient.prototype, 'send').mockImplementation((async ({
      input,
      constructor: { name },
    }: Command) => {
      asked.push(name)
      const ids = Object.keys(apis.rest)
      if (name === 'GetRestApisCommand')
        return oneByOne(
          ids.map((id) => ({ id })),
          input.position,
          'items',
          'position',
        )
      if (input.restApiId === 'gone000001') throw failure('NotFoundException', 404, 'gone')
      return { items: apis.rest[input.restApiId!]!.map((arn, i) => ({ id: `a${i}`, authorizerUri: uri(arn) })) }
    }) as never)
    jest.spyOn(ApiGatewayV2Client.prototype, 'send').mockImplementation((async ({
      input,
      constructor: { name },
    }: Command) => {
      asked.push(name)
      const ids = Object.keys(apis.http)
      if (name === 'GetApisCommand')
        return oneByOne(
          ids.map((ApiId) => ({ ApiId })),
          input.NextToken,
          'Items',
          'NextToken',
        )
      return { Items: apis.http[input.ApiId!]!.map((arn, i) => ({ AuthorizerId: `a${i}`, AuthorizerUri: uri(arn) })) }
    }) as never)
  })
  afterEach(() => {
    for (const { prototype } of [LambdaClient, APIGatewayClient, ApiGatewayV2Client] as const)
      jest.mocked(prototype.send as () => unknown).mockRestore()
  })

  const withStatements = (...statements: object[]) => {
    policy = () => ({ Policy: JSON.stringify({ Statement: statements }) })
  }
  const ask = async (
    RequestType: SeedRequest['RequestType'],
    Refuse = 'true',
    PhysicalResourceId?: string,
    more: object = {},
  ) => {
    await handler({
      RequestType,
      ResponseURL: cloudFormation.responseUrl(),
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'Guard',
      PhysicalResourceId,
      ResourceProperties: { Guard: { FunctionArn, Refuse, Own: [source('own0000001')], ...more } } as never,
    })
    return cloudFormation.answers.at(-1)!
  }

  it('is created and updated whoever uses the limiter', async () => {
    withStatements(ATTACHED, OTHER)
    const created = await ask('Create')
    expect(created.Status).toBe('SUCCESS')
    expect(await ask('Update', 'true', created.PhysicalResourceId)).toMatchObject({
      Status: 'SUCCESS',
      PhysicalResourceId: created.PhysicalResourceId,
    })
  })

  it('refuses to go while an API is attached, or protected from another stack, and says what to do', async () => {
    withStatements(ATTACHED, OWN, OTHER, statement('open', undefined))
    const { Status, Reason } = await ask('Delete', 'true', 'Guard-seed')
    expect(Status).toBe('FAILED')
    expect(Reason).toBe(
      'the limiter is in use, and without it every request to these APIs would fail. Run sluice detach for: a1b2c3d4e5. ' +
        'Protected from another stack or by hand, and to be released there (authorizer, and permission if there is one): shop000001, statement open. ' +
        'To delete the limiter all the same, deploy it with deletionGuard: false first.',
    )
  })

  it('refuses to go while it is shared with other accounts, whose APIs it cannot see', async () => {
    const SharedWith = ['account 222222222222', 'organization o-a1b2c3d4e5']
    withStatements(OWN)
    expect(await ask('Delete', 'true', 'Guard-seed', { SharedWith })).toMatchObject({
      Status: 'FAILED',
      Reason:
        'the limiter may be in use, and without it every request to these APIs would fail. Shared with account 222222222222, organization o-a1b2c3d4e5, ' +
        'whose APIs cannot be seen from here: release them there, then deploy without shareWith(). ' +
        'To delete the limiter all the same, deploy it with deletionGuard: false first.',
    })
    withStatements(ATTACHED)
    const { Reason } = await ask('Delete', 'true', 'Guard-seed', { SharedWith })
    expect(Reason).toMatch(/^the limiter is in use, .*Shared with account.*Run sluice detach for: a1b2c3d4e5/)
    expect((await ask('Delete', 'false', 'Guard-seed', { SharedWith })).Status).toBe('SUCCESS')
  })

  it.each([
    ['nothing is permitted', () => withStatements()],
    ['only APIs of the stack are permitted', () => withStatements(OWN)],
    [
      'only somebody else than API Gateway is permitted',
      () =>
        withStatements(
          statement('s3', source('x'), { Principal: { Service: 's3.amazonaws.com' } }),
          statement('all', undefined, { Principal: '*' }),
        ),
    ],
    [
      'the function has no policy, or is gone',
      () => {
        policy = () => {
          throw failure('ResourceNotFoundException', 404, 'none')
        }
      },
    ],
  ])('goes where %s', async (_, arrange) => {
    arrange()
    expect((await ask('Delete', 'true', 'Guard-seed')).Status).toBe('SUCCESS')
  })

  it.each([
    ['an alias', 'live'],
    ['a version', '7'],
  ])('refuses to go while API Gateway may call %s, which has a policy of its own', async (_, qualifier) => {
    withStatements(OWN)
    qualified[qualifier] = [statement('sluice-attach-a1b2c3d4e5-a1', source('a1b2c3d4e5')), OTHER]
    expect(await ask('Delete', 'true', 'Guard-seed')).toMatchObject({
      Status: 'FAILED',
      Reason: expect.stringMatching(/sluice detach for: a1b2c3d4e5\..*shop000001/),
    })
    expect(asked).toEqual([])
  })

  describe('where APIs call by a role', () => {
    const BY_ROLE = { ByRole: 'true', OwnCallers: ['own0000001/a0', 'spec000001'] }
    const OURS = { rest: { own0000001: [FunctionArn], spec000001: [FunctionArn], gone000001: [] }, http: {} }

    it('refuses to go while an authorizer of another stack calls the function, an alias or a version of it', async () => {
      withStatements(ATTACHED)
      apis = {
        rest: {
          ...OURS.rest,
          a1b2c3d4e5: [FunctionArn],
          shop000001: ['arn:aws:lambda:us-east-1:123456789012:function:sluice2', `${FunctionArn}:live`],
          own0000001: [FunctionArn, FunctionArn],
        },
        http: { zoo0000001: [], zoo0000002: [`${FunctionArn}:7`] },
      }
      const { Status, Reason } = await ask('Delete', 'true', 'Guard-seed', BY_ROLE)
      expect(Status).toBe('FAILED')
      expect(Reason).toContain('Run sluice detach for: a1b2c3d4e5.')
      expect(Reason).toContain('if there is one): own0000001, shop000001, zoo0000002.')
    })

    it('goes where only the stack itself calls it, also after a failed first creation', async () => {
      withStatements()
      apis = OURS
      expect((await ask('Delete', 'true', 'Guard-seed', BY_ROLE)).Status).toBe('SUCCESS')
      expect((await ask('Delete', 'true', 'Stack-Guard-1ABC', BY_ROLE)).Status).toBe('SUCCESS')
    })

    it('refuses to go where API Gateway cannot be asked, and goes where protection is off', async () => {
      withStatements()
      jest
        .mocked(ApiGatewayV2Client.prototype.send as () => Promise<unknown>)
        .mockRejectedValue(failure('BadGateway', 502, 'not today'))
      expect(await ask('Delete', 'true', 'Guard-seed', BY_ROLE)).toMatchObject({
        Status: 'FAILED',
        Reason: expect.stringMatching(/^cannot check whether the limiter is in use: not today.*deletionGuard: false/),
      })
      expect((await ask('Delete', 'false', 'Guard-seed', BY_ROLE)).Status).toBe('SUCCESS')
    })

    it('refuses to go where so many APIs cannot be looked at in time, and says how many were', async () => {
      withStatements()
      apis = { rest: { one0000001: [], two0000001: [] }, http: {} }
      const now = Date.now()
      const clock = jest
        .spyOn(Date, 'now')
        .mockImplementation(() => now + (asked.includes('GetAuthorizersCommand') ? 91_000 : 0))
      const { Reason } = await ask('Delete', 'true', 'Guard-seed', BY_ROLE)
      clock.mockRestore()
      expect(Reason).toContain('only 1 of 2 APIs could be looked at in time')
    })
  })

  it('goes after a failed creation, whose id CloudFormation made up', async () => {
    withStatements(OWN)
    expect(await ask('Delete', 'true', 'Stack-Guard-1ABC')).toMatchObject({
      Status: 'SUCCESS',
      PhysicalResourceId: 'Stack-Guard-1ABC',
    })
  })

  it('goes whoever uses the limiter where protection is off', async () => {
    withStatements(ATTACHED)
    expect((await ask('Delete', 'false', 'Guard-seed')).Status).toBe('SUCCESS')
  })

  it('refuses to go where it cannot see who uses the limiter', async () => {
    policy = () => {
      throw failure('ServiceException', 500, 'not today')
    }
    expect(await ask('Delete', 'true', 'Guard-seed')).toMatchObject({
      Status: 'FAILED',
      Reason: expect.stringContaining('not today'),
    })
  })
})
