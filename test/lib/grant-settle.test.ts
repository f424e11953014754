import { App, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Alias, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { RateLimiter } from '../../lib'
import { limited } from './apis'

const backendIn = (stack: Stack, id = 'Chat') =>
  new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => {}'),
  })

const STATE_TABLE = { Ref: Match.stringLikeRegexp('^LimiterTablesState') }

describe('grantSettle', () => {
  it('gives a function one action on the state table, and its name', () => {
    const { stack, limiter } = limited()
    limiter.grantSettle(backendIn(stack))
    const template = Template.fromStack(stack)
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { SLUICE_STATE_TABLE: STATE_TABLE } },
      Role: { 'Fn::GetAtt': [Match.stringLikeRegexp('^ChatServiceRole'), 'Arn'] },
    })
    template.hasResourceProperties('AWS::IAM::Policy', {
      Roles: [{ Ref: Match.stringLikeRegexp('^ChatServiceRole') }],
      PolicyDocument: {
        Statement: [
          {
            Action: 'dynamodb:UpdateItem',
            Effect: 'Allow',
            Resource: { 'Fn::GetAtt': [Match.stringLikeRegexp('^LimiterTablesState'), 'Arn'] },
          },
        ],
      },
    })
  })

  it('opens the key of the table, where that has one', () => {
    const stack = new Stack(new App(), 'Keyed', { env: { account: '111111111111', region: 'eu-west-1' } })
    const limiter = new RateLimiter(stack, 'Limiter', { encryptionKey: new Key(stack, 'Key') })
    limiter.grantSettle(backendIn(stack))
    const [policy] = Object.values(
      Template.fromStack(stack).findResources('AWS::IAM::Policy', {
        Properties: { Roles: [{ Ref: Match.stringLikeRegexp('^ChatServiceRole') }] },
      }),
    )
    const actions = policy!.Properties.PolicyDocument.Statement.flatMap(({ Action }: { Action: unknown }) => Action)
    expect(actions).toEqual(expect.arrayContaining(['dynamodb:UpdateItem', 'kms:Decrypt', 'kms:GenerateDataKey*']))
  })

  it('may be called again, and for a function of another stack', () => {
    const app = new App()
    const limiter = new RateLimiter(new Stack(app, 'Limits'), 'Limiter')
    const other = new Stack(app, 'Shop')
    const fn = backendIn(other)
    limiter.grantSettle(fn)
    limiter.grantSettle(fn)
    Template.fromStack(other).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { SLUICE_STATE_TABLE: { 'Fn::ImportValue': Match.anyValue() } } },
    })
  })

  it.each([
    ['account', { account: '222222222222', region: 'eu-west-1' }, '111111111111', '222222222222'],
    ['region', { account: '111111111111', region: 'us-east-1' }, 'eu-west-1', 'us-east-1'],
  ])('refuses a function in another %s', (place, env, here, there) => {
    const app = new App()
    const home = new Stack(app, 'Limits', { env: { account: '111111111111', region: 'eu-west-1' } })
    const limiter = new RateLimiter(home, 'Limiter')
    expect(() => limiter.grantSettle(backendIn(new Stack(app, 'Shop', { env })))).toThrow(
      `grantSettle() needs a function in the limiter's ${place}, ${here}, got Shop/Chat in ${there}`,
    )
  })

  it('refuses a function that settles for another limiter: it finds one table by its environment', () => {
    const { stack, limiter } = limited()
    const fn = backendIn(stack)
    limiter.grantSettle(fn)
    limiter.grantSettle(fn)
    expect(() => new RateLimiter(stack, 'Other').grantSettle(fn)).toThrow(
      /^grantSettle\(\) needs a function that settles for no other limiter, got .*\/Chat$/,
    )
  })

  it.each<[string, (fn: LambdaFunction) => unknown]>([
    ['an alias', (fn) => new Alias(fn, 'Live', { aliasName: 'live', version: fn.currentVersion })],
    ['an imported function', (fn) => LambdaFunction.fromFunctionName(fn, 'There', 'chat')],
  ])('refuses %s, whose environment cannot be set', (_, of) => {
    const { stack, limiter } = limited()
    expect(() => limiter.grantSettle(of(backendIn(stack)) as never)).toThrow(
      /^grantSettle\(\) needs a function whose environment can be set, got .*\/Chat\/(Live|There)$/,
    )
  })
})
