import { Annotations, CfnResource } from 'aws-cdk-lib'
import { CfnVPC, CfnVPCEndpoint, type IVpc } from 'aws-cdk-lib/aws-ec2'
import type { Construct } from 'constructs'
import { isResource } from './protect/is-resource'
import { synthesised } from './protect/synthesised'

/**
 * Warns of a VPC of the app that has no endpoint for DynamoDB: without a NAT gateway no decision reaches the table, and
 * with one each costs its price. Endpoints of a VPC that is imported cannot be seen.
 */
export function warnOfMissingEndpoint(scope: Construct, vpc: IVpc | undefined): void {
  if (!vpc || !isResource(vpc.node.defaultChild, CfnVPC.CFN_RESOURCE_TYPE_NAME)) return
  const isEndpoint = (node: unknown) =>
    CfnResource.isCfnResource(node as CfnResource) &&
    isResource(node, CfnVPCEndpoint.CFN_RESOURCE_TYPE_NAME) &&
    (node as CfnVPCEndpoint).vpcId === vpc.vpcId &&
    JSON.stringify(synthesised(node as CfnVPCEndpoint).ServiceName ?? '').includes('dynamodb')
  if (vpc.node.root.node.findAll().some(isEndpoint)) return
  Annotations.of(scope).addWarningV2(
    'sluice:vpc-endpoint',
    `vpc has no endpoint for DynamoDB (${vpc.node.path}): the authorizer reaches its tables through a NAT gateway, at its price, or not at all. ` +
      `Add vpc.addGatewayEndpoint('DynamoDb', { service: GatewayVpcEndpointAwsService.DYNAMODB })`,
  )
}
