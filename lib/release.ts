import { Duration, Token, Validations } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  type IAlarm,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { type ILambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy'
import { Alias, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { Mistake, printed } from '../limiter/errors'

/** How new versions of the authorizer come into service. */
export interface ReleaseOptions {
  /**
   * Name of the alias that APIs call.
   * @default 'live'
   */
  readonly alias?: string | undefined
  /**
   * Instances of the released version that are kept initialised, so that up to that many concurrent requests have no
   * cold start. They cost money by the hour, and are a part of the reserved concurrency.
   * @default none
   */
  readonly provisionedConcurrency?: number | undefined
  /**
   * How requests move to a new version, such as `LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES`. Meanwhile both
   * versions decide on the same tables, and count together. CodeDeploy goes back to the old version, and the deployment
   * fails, when half of the new version's requests fail within a minute, or when one of `rollbackAlarms` goes off.
   * @default all at once, without automatic rollback
   */
  readonly rollout?: ILambdaDeploymentConfig | undefined
  /** More alarms that end a rollout, such as one on `metricDegraded()`. Needs `rollout`. @default none */
  readonly rollbackAlarms?: readonly IAlarm[] | undefined
}

/** A bad token is an error of the function, too: an absolute number would let any caller end a rollout. */
const FAILING_PERCENT = 50
/** The permissions of CodeDeploy’s role. */
const ROLLOUT_POLICY = 'AWSCodeDeployRoleForLambdaLimited'
const NAME = /^(?!\d+$)[\w-]{1,128}$/

/** An alias on the function's current version, and the deployment that moves it to the next one. */
export class Release extends Construct {
  readonly alias: Alias
  /** Undefined without `rollout`. */
  readonly deploymentGroup?: LambdaDeploymentGroup

  constructor(scope: Construct, id: string, handler: LambdaFunction, options: ReleaseOptions) {
    super(scope, id)
    const { alias: aliasName = 'live', provisionedConcurrency, rollout, rollbackAlarms = [] } = options
    this.alias = new Alias(this, 'Alias', {
      aliasName,
      version: handler.currentVersion,
      provisionedConcurrentExecutions: provisionedConcurrency,
      description: 'Sluice: the version that APIs call',
    })
    if (!rollout) return
    this.deploymentGroup = new LambdaDeploymentGroup(this, 'Rollout', {
      alias: this.alias,
      deploymentConfig: rollout,
      alarms: [this.failingAlarm(handler, aliasName), ...rollbackAlarms],
    })
    // older CDKs have no acknowledged findings
    Validations?.of(this).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/${ROLLOUT_POLICY}]`,
      reason: 'AWS’s own policy for CodeDeploy, which names what moving an alias needs',
    })
  }

  /**
   * Goes off when most requests to the new version fail. It names the alias by text, since the alias waits for the
   * alarm.
   */
  private failingAlarm(handler: LambdaFunction, aliasName: string): Alarm {
    const { functionName, currentVersion } = handler
    const dimensionsMap = {
      FunctionName: functionName,
      Resource: `${functionName}:${aliasName}`,
      ExecutedVersion: currentVersion.version,
    }
    const count = (metricName: string) =>
      new Metric({ namespace: 'AWS/Lambda', metricName, dimensionsMap, statistic: 'sum', period: Duration.minutes(1) })
    return new Alarm(this, 'Failing', {
      metric: new MathExpression({
        expression: '100 * errors / invocations',
        usingMetrics: { errors: count('Errors'), invocations: count('Invocations') },
        label: 'requests that the new version failed, in percent',
        period: Duration.minutes(1),
      }),
      threshold: FAILING_PERCENT,
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription: `at least ${FAILING_PERCENT} % of the requests to the new version of the authorizer fail: a rollout goes back to the old one`,
    })
  }
}

/** What is wrong with these options, a mistake each. */
export function releaseMistakes(
  { alias, provisionedConcurrency: provisioned, rollout, rollbackAlarms }: ReleaseOptions,
  reserved: number | undefined,
  path: string,
): Mistake[] {
  const issues: Mistake[] = []
  const wrong = (wanted: string, got: unknown) =>
    issues.push(new Mistake('invalid_value', `release.${wanted}, got ${printed(got)} (${path})`))
  if (alias !== undefined && (Token.isUnresolved(alias) || !NAME.test(alias)))
    wrong('alias must be 1 to 128 letters, digits, "-" or "_", not digits alone, known at synth', alias)
  if (provisioned !== undefined && !Token.isUnresolved(provisioned)) {
    if (!Number.isInteger(provisioned) || provisioned < 1)
      wrong('provisionedConcurrency must be a positive integer', provisioned)
    else if (reserved !== undefined && !Token.isUnresolved(reserved) && provisioned > reserved)
      wrong(`provisionedConcurrency must be at most reservedConcurrentExecutions, ${reserved}`, provisioned)
  }
  if (rollbackAlarms && !rollout)
    issues.push(new Mistake('missing_field', `release.rollbackAlarms needs release.rollout, got none (${path})`))
  return issues
}
