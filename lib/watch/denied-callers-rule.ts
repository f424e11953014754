import { Stack } from 'aws-cdk-lib'
import { CfnInsightRule } from 'aws-cdk-lib/aws-cloudwatch'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { LogEvent } from '../../lambda/telemetry/events'
import { deployedStackOf } from './deployed-stack'

/** The longest name of a rule is 128 characters, and the name has 24 of its own. */
const MAX_STACK_NAME_LENGTH = 100

const DENIED: LogEvent = 'request_denied'

/** The Contributor Insights rule of a limiter, see `addDeniedCallersRule`. */
export class DeniedCallersRule extends Construct {
  /** Its name in the account, which contains the stack's. */
  readonly ruleName: string

  constructor(scope: Construct, id: string, logGroup: ILogGroup) {
    super(scope, id)
    const stack = Stack.of(this)
    const { stackName } = deployedStackOf(this)
    this.ruleName = `${stackName.slice(0, MAX_STACK_NAME_LENGTH)}-denied-callers-${this.node.addr.slice(-8)}`
    const rule = new CfnInsightRule(this, 'Rule', {
      ruleName: this.ruleName,
      ruleState: 'ENABLED',
      ruleBody: stack.toJsonString({
        Schema: { Name: 'CloudWatchLogRule', Version: 1 },
        LogGroupNames: [logGroup.logGroupName],
        LogFormat: 'JSON',
        Contribution: {
          Keys: ['$.subject', '$.tier', '$.policy'],
          ValueOf: '$.denials',
          Filters: [{ Match: '$.event', In: [DENIED] }],
        },
        AggregateOn: 'Sum',
      }),
    })
    rule.node.addDependency(logGroup)
  }
}
