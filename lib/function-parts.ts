import { RemovalPolicy } from 'aws-cdk-lib'
import type { IVpc } from 'aws-cdk-lib/aws-ec2'
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Runtime, RuntimeFamily } from 'aws-cdk-lib/aws-lambda'
import { type ILogGroup, LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import type { AuthorizerFunctionOptions } from './authorizer-options'

/** The newest Node.js that the functions are tested on, by its name: older CDKs have no constant for it. */
export const DEFAULT_RUNTIME = new Runtime('nodejs24.x', RuntimeFamily.NODEJS, { supportsInlineCode: true })

/** A log group for a function in this scope. */
export function logGroupFor(
  scope: Construct,
  {
    logRetention: retention = RetentionDays.ONE_MONTH,
    logRemovalPolicy: removalPolicy = RemovalPolicy.DESTROY,
  }: AuthorizerFunctionOptions,
): LogGroup {
  return new LogGroup(scope, 'Logs', { retention, removalPolicy })
}

/**
 * A role that may write to one log, unlike the managed policy, which allows all; in a VPC it also has that policy's
 * permissions for network interfaces.
 */
export function roleFor(scope: Construct, logGroup: ILogGroup, vpc?: IVpc): Role {
  const inVpc = ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole')
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    managedPolicies: vpc && [inVpc],
  })
  logGroup.grantWrite(role)
  return role
}

/** The VPC of the functions, from either prop. */
export const vpcOf = ({ vpc, functionOptions }: AuthorizerFunctionOptions): IVpc | undefined =>
  functionOptions?.vpc ?? vpc
