import { CfnResource } from 'aws-cdk-lib'
import type { Construct } from 'constructs'

/** By its type and not by its class, of which there are several when a program has several copies of the CDK. */
export function isResource(node: unknown, type: string): boolean {
  return CfnResource.isCfnResource(node as Construct) && (node as CfnResource).cfnResourceType === type
}
