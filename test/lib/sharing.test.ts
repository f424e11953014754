import { App, Stack } from 'aws-cdk-lib'
import { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { type OtherAccounts, RateLimiter } from '../../lib/index'
import { httpApi, resourcesIn, restApi } from './apis'

const REGION = 'eu-west-1'
const [OURS, THEIRS] = ['111111111111', '222222222222']
const ARN = `arn:aws:lambda:${REGION}:${OURS}:function:limiter:live`
const PERMISSION = 'AWS::Lambda::Permission'
const text = (value: unknown) => JSON.stringify(value)

describe('a limiter that is shared with other accounts', () => {
  const stack = new Stack(new App(), 'Stack', { env: { account: OURS, region: REGION } })
  const limiter = new RateLimiter(stack, 'Limiter', { release: {} })
  limiter.shareWith({ account: THEIRS })
  limiter.shareWith({ account: '333333333333', apis: ['a1b2c3d4e5'] })
  limiter.shareWith({ organization: 'o-a1b2c3d4e5' })
  const permissions = resourcesIn(stack, PERMISSION).map(([, { Properties }]) => Properties)

  it('permits API Gateway of an account, of some of its APIs, or any role of an organisation, on what APIs call', () => {
    expect(permissions).toHaveLength(3)
    for (const { FunctionName } of permissions) expect(text(FunctionName)).toContain('Alias')
    const [account, api, organization] = permissions
    expect(account).toMatchObject({ Action: 'lambda:InvokeFunction', Principal: 'apigateway.amazonaws.com' })
    expect(text(account!.SourceArn)).toContain(`:execute-api:${REGION}:${THEIRS}:*/authorizers/*`)
    expect(text(api!.SourceArn)).toContain(`:execute-api:${REGION}:333333333333:a1b2c3d4e5/authorizers/*`)
    expect(organization).toMatchObject({ Principal: '*', PrincipalOrgID: 'o-a1b2c3d4e5' })
  })

  it('is not deleted while it is shared, because its guard cannot see other accounts', () => {
    const [[, { Properties }]] = resourcesIn(stack, 'Custom::SluiceDeletionGuard') as [
      [string, { readonly Properties: Record<string, unknown> }],
    ]
    expect(Properties.Guard).toMatchObject({
      SharedWith: [`account ${THEIRS}`, 'API a1b2c3d4e5 of account 333333333333', 'organization o-a1b2c3d4e5'],
    })
  })

  it.each<[OtherAccounts, string]>([
    [{ account: '1234' }, 'account must be 12 digits, got "1234"'],
    [{ account: OURS }, `account must differ from the limiter’s, got "${OURS}"`],
    [{ account: THEIRS, apis: [] }, 'apis must name at least one API, or be left out for all, got none'],
    [{ account: THEIRS, apis: ['*'] }, 'apis must be ids of APIs, got "*"'],
    [{ organization: 'acme' }, 'organization must look like "o-a1b2c3d4e5", got "acme"'],
  ])('%j is refused, and nothing is permitted', (others, why) => {
    expect(() => limiter.shareWith(others)).toThrow(why)
    expect(resourcesIn(stack, PERMISSION)).toHaveLength(3)
  })
})

describe('a limiter that is imported', () => {
  /** Each in an app of its own, which is synthesised once. */
  const stackIn = (account: string | undefined, name: string, region: string | undefined = REGION, app = new App()) =>
    new Stack(app, name, { env: { account, region } })

  it('protects APIs of another account by the permission that its owner gave: none is made, which would fail', () => {
    const stack = stackIn(THEIRS, 'Theirs')
    const limiter = RateLimiter.fromFunctionArn(stack, 'Limiter', ARN)
    limiter.protect(restApi(stack).api)
    const { api, add } = httpApi(new Stack(stack, 'Http', { env: { account: THEIRS, region: REGION } }))
    add('a')
    limiter.protect(api)
    limiter.attachTo(RestApi.fromRestApiId(stack, 'Shop', 'a1b2c3d4e5'), { stageName: 'prod' })
    expect(resourcesIn(stack, PERMISSION)).toEqual([])
    const uris = resourcesIn(stack, 'AWS::ApiGateway::Authorizer').map(([, one]) => text(one.Properties.AuthorizerUri))
    expect(uris).toHaveLength(2)
    for (const uri of uris) expect(uri).toContain(`${REGION}:lambda:path/2015-03-31/functions/${ARN}/invocations`)
    expect(resourcesIn(stack, 'AWS::IAM::Role').filter(([id]) => id.includes('Invoke'))).toEqual([])
  })

  it('is called by a role of the API’s account where the owner shares with an organisation', () => {
    const stack = stackIn(THEIRS, 'Role')
    RateLimiter.fromFunctionArn(stack, 'Limiter', ARN, { invokeRole: true }).protect(restApi(stack).api)
    const [[roleId, role]] = resourcesIn(stack, 'AWS::IAM::Role').filter(([id]) => id.includes('Invoke')) as [
      ReturnType<typeof resourcesIn>[0],
    ]
    expect(text(role.Properties.Policies)).toContain(ARN)
    const [[, authorizer]] = resourcesIn(stack, 'AWS::ApiGateway::Authorizer') as [ReturnType<typeof resourcesIn>[0]]
    expect(authorizer.Properties.AuthorizerCredentials).toEqual({ 'Fn::GetAtt': [roleId, 'Arn'] })
    expect(resourcesIn(stack, PERMISSION)).toEqual([])
  })

  it('has a permission for each API in its own account', () => {
    const stack = stackIn(OURS, 'Ours')
    RateLimiter.fromFunctionArn(stack, 'Limiter', ARN).protect(restApi(stack).api)
    expect(resourcesIn(stack, PERMISSION).map(([, { Properties }]) => Properties.FunctionName)).toEqual([ARN])
  })

  it('maps no headers where backends answer', () => {
    const stack = stackIn(THEIRS, 'Backends')
    const { api, add } = httpApi(stack)
    add('a')
    RateLimiter.fromFunctionArn(stack, 'Limiter', ARN, { denials: 'backend-429' }).protect(api)
    expect(text(resourcesIn(stack, 'AWS::ApiGatewayV2::Integration'))).not.toContain('authorizer')
  })

  it.each<[string, () => Stack, string, string]>([
    ['an ARN of something else', () => stackIn(THEIRS, 'A'), 'arn:aws:s3:::bucket', 'functionArn must be a function'],
    ['a name', () => stackIn(THEIRS, 'B'), 'limiter', 'functionArn must be a function'],
    [
      'a stack without an account',
      () => new Stack(new App(), 'C', { env: { region: REGION } }),
      ARN,
      'must name its account',
    ],
    [
      'another Region',
      () => stackIn(THEIRS, 'D', 'us-east-1'),
      ARN,
      'Region, "eu-west-1", got "us-east-1" (D/Limiter)',
    ],
  ])('is refused for %s', (_, stack, arn, why) => {
    expect(() => RateLimiter.fromFunctionArn(stack(), 'Limiter', arn)).toThrow(why)
  })

  it('refuses labels, which are in its owner’s table, and APIs of a third account, before anything is made', () => {
    const stack = stackIn(THEIRS, 'Labels')
    const limiter = RateLimiter.fromFunctionArn(stack, 'Limiter', ARN)
    const { api } = restApi(stack)
    expect(() => limiter.protect(api, { as: 'shop' })).toThrow('as must be left out')
    const { api: alien } = restApi(stackIn('333333333333', 'Third', REGION, stack.node.root as App))
    expect(() => limiter.protect(alien)).toThrow(`the API must be in account ${THEIRS}`)
    expect([api, alien].map((one) => one.node.tryFindChild('Sluice'))).toEqual([undefined, undefined])
  })
})
