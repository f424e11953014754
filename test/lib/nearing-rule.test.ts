import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { App, Stack, Validations } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { AwsSolutionsChecks } from 'cdk-nag'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { FORWARDER, NEARING_EVENT } from '../../lib/watch/nearing-forwarder'
import { issuesOf } from '../policies/issues'

function limiterWith(props: RateLimiterProps = {}, app = new App()) {
  const stack = new Stack(app, 'Stack')
  const limiter = new RateLimiter(stack, 'Limiter', props)
  const topic = Topic.fromTopicArn(stack, 'Topic', 'arn:aws:sns:eu-west-1:123456789012:customers')
  return { stack, limiter, targets: [new SnsTopic(topic)] }
}

describe('a rule of callers that near a limit', () => {
  it('takes the lines of the log to EventBridge, and their events to the targets; cdk-nag finds nothing', () => {
    const app = new App()
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
    const { stack, limiter, targets } = limiterWith({}, app)
    limiter.addNearingRule({ targets, tiers: ['pro'] })
    const template = Template.fromStack(stack)
    template.hasResourceProperties('AWS::Logs::SubscriptionFilter', {
      LogGroupName: { Ref: Match.stringLikeRegexp('^LimiterAuthorizer.*Logs') },
      FilterPattern: '{ $.event = "limit_nearing" }',
    })
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: {
        source: [NEARING_EVENT.source],
        'detail-type': [NEARING_EVENT.detailType],
        detail: { tier: ['pro'], logGroup: [{ Ref: Match.stringLikeRegexp('^LimiterAuthorizer.*Logs') }] },
      },
      Targets: [Match.objectLike({ Arn: 'arn:aws:sns:eu-west-1:123456789012:customers' })],
    })
    const rights = Object.values(template.findResources('AWS::IAM::Policy'))
      .filter(({ Properties }) => JSON.stringify(Properties.Roles).includes('NearingRule'))
      .flatMap(({ Properties }) =>
        Properties.PolicyDocument.Statement.flatMap(({ Action }: { Action: string }) => Action),
      )
    expect(rights.sort()).toEqual(['events:PutEvents', 'logs:CreateLogStream', 'logs:PutLogEvents'])
    expect(() => app.synth()).not.toThrow()
    expect(() => limiter.addNearingRule({ targets })).toThrow('already a Construct')
  })

  it('is not made unless it is asked for', () => {
    const template = Template.fromStack(limiterWith().stack)
    for (const type of ['Logs::SubscriptionFilter', 'Events::Rule']) template.resourceCountIs(`AWS::${type}`, 0)
  })

  it('needs the lines, a target, and names of tiers', () => {
    const { limiter, targets } = limiterWith({ logLevel: 'warn' })
    expect(issuesOf(() => limiter.addNearingRule({ targets }))).toEqual([
      'logLevel must be info or debug for a rule about callers that near a limit, which are lines of level info, got "warn"',
    ])
    expect(issuesOf(() => limiterWith().limiter.addNearingRule({ targets: [], tiers: [''] }))).toEqual([
      expect.stringMatching(/^targets must be a list of at least one target, got /),
      expect.stringMatching(/^tiers must be a list of names of tiers, got /),
    ])
  })
})

interface Entry {
  readonly EventBusName: string
  readonly Source: string
  readonly DetailType: string
  readonly Time: Date
  readonly Detail: string
}

/** The function's code, with an EventBridge that refuses these calls' entries, by the names of their policies. */
function forwarder(...refusals: readonly string[][]) {
  const calls: Entry[][] = []
  class PutEventsCommand {
    constructor(readonly input: { readonly Entries: Entry[] }) {}
  }
  class EventBridgeClient {
    async send({ input: { Entries } }: PutEventsCommand) {
      const refused = refusals[calls.length] ?? []
      calls.push(Entries)
      return {
        Entries: Entries.map(({ Detail }) => (refused.includes(JSON.parse(Detail).policy) ? { ErrorCode: 'E' } : {})),
      }
    }
  }
  const exports: { handler?: (event: object) => Promise<void> } = {}
  runInNewContext(FORWARDER, {
    exports,
    Buffer,
    Date,
    process: { env: { EVENT_BUS: 'bus' } },
    require: (name: string) => (name.startsWith('node:') ? require(name) : { EventBridgeClient, PutEventsCommand }),
  })
  const send = (lines: readonly object[], messageType = 'DATA_MESSAGE') => {
    const logEvents = lines.map((line, i) => ({
      id: `${i}`,
      timestamp: 1_700_000_000_000,
      message: JSON.stringify(line),
    }))
    const data = gzipSync(JSON.stringify({ messageType, logGroup: 'group', logEvents })).toString('base64')
    return exports.handler!({ awslogs: { data } })
  }
  return { calls, send }
}

/** The line that docs/observability.md shows, which a test of that page holds to what is written. */
const LINE = JSON.parse(
  /^\{"level":"info","event":"limit_nearing".*\}$/m.exec(
    readFileSync(join(__dirname, '../../docs/observability.md'), 'utf8'),
  )![0],
)

describe('the function that sends them', () => {
  it('sends what the line says, and its id, by which one that came twice is known', async () => {
    const { calls, send } = forwarder()
    await send([LINE])
    const { level: _, event: __, message: ___, ...line } = LINE
    const [[entry]] = calls as [[Entry]]
    expect({ ...entry, Detail: JSON.parse(entry.Detail) }).toEqual({
      EventBusName: 'bus',
      Source: 'sluice',
      DetailType: 'Caller nears a limit',
      Time: new Date(1_700_000_000_000),
      Detail: { id: '0', logGroup: 'group', ...line },
    })
  })

  it('sends ten at a time, and again what was not taken, only that', async () => {
    const lines = Array.from({ length: 23 }, (_, i) => ({ ...LINE, policy: `p${i}` }))
    const { calls, send } = forwarder(['p3'], [], ['p20'], ['p3'])
    await send(lines)
    const policies = calls.map((entries) => entries.map(({ Detail }) => JSON.parse(Detail).policy))
    expect(policies.map(({ length }) => length)).toEqual([10, 10, 3, 2, 1])
    expect(policies.slice(3)).toEqual([['p3', 'p20'], ['p3']])
  })

  it('fails where EventBridge goes on refusing, so that Lambda tries again', async () => {
    const { calls, send } = forwarder(['p'], ['p'], ['p'])
    await expect(send([{ ...LINE, policy: 'p' }])).rejects.toThrow('1 events were not accepted')
    expect(calls).toHaveLength(3)
  })

  it('sends nothing for the message by which a subscription is tried out', async () => {
    const { calls, send } = forwarder()
    await send([{}], 'CONTROL_MESSAGE')
    expect(calls).toEqual([])
  })

  it('fits an inline function', () => {
    expect(FORWARDER.length).toBeLessThan(4096)
  })
})
