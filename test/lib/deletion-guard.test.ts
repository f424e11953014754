import { LambdaClient } from '@aws-sdk/client-lambda'
import { App, NestedStack, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { MockIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { handler, type SeedRequest } from '../../lib/seed/handler'
import { failure } from '../attach/fake-service'
import { customResource } from './cloudformation'

const GUARD = 'Custom::SluiceDeletionGuard'

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
    expect(guardWith({ deletionProtection: true })).toEqual(['true'])
    expect(guardWith({ deletionProtection: false })).toEqual(['false'])
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

  it('may read who may call the limiter, and nothing else of it', () => {
    synth().hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          {
            Action: 'lambda:GetPolicy',
            Effect: 'Allow',
            Resource: { 'Fn::GetAtt': [Match.stringLikeRegexp('^LimiterAuthorizerHandler'), 'Arn'] },
          },
        ]),
      },
    })
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
  beforeEach(() => {
    jest.spyOn(LambdaClient.prototype, 'send').mockImplementation((async () => policy()) as never)
  })
  afterEach(() => jest.mocked(LambdaClient.prototype.send).mockRestore())

  const withStatements = (...statements: object[]) => {
    policy = () => ({ Policy: JSON.stringify({ Statement: statements }) })
  }
  const ask = async (RequestType: SeedRequest['RequestType'], Refuse = 'true', PhysicalResourceId?: string) => {
    await handler({
      RequestType,
      ResponseURL: cloudFormation.responseUrl(),
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'Guard',
      PhysicalResourceId,
      ResourceProperties: { Guard: { FunctionArn, Refuse, Own: [source('own0000001')] } } as never,
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
        'Protected from another stack or by hand, and to be released there (authorizer and permission): shop000001, statement open. ' +
        'To delete the limiter all the same, deploy it with deletionProtection: false first.',
    )
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
