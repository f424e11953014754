import { CfnResource } from 'aws-cdk-lib'
import type { Construct } from 'constructs'

/** Decided by the CloudFormation type, because a program can have several copies of the CDK's classes. */
export function isResource(node: unknown, type: string): boolean {
  return CfnResource.isCfnResource(node as Construct) && (node as CfnResource).cfnResourceType === type
}
